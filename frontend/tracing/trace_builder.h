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

// Why operators of a submodule that was disabled are LibTorch's.
inline constexpr char kDisabled[] = "disabled";

// Where the program is: what TraceOp::location and scope say.
struct Site {
  std::string location, scope;
  bool disabled = false;  // LibTorch is to run what is here
};

// An operator to be appended.
struct Call {
  const c10::FunctionSchema* schema = nullptr;
  RecordedFunction run;
  std::vector<ArgumentTemplate> arguments;
  std::string must_fall_back;
};

class TraceBuilder {
 public:
  void set_site(Site site) { site_ = std::move(site); }
  const Site& site() const { return site_; }

  // New values.
  ValueId AddTensor(TensorType type);
  ValueId AddOpaque(std::string why);
  // The constant with this content; one for each distinct tensor (memory,
  // sizes, strides). Not plain or not contiguous tensors are copied by the
  // caller. The tensor is kept.
  ValueId AddConstant(const at::Tensor& tensor, const std::string& name);

  // Appends a call whose results are described by `results`. Arguments that
  // trace.h cannot hold become one list of values, and the operator one that
  // must fall back.
  void AddCall(Call call, std::vector<ResultTemplate> results);
  // Appends an operator without a schema (control flow).
  void AddRegion(const std::string& name, RecordedFunction run,
                 std::vector<ArgumentTemplate> arguments,
                 std::vector<ResultTemplate> results,
                 std::string must_fall_back, bool has_side_effects);
  // A call of a functional operator of the dispatcher, with defaults for the
  // arguments beyond `arguments`. Its one result has type `type`.
  ValueId AddFunctionalCall(const std::string& name,
                            const std::string& overload,
                            std::vector<ArgumentTemplate> arguments,
                            const TensorType& type);

  // Copies the content of constants that share this memory, which is about to
  // be overwritten.
  void PreserveConstants(const at::Tensor& tensor);

  const TraceValue& value(ValueId id) const {
    return trace_.values[static_cast<size_t>(id)];
  }
  Trace& trace() { return trace_; }
  size_t op_count() const { return trace_.ops.size(); }
  const std::vector<RecordedOp>& recorded() const { return recorded_; }

  // Drops operators that no output depends on, but those with side effects,
  // and moves out what was recorded.
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
  std::vector<bool> side_effects_;
  std::map<ConstantKey, ValueId> constants_;
  Site site_;
};

// The value ids in `results`, depth first.
std::vector<ValueId> Flatten(const std::vector<ResultTemplate>& results);

// `recipe` as an argument of this declaration; nothing when trace.h has no
// form for it.
std::optional<Argument> ToArgument(const ArgumentTemplate& recipe,
                                   const c10::Argument& declaration);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_TRACE_BUILDER_H_
