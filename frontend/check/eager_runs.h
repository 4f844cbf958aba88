// Runs of a model in eager to compare with. Each starts from the state that the
// model has now, on copies of its inputs, and leaves both as they were; results
// are copies on the CPU.
#ifndef AITUNE_FRONTEND_CHECK_EAGER_RUNS_H_
#define AITUNE_FRONTEND_CHECK_EAGER_RUNS_H_

#include <ATen/core/ivalue.h>

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/check/nan_dependence.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_state.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// Two calls with the same inputs, one after the other.
struct TwoCalls {
  // As they were when each call returned.
  absl::StatusOr<c10::IValue> first, second;
  // Whether the second call changed what the first had returned.
  bool first_changed = false;
};

// Calls `run` twice on copies of `arguments` and then puts back `states`.
TwoCalls CallTwice(const RunFunction& run, absl::Span<ModelState* const> states,
                   const ValueList& arguments);

// Not thread-safe, as the state is the model's.
class EagerRuns {
 public:
  // `model` must outlive this. Inputs are moved to its GPU; -1: the CPU.
  EagerRuns(const Model& model, int gpu);

  ModelState& state() { return state_; }

  // Two calls; a model without state is called once, and its result is both.
  TwoCalls Twice(const ValueList& arguments);

  // The result of the last of `calls` calls.
  absl::StatusOr<c10::IValue> Run(const ValueList& arguments, int calls);

  // The same with other roundings than Run's: on inputs changed at random, from
  // the seed `number`, by a rounding at most, and for an even `number` with
  // LibTorch's own convolutions and products in place of oneDNN's. With
  // `keep_ties` equal elements are changed alike, those of opposite signs
  // oppositely, and 0 stays.
  absl::StatusOr<c10::IValue> RunOtherwise(const ValueList& arguments,
                                           int calls, int number,
                                           bool keep_ties);

 private:
  const Model& model_;
  const int gpu_;
  ModelState state_;
};

// Whether two results hold equal tensors; NaNs equal each other. Of tensors
// that are not dense only the layout is compared.
bool SameTensors(const c10::IValue& a, const c10::IValue& b);

// `arguments` with floating-point tensors converted; float32 or float64.
ValueList Converted(const ValueList& arguments, DataType dtype);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_EAGER_RUNS_H_
