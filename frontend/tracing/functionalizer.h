// In-place operators and views in functional form.
//
// Each tensor knows the memory it lives in and the view operators that lead
// from the memory's base to it. A write through one view makes a new value of
// that view, carried back to a new value of the base by the inverse of each
// view operator; other views of the same memory are derived anew when they are
// next read. Since the program really runs, which tensors share memory is seen,
// not deduced. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_FUNCTIONALIZER_H_
#define AITUNE_FRONTEND_TRACING_FUNCTIONALIZER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/tracing/probed_value.h"
#include "frontend/tracing/trace_builder.h"

namespace aitune::frontend {

class Functionalizer {
 public:
  // `builder` must outlive this.
  explicit Functionalizer(TraceBuilder* builder) : builder_(builder) {}

  // Gives `tensor` (its probes, type and id set) memory of its own.
  // `read_only`: why nothing may write to it; empty if that is fine.
  void OwnStorage(const ProbedRef& tensor, bool tainted, bool constant,
                  std::string read_only);

  // Makes `tensor` a view of `source`: its memory, reached through `step`. A
  // step without a name is a view whose operator is not known.
  void ShareStorage(const ProbedRef& tensor, const ProbedValue& source,
                    ViewStep step);

  // The value of the trace that holds what `tensor` holds now: derived anew
  // after writes through other views, made a constant where it is one.
  // kUnimplemented when that cannot be said in a trace.
  absl::StatusOr<ValueId> Read(ProbedValue& tensor);

  // Records that `tensor` now holds `value` (of its type), in all tensors that
  // share its memory. kUnimplemented when the memory is an input's or the
  // model's, or when a view on the way has no inverse.
  absl::Status Write(ProbedValue& tensor, ValueId value, bool tainted);

  // Before the memory of `tensor` is really overwritten: gives constants of the
  // trace, and probes where these may come to differ, copies. kUnimplemented as
  // Write.
  absl::Status PrepareWrite(const ProbedValue& tensor, bool separate_probes);

  // After the memory of a constant `tensor` was overwritten with what depends
  // on no input: it is a constant still, of another content.
  void ConstantOverwritten(ProbedValue& tensor);

 private:
  absl::StatusOr<ValueId> ReadBase(TracedStorage& storage,
                                   const std::string& name);
  ValueId Apply(const ViewStep& step, ValueId self);
  // The parent's value after `value` was written through `step`.
  absl::StatusOr<ValueId> Undo(const ViewStep& step, ValueId parent,
                               const TensorType& parent_type, ValueId value);

  TraceBuilder* builder_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_FUNCTIONALIZER_H_
