// Is a compiled model right? Comparison of its outputs with eager's.
//
// Errors are measured relative to each element or to the output's own scale
// (the root mean square of its finite elements), whichever is larger: an
// element that is small by cancellation need not be exact, a tensor of small
// values must be.
//
// float32 and float64 are right when they are within a tolerance of eager.
// float16 and bfloat16 are not: eager itself rounds after every operation, so
// that a correct compiler differs from it by as much as eager differs from the
// truth. There a run of the same model in float32 (on a GPU float64: its
// float32 may round to tf32) is the reference, and an output is right when it
// is not farther from the reference than a small factor of eager's own
// distance, plus a few units in the last place. The reference also decides
// where float32 exceeds its tolerance (in float64 then): an ill-conditioned
// input is not the compiler's fault. How far eager is from the reference on one
// input is a matter of luck, then; Excuse takes more runs of eager into
// account, that round otherwise.
//
//   dtype      tolerance   of the reference (factor, floor)
//   float64    1e-9        2, 1e-12
//   float32    1e-4        4, 1e-5   (Winograd's convolutions round more)
//   float16    1e-2        2, 2^-9
//   bfloat16   8e-2        2, 2^-6
//   integers and bool must be equal, or, where there is a reference, differ
//   from it in at most twice as many elements as eager does: what is found in
//   an order of scores changes with their last bits.
//
// NaN and infinity: where eager and the reference are not finite, ours must be
// the same; where eager is finite, ours must be. (An overflow of eager alone,
// in float16, need not be repeated.)
#ifndef AITUNE_FRONTEND_SESSION_VERIFICATION_H_
#define AITUNE_FRONTEND_SESSION_VERIFICATION_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/data_type.h"

namespace at {
class Tensor;
}  // namespace at
namespace c10 {
struct IValue;
}  // namespace c10

namespace aitune::frontend {

struct Tolerance {
  double relative = 0;          // to eager, when there is no reference
  double reference_factor = 2;  // of eager's distance to the reference
  double reference_floor = 0;   // added to it
};

// The table above; all zero for integers.
Tolerance DefaultTolerance(DataType dtype);

// One output of one run.
struct Comparison {
  std::string output;  // path in the result, such as "[1]['logits']"; "" for a
                       // lone tensor
  bool agrees = false;
  double max_error =
      0;  // to eager, relative as above; infinity when NaNs differ
  // Elements of integers or booleans that are not eager's.
  int64_t differing = 0;
  Tolerance limits;  // what the errors were held against
  // To the reference, where there is one, rounded to the output's dtype.
  std::optional<double> our_reference_error, eager_reference_error;
  // Root mean square of the errors to the reference as it is, relative to that
  // of the reference: the largest error of one run is a matter of luck.
  std::optional<double> our_reference_rms, eager_reference_rms;
  std::string problem;  // empty when it agrees
};

// Compares one output. `reference` may be null; its dtype may be wider.
// `relative` replaces the table when set: it alone decides then.
Comparison CompareTensors(const at::Tensor& ours, const at::Tensor& eager,
                          const at::Tensor* reference,
                          std::optional<double> relative = std::nullopt);

// Judges `ours`, which does not agree, again by another run of eager: by its
// distance to the reference, if that is larger than the one known, and without
// a reference by its distance to the first run. Integers, such as the labels of
// what was found in an order of scores, by how many differ from the first
// run's.
void Excuse(const Comparison& other_eager, Comparison& ours);

// Compares results of any nesting, one Comparison a leaf; other leaves than
// tensors must be equal. A different structure gives one failed Comparison.
std::vector<Comparison> CompareResults(
    const c10::IValue& ours, const c10::IValue& eager,
    const c10::IValue* reference,
    std::optional<double> relative = std::nullopt);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_SESSION_VERIFICATION_H_
