// Is a compiled model right? Comparison of its outputs with eager's.
//
// What equals eager to the bit is right. Otherwise errors are measured twice,
// each time relative to the element or to a scale, whichever is larger:
//
//   the whole   to the root mean square of the output: an element that is small
//               by cancellation need not be exact, a tensor of small values
//               must be
//   each        to the median size of the element's neighbourhood, the trailing
//   element     axes that hold 256 elements or more: what is far off beside its
//               neighbours is seen however large other parts of the output are
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
//
// The dtype is the narrowest that the output is computed in (arithmetic.h): a
// cast to float32 at the end makes nothing more exact.
//
// Single elements are held to four times these, by the largest distance of
// eager within the neighbourhood: of 256 normal errors the largest is between 2
// and 5 standard deviations, so that two correct runs differ by a factor of 2.5
// at most, and errors have longer tails than that. Where eager is exact the
// bound is a few units in the last place, so that one wrong element of a
// million is found.
//
// Integers and bool must be equal but at the elements at which eager itself
// wavers: where the reference, or another run of eager, has another value. What
// is found in an order of scores changes with their last bits. Equal scores are
// no such case: the runs that excuse integers keep ties.
//
// NaN and infinity: where eager and the reference are not finite, ours must be
// the same; where eager is finite, ours must be. The exceptions, with their
// reasons, are listed in nan_dependence.h; one of them is here, as the
// reference decides it: where eager alone is not finite, ours may also be
// finite and within the tolerance of the reference.
#ifndef AITUNE_FRONTEND_CHECK_VERIFICATION_H_
#define AITUNE_FRONTEND_CHECK_VERIFICATION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
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

// What an output is held to.
struct ComparisonOptions {
  // Replaces the table when set: it alone decides then, for the whole output.
  std::optional<double> relative = std::nullopt;
  // The narrowest dtype that the output is computed in, where that is narrower
  // than its own.
  std::optional<DataType> arithmetic = std::nullopt;
  // Whether an output that is computed in a narrow dtype must be finite where
  // the reference is, although eager is not.
  bool finite_as_reference = false;
  // Replaces the table when set, for floating outputs: the least cosine of the
  // angle between ours and eager's, as vectors of all elements. It is what a
  // quantised model promises.
  std::optional<double> min_cosine = std::nullopt;
};

// What the judgement of one output rests on; Excuse adds to it.
struct Evidence;

// One output of one run.
struct Comparison {
  std::string output;  // path in the result, such as "[1]['logits']"; "" for a
                       // lone tensor
  bool agrees = false;
  double max_error =
      0;  // to eager, relative to the whole; infinity when NaNs differ
  // Elements of integers or booleans that are not eager's and not excused.
  int64_t differing = 0;
  Tolerance limits;  // what the errors were held against
  // To the reference, where there is one, rounded to the output's dtype.
  std::optional<double> our_reference_error, eager_reference_error;
  // Root mean square of the errors to the reference as it is, relative to that
  // of the reference: the largest error of one run is a matter of luck.
  std::optional<double> our_reference_rms, eager_reference_rms;
  std::optional<double> cosine;  // to eager, with min_cosine
  std::string problem;           // empty when it agrees
  // Null where nothing can excuse: another structure, dtype or size, and NaNs.
  std::shared_ptr<const Evidence> evidence;
};

// Compares one output. `reference` may be null; its dtype may be wider.
Comparison CompareTensors(const at::Tensor& ours, const at::Tensor& eager,
                          const at::Tensor* reference,
                          const ComparisonOptions& options = {});

// Judges `ours`, which does not agree, again by another run of eager, which was
// compared with the first: by its distance to the reference, if that is larger
// than the one known, and without a reference by its distance to the first run.
// Integers only where that run differs from the first, and only if it kept the
// ties of its inputs.
void Excuse(const Comparison& other_eager, bool ties_kept, Comparison& ours);

// Compares results of any nesting, one Comparison a leaf; other leaves than
// tensors must be equal. A different structure gives one failed Comparison.
// `arithmetic` is the narrowest dtype of each tensor among the leaves, in
// order, or, if their numbers differ, may be any of them.
std::vector<Comparison> CompareResults(
    const c10::IValue& ours, const c10::IValue& eager,
    const c10::IValue* reference, const ComparisonOptions& options = {},
    absl::Span<const std::optional<DataType>> arithmetic = {});

// The dtype of fewer significant bits; of both, where only one is set, that.
// Integers have no say.
std::optional<DataType> Narrower(std::optional<DataType> a,
                                 std::optional<DataType> b);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_VERIFICATION_H_
