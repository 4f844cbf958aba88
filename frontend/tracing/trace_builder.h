// Appends values, constants and operators to a trace.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_TRACE_BUILDER_H_
#define AITUNE_FRONTEND_TRACING_TRACE_BUILDER_H_

#include <ATen/core/function_schema.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/trace/recorded_op.h"
#include "frontend/trace/trace.h"
#include "frontend/tracing/probed_value.h"

namespace aitune::frontend {

// The reason why LibTorch runs the operators of a disabled submodule.
inline constexpr char kDisabled[] = "disabled";

// The place in the program that is being interpreted.
struct Site {
  std::string location, scope;  // TraceOp::location and scope
  bool disabled = false;        // whether it is in a disabled submodule
};

// A call of an operator to be appended.
struct Call {
  const c10::FunctionSchema* schema = nullptr;
  RecordedFunction run;  // the implementation
  std::vector<ArgumentTemplate> arguments;
  std::string must_fall_back;  // TraceOp::must_fall_back
};

class TraceBuilder {
 public:
  void set_site(Site site) { site_ = std::move(site); }
  const Site& site() const { return site_; }

  // Adds a value that no operator has yet computed.
  ValueId AddTensor(TensorType type);
  // Adds an opaque value; `why` is TraceValue::why_opaque.
  ValueId AddOpaque(std::string why);
  // The constant for this tensor, which is added once for each combination of
  // memory, sizes and strides. The tensor must be plain and contiguous; it is
  // kept.
  ValueId AddConstant(const at::Tensor& tensor, const std::string& name);

  // Appends a call whose results are described by `results`. If trace.h cannot
  // hold its arguments, they become one list of values and the operator must
  // fall back.
  void AddCall(Call call, std::vector<ResultTemplate> results);
  // Appends an operator without a schema (control flow). `linear_weights` are
  // those of its arguments that linear layers in it have as weights; they
  // become an argument of this name, beside that of all values.
  void AddRegion(const std::string& name, RecordedProgram program,
                 std::vector<ArgumentTemplate> arguments,
                 std::vector<ResultTemplate> results,
                 std::string must_fall_back, bool has_side_effects,
                 std::vector<ValueId> linear_weights = {});
  // A call of a functional operator of the dispatcher, with defaults for the
  // arguments beyond `arguments`. Its one result has type `type`.
  ValueId AddFunctionalCall(const std::string& name,
                            const std::string& overload,
                            std::vector<ArgumentTemplate> arguments,
                            const TensorType& type);

  // The results of operators since the last call of this that compiled code
  // runs and that may find an index out of range or a division by 0. What must
  // not be done after such an error reads them.
  std::vector<ValueId> TakeCheckedValues();

  // Copies the contents of constants that share the memory of `tensor`, which
  // is about to be overwritten.
  void PreserveConstants(const at::Tensor& tensor);

  const TraceValue& value(ValueId id) const {
    return trace_.values[static_cast<size_t>(id)];
  }
  Trace& trace() { return trace_; }
  const Trace& trace() const { return trace_; }
  size_t op_count() const { return trace_.ops.size(); }
  const std::vector<RecordedOp>& recorded() const { return recorded_; }

  // Removes operators that no output depends on, except those with side
  // effects, and moves out the trace and the recorded operators.
  std::pair<Trace, std::vector<RecordedOp>> Finish();

 private:
  struct ConstantKey {
    const void* storage;
    int64_t offset;
    std::vector<int64_t> sizes, strides;
    int dtype;
    bool operator<(const ConstantKey& other) const;
  };

  void Append(TraceOp op, RecordedOp recorded, bool has_side_effects);

  Trace trace_;
  std::vector<RecordedOp> recorded_;
  std::vector<ValueId> checked_;  // TakeCheckedValues
  std::vector<bool> side_effects_;
  std::map<ConstantKey, ValueId> constants_;
  Site site_;
};

// The value ids in `results`, depth first.
std::vector<ValueId> Flatten(const std::vector<ResultTemplate>& results);

// `recipe` as an argument of this declaration; not set when trace.h has no form
// for it.
std::optional<Argument> ToArgument(const ArgumentTemplate& recipe,
                                   const c10::Argument& declaration);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_TRACE_BUILDER_H_
