// Turns in-place operators and views into functional operators.
//
// Each tensor has a record of the memory that it is in and of the view
// operators that lead from the memory's base to it. A write through one view
// makes a new value of that view; the inverses of the view operators then make
// a new value of the base; other views of the same memory are computed from it
// when they are next read. The program really runs, so it is observed, not
// deduced, which tensors share memory. Internal: includes LibTorch.
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

  // Gives `tensor`, whose probes, type and id are set, memory of its own.
  // `tainted` and `constant` are those of TracedStorage. `read_only` says why
  // nothing may write to the memory; it is empty if writing is allowed.
  void OwnStorage(const ProbedRef& tensor, bool tainted, bool constant,
                  std::string read_only);

  // Makes `tensor` a view of `source`, with the same memory; `step` is the view
  // operator. A step without a name is a view whose operator is not known.
  void ShareStorage(const ProbedRef& tensor, const ProbedValue& source,
                    ViewStep step);

  // The value of the trace with the present contents of `tensor`. It is
  // computed anew after writes through other views; a constant of the trace is
  // made for a constant tensor. kUnimplemented when a trace cannot express it.
  absl::StatusOr<ValueId> Read(ProbedValue& tensor);

  // As Read, for a result of the program: in memory of its own, also where that
  // of `tensor` is one that outlives the call.
  absl::StatusOr<ValueId> ReadResult(ProbedValue& tensor);

  // Records that the contents of `tensor` are now `value`, which has its type,
  // and updates all tensors that share its memory. kUnimplemented when the
  // memory belongs to an input or the model, or when one of the view operators
  // has no inverse.
  absl::Status Write(ProbedValue& tensor, ValueId value, bool tainted);

  // To be called before the memory of `tensor` is really overwritten. Copies
  // the contents of the trace's constants in that memory and, with
  // `separate_probes`, gives each probe a copy of its own. kUnimplemented as
  // Write.
  absl::Status PrepareWrite(const ProbedValue& tensor, bool separate_probes);

  // To be called after a call wrote to `tensor`, which has TracedStorage::state
  // or is a view of such a one: `state` is that tensor after the call.
  void StateWritten(ProbedValue& tensor, ValueId state);

  // To be called after the memory of a constant `tensor` was overwritten with
  // values that depend on no input: it stays a constant, with new contents.
  void ConstantOverwritten(ProbedValue& tensor);

  // The value of the trace with all of a memory's present contents; `name` is
  // that of a constant which is made of it. kUnimplemented as Read.
  absl::StatusOr<ValueId> ReadBase(TracedStorage& storage,
                                   const std::string& name);

 private:
  // Makes the present contents of a tensor with TracedStorage::state a value of
  // the trace.
  void ReadState(TracedStorage& storage);
  // Makes a copy of those of `part`, a view of it, a value of the trace.
  ValueId ReadPartOfState(const ProbedValue& part);
  ValueId Apply(const ViewStep& step, ValueId self);
  // The parent's value after `value` was written through `step`.
  absl::StatusOr<ValueId> Undo(const ViewStep& step, ValueId parent,
                               const TensorType& parent_type, ValueId value);

  TraceBuilder* builder_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_FUNCTIONALIZER_H_
