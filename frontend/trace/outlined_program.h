// A part of control flow that depends on data, outlined so that it can be
// compiled.
//
// LibTorch runs an if or a loop whose way depends on data: a trace has one way.
// But the operators of a branch, or of a loop's body, mostly are a program
// whose way is known. Each such part becomes one node of the graph that
// LibTorch interprets, and a model of its own: it is traced, compiled and
// loaded as any other, for the inputs that it was seen with while the whole
// model was traced. For inputs that no compiled version is right for, LibTorch
// runs the part.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_OUTLINED_PROGRAM_H_
#define AITUNE_FRONTEND_TRACE_OUTLINED_PROGRAM_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/torchscript/model.h"
#include "frontend/trace/seen_sizes.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

// What each input of an outlined program becomes as an input of its model.
enum class OutlinedInput {
  kTensor,    // itself
  kInteger,   // the integer n: a tensor of n + 1 elements, so that n is a size
  kConstant,  // none: the model has its elements, as long as nobody writes it
};

// Runs a compiled version: replaces the model's inputs by its outputs. False,
// and nothing changed, for inputs that no version is right for. Thread-safe.
using OutlinedRunner =
    std::function<absl::StatusOr<bool>(std::vector<c10::IValue>& values)>;

class OutlinedProgram {
 public:
  // `place` is where it begins in the model's source, such as "model.py:12";
  // `text` names the program: equal ones have equal texts. `model`'s forward
  // takes the inputs that `inputs` say and gives one tensor or a tuple of
  // tensors. It has the elements that `constants` have now, one for each such
  // input. `strides_matter`: the program around it may raise for the strides
  // of what it gives, and compiled code gives contiguous tensors. `operators`:
  // how many of its operators compute.
  OutlinedProgram(std::string place, std::string text, Model model,
                  std::vector<OutlinedInput> inputs,
                  std::vector<at::Tensor> constants, bool strides_matter,
                  int operators);

  const std::string& place() const { return place_; }
  const std::string& text() const { return text_; }
  const Model& model() const { return model_; }
  int operators() const { return operators_; }

  // The different calls that were seen, in their order. Empty: none, or
  // why_not() says what in them can't be compiled.
  const std::vector<SeenSizes>& seen() const { return seen_; }
  const std::string& why_not() const { return why_not_; }
  // The model's inputs in the first call.
  const ValueList& sample() const { return sample_; }
  // SizesToCompile::SpecsAround.
  std::vector<InputSpec> SpecsAround(const SeenSizes& around) const;

  // Frees what only compiling needs.
  void ForgetSample() { sample_ = ValueList(); }

  // Until this is called, runs are recorded. Called before others than the
  // tracer run it.
  void StopRecording() { is_recording_ = false; }
  // Has `runner` run it from now on, if it has a version for the inputs; null:
  // LibTorch runs it. Called once, before others than the tracer run it.
  void set_runner(OutlinedRunner runner) { runner_ = std::move(runner); }

  // The number of runs in which no compiled version was right for the inputs.
  int64_t misfits() const { return misfits_; }

  // Called with what LibTorch gives in a run; nothing is done unless runs are
  // recorded.
  void RecordOutputs(at::ArrayRef<c10::IValue> outputs);

  // Replaces the inputs at the end of `stack` by the outputs, if a compiled
  // version runs them. Throws what the program raises. Thread-safe once
  // recording has stopped.
  bool RunCompiled(std::vector<c10::IValue>& stack);

  size_t input_count() const { return inputs_.size(); }

 private:
  // The model's inputs; false where one of the program's can't be one.
  bool ToModelInputs(at::ArrayRef<c10::IValue> inputs,
                     std::vector<c10::IValue>& values) const;
  void Record(at::ArrayRef<c10::IValue> inputs);
  // The program is not compiled, for this reason.
  void Refuse(const char* why);
  // Whether the constants have been written since the program was made.
  bool HasNewConstants() const;

  const std::string place_, text_;
  const Model model_;
  const std::vector<OutlinedInput> inputs_;
  // Those that can be written, with their versions when it was made.
  std::vector<std::pair<at::Tensor, int64_t>> constants_;
  const bool strides_matter_;
  const int operators_;
  bool is_recording_ = true;
  std::vector<SeenSizes> seen_;
  std::vector<DataType> dtypes_;  // of the model's inputs
  ValueList sample_;
  std::string why_not_;
  OutlinedRunner runner_;
  std::atomic<int64_t> misfits_ = 0;
};

// Adds to `graph`, at its insertion point, the node that runs `program`, or
// `body`, which computes the same, where no compiled version does. The node
// keeps `program`. Throws LibTorch's errors.
torch::jit::Node* InsertOutlined(torch::jit::Graph& graph,
                                 std::shared_ptr<OutlinedProgram> program,
                                 std::shared_ptr<torch::jit::Graph> body,
                                 at::ArrayRef<torch::jit::Value*> inputs);

// The program that `node` runs; null for a node of another kind. Owned by the
// node.
const OutlinedProgram* OutlinedOf(const torch::jit::Node& node);

// The graphs that LibTorch runs in place of the outlined programs in `block`
// and its inner blocks, replaced by what `change` makes of each. It is given
// copies.
void ChangeOutlined(torch::jit::Block* block,
                    const std::function<void(torch::jit::Graph& body)>& change);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_OUTLINED_PROGRAM_H_
