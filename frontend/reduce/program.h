// The program that `aitune reduce` makes smaller: one flat TorchScript graph
// with the weights in it, and what it is called with.
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
#include "frontend/compiled_model/model_inputs.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/torchscript/model.h"

namespace aitune::reduce {

// Copies share everything: what edits a program copies its graph first.
struct Program {
  // Inlined; its inputs are the arguments, without a module. One output.
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<c10::IValue> inputs;  // values, one for each input of the graph
  // One for each input where some axis is dynamic; empty: all as `inputs` are.
  std::vector<frontend::InputSpec> specs;
};

// What each value of the graph's top block was in one run of the program.
using Recording = std::unordered_map<const torch::jit::Value*, c10::IValue>;

// The model's forward as a program, in eager mode: no substitution is made.
// What the model keeps from call to call is not kept: attributes are what they
// are before the first call. kUnimplemented for what TorchScript cannot hold as
// constants (objects of registered classes) and methods that are bound at run
// time; kInvalidArgument when LibTorch cannot process the program.
absl::StatusOr<Program> FlattenModel(const frontend::Model& model,
                                     const frontend::ModelInputs& inputs,
                                     uint64_t seed);

// Runs the program in LibTorch's interpreter on copies of its inputs, in this
// process, on the CPU. kInternal with LibTorch's message when it raises, and
// for loops that run more than 10000 times.
absl::StatusOr<Recording> RunEager(const Program& program);

// Nodes of all blocks but constants and those that only put values into lists,
// tuples and dicts, or take them out.
int OperatorCount(const Program& program);

// Equal for programs that are the same, weights and inputs included; different
// for others as far as a hash of the elements tells.
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
