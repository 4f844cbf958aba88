// Which NaN of eager's result is eager's own making?
//
// Eager multiplies a masked value by the weight 0, and 0 * NaN is NaN: a NaN in
// a position that a causal mask hides shows up in outputs that do not depend on
// it. Code that never reads a masked value gives the right number there. To
// tell such an output from a NaN that the compiler lost, the model is asked: an
// element depends on the NaN inputs only if it changes when they do.
#ifndef AITUNE_FRONTEND_SESSION_NAN_DEPENDENCE_H_
#define AITUNE_FRONTEND_SESSION_NAN_DEPENDENCE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"

namespace aitune::frontend {

struct WithoutOwnNans {
  // Eager's result, with a number for each NaN that ours does not have and
  // that does not depend on the NaN inputs.
  std::shared_ptr<const c10::IValue> result;
  int64_t replaced = 0;  // how many
};

// `eager` and `ours` are results for `arguments`, which hold NaN. Runs the
// model twice more, with other numbers in place of NaN; its errors are passed
// on. Results of different structures replace nothing.
absl::StatusOr<WithoutOwnNans> ReplaceIndependentNans(
    const Model& model, const ValueList& arguments, const c10::IValue& eager,
    const c10::IValue& ours);

// Whether a floating-point tensor of `arguments` holds NaN.
bool HasNan(const ValueList& arguments);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_SESSION_NAN_DEPENDENCE_H_
