// Runs a model in eager, for comparison. Each run starts from the model's
// present state and uses copies of the inputs, and leaves both as they were;
// results are copies on the CPU.
#ifndef AITUNE_FRONTEND_CHECK_EAGER_RUNS_H_
#define AITUNE_FRONTEND_CHECK_EAGER_RUNS_H_

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/check/nan_dependence.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_state.h"
#include "runtime/device/device.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// Two calls with the same inputs, one after the other.
struct TwoCalls {
  // The results, as they were when each call returned.
  absl::StatusOr<c10::IValue> first, second;
  // Whether the second call changed the result of the first.
  bool first_changed = false;
};

// The random numbers that a call draws.
struct Draws {
  // What every call begins with, so that two draw the same; LibTorch's random
  // numbers are put back after it. Not set: they are drawn as they come.
  std::optional<uint64_t> seed;
  Device device;  // that draws them, beside the CPU
};

// Calls `run` twice on copies of `arguments` and then restores `states`.
TwoCalls CallTwice(const RunFunction& run, absl::Span<ModelState* const> states,
                   const ValueList& arguments, const Draws& draws);

// Runs a model in eager. The results are those of AsCompared. Not thread-safe,
// because the state belongs to the model.
class EagerRuns {
 public:
  // `model`, on the device of `draws`, must outlive this. Inputs are moved
  // there.
  EagerRuns(const Model& model, const Draws& draws);
  EagerRuns(const EagerRuns&) = delete;
  EagerRuns& operator=(const EagerRuns&) = delete;

  ModelState& state() { return state_; }
  bool writes_arguments() const { return writes_arguments_; }

  // What runs the model as `run` does. Where the program writes to its
  // arguments, it gives a tuple of the result and of the arguments as the call
  // has left their elements and sizes.
  RunFunction AsCompared(RunFunction run) const;

  // Calls the model twice. A model without state is called once, and both
  // results are that of this call.
  TwoCalls Twice(const ValueList& arguments);

  // Calls the model `calls` times and returns the last result.
  absl::StatusOr<c10::IValue> Run(const ValueList& arguments, int calls) {
    return Run(arguments, calls, draws_);
  }

  // As Run, with other random numbers if the model draws some.
  absl::StatusOr<c10::IValue> RunWithOtherDraws(const ValueList& arguments,
                                                int calls);

  // As Run, but with different rounding errors: the inputs are changed at
  // random, with the seed `number`, by at most one rounding, from the fifth
  // number on the weights too, and for an even `number` LibTorch's own
  // convolutions and products are used instead of oneDNN's. With `keep_ties`,
  // equal elements stay equal, elements of opposite sign stay opposite, and 0
  // stays 0, as they do in weights. May throw LibTorch's exceptions; the
  // weights are as before in any case.
  absl::StatusOr<c10::IValue> RunOtherwise(const ValueList& arguments,
                                           int calls, int number,
                                           bool keep_ties);

  // As Run, but each floating-point element of the inputs is moved at random,
  // with the seed `number`, to one of the numbers around it, at most about
  // `steps` away. 0 stays 0. May throw LibTorch's exceptions.
  absl::StatusOr<c10::IValue> RunMoved(const ValueList& arguments, int calls,
                                       int number, int steps);

 private:
  absl::StatusOr<c10::IValue> Run(const ValueList& arguments, int calls,
                                  const Draws& draws);

  const Draws draws_;
  const bool writes_arguments_;
  const Model& model_;
  RunFunction run_;  // calls the model once
  ModelState state_;
};

// Whether two results hold equal tensors, where NaN equals NaN. Only the
// layouts of tensors that are not dense are compared.
bool SameTensors(const c10::IValue& a, const c10::IValue& b);

// `arguments` with floating-point tensors converted to `dtype`, which is
// float32, float64 or bfloat16.
ValueList Converted(const ValueList& arguments, DataType dtype);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_EAGER_RUNS_H_
