// The program that `aitune reduce` makes smaller: one flat TorchScript graph
// that contains the weights, and its inputs.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_REDUCE_PROGRAM_H_
#define AITUNE_FRONTEND_REDUCE_PROGRAM_H_

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"

namespace aitune::reduce {

// Copies share the graph and the tensors: code that edits a program must copy
// its graph first.
struct Program {
  // The inlined graph. Its inputs are the arguments, without a module; it has
  // one output.
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<c10::IValue> inputs;  // a value for each input of the graph
  // A specification for each input, if an axis is dynamic. Empty: all sizes are
  // those of `inputs`.
  std::vector<frontend::InputSpec> specs;
};

// The contents of each value of the graph's top block in one run.
using Recording = std::unordered_map<const torch::jit::Value*, c10::IValue>;

// The model's forward as a program, without substitutions. The program has no
// state: attributes have the values of before the first call. kUnimplemented
// for values that TorchScript cannot hold as constants (objects of registered
// classes) and for methods that are bound at run time; kInvalidArgument when
// LibTorch cannot process the program.
absl::StatusOr<Program> FlattenModel(const frontend::Model& model,
                                     const frontend::ModelInputs& inputs,
                                     uint64_t seed);

// Runs the program in LibTorch's interpreter on copies of its inputs, in this
// process, on the CPU. kInternal with LibTorch's message when it raises, and
// for loops that run more than 10000 times.
absl::StatusOr<Recording> RunEager(const Program& program);

// The number of nodes of all blocks except constants and nodes that only put
// values into lists, tuples and dicts, or take them out.
int OperatorCount(const Program& program);

// A hash of the program with its weights and inputs: equal for equal programs.
std::string Fingerprint(const Program& program);

// A TorchScript file of the program. kUnimplemented when LibTorch cannot save
// it.
absl::StatusOr<std::string> ProgramBytes(const Program& program);

// Writes the program for torch::jit::load to `model_file`, and its inputs, one
// tuple, as torch.save does to `inputs_file`. Errors of ProgramBytes;
// kPermissionDenied when a file cannot be written.
absl::Status SaveProgram(const Program& program, const std::string& model_file,
                         const std::string& inputs_file);

// The program as TorchScript source, the dtypes and sizes of inputs and
// weights, and the graph.
absl::StatusOr<std::string> ProgramText(const Program& program);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_PROGRAM_H_
