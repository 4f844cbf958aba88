// Decides whether a compiled model is right, by comparing its outputs ("ours")
// with eager's.
//
// An output that equals eager's to the bit is right. Otherwise errors are
// measured twice, each time relative to the element or to a scale, whichever is
// larger. The scale is:
//
//   the whole   the root mean square of the output: an element that is small
//               by cancellation need not be exact, a tensor of small values
//               must be
//   each        the median size of the element's neighbourhood, which is the
//   element     trailing axes that hold 256 elements or more: an element that
//   is
//               far from its neighbours is found however large other parts of
//               the output are
//
// float32 and float64 are right when they are within a tolerance of eager.
// float16 and bfloat16 are not: eager itself rounds after every operation, so
// that a correct compiler differs from it by as much as eager differs from the
// truth. For them a run of the same model in float32 is the reference (on a GPU
// in float64, because its float32 may round to tf32), and an output is right
// when it is not farther from the reference than a small factor of eager's own
// distance, plus a few units in the last place. A reference in float64 also
// decides when a float32 output exceeds its tolerance, because an
// ill-conditioned input is not the compiler's fault. On such an input eager's
// distance from the reference is a matter of luck; Excuse takes further runs of
// eager into account, which round differently.
//
//   dtype      tolerance   to the reference (factor, floor)
//   float64    1e-9        2, 1e-12
//   float32    1e-4        4, 1e-5   (Winograd's convolutions round more)
//   float16    1e-2        2, 2^-9
//   bfloat16   8e-2        2, 2^-6
//
// The dtype is the narrowest one in which the output is computed
// (arithmetic.h): a cast to float32 at the end makes nothing more exact.
//
// For single elements the limits are four times these, and eager's distance is
// its largest within the neighbourhood: of 256 normal errors the largest is
// between 2 and 5 standard deviations, so two correct runs differ by a factor
// of at most 2.5, and real errors have longer tails. Where eager is exact the
// limit is a few units in the last place, so that one wrong element of a
// million is found.
//
// Integers and bool must be equal, except at elements where eager itself is
// uncertain: where the reference, or another run of eager, has another value;
// and except where the output is much nearer to the reference than eager's: at
// most half as many elements differ from it, of four or more, by no more.
// An index that was found by ordering scores changes with their last bits.
// Equal scores are no excuse: the runs that excuse integers keep ties. The
// labels of a detection network, ordered by hundreds of nearly equal scores,
// change nearly everywhere, and each run shows some of the places: where five
// or more runs have changed a quarter of an output's elements between them,
// ours may differ in twice as many elements as half of these runs do.
//
// NaN and infinity: where eager and the reference are not finite, ours must be
// the same; where eager is finite, ours must be finite. nan_dependence.h lists
// the exceptions with their reasons. One of them is decided here, because it
// needs the reference: where they differ, ours may be as the reference: the
// same where it is not finite either, else within its tolerance, or as near to
// it as eager in bfloat16, which does not overflow (check.h). Without a
// reference, other runs of eager show where that is a matter of rounding (the
// inverse of a singular matrix): there ours is compared with one of them.
#ifndef AITUNE_FRONTEND_CHECK_VERIFICATION_H_
#define AITUNE_FRONTEND_CHECK_VERIFICATION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/backend/accuracy_bound.h"
#include "runtime/tensor/data_type.h"

namespace at {
class Tensor;
}  // namespace at
namespace c10 {
struct IValue;
}  // namespace c10

namespace aitune::frontend {

struct Tolerance {
  double relative = 0;          // largest error to eager, without a reference
  double reference_factor = 2;  // multiplies eager's distance to the reference
  double reference_floor = 0;   // added to the product; relative
};

// The row of the table above; all zero for integers.
Tolerance DefaultTolerance(DataType dtype);

// How one output is compared.
struct ComparisonOptions {
  // If set, the largest error of the whole output to eager. It alone decides,
  // instead of the table.
  std::optional<double> relative = std::nullopt;
  // The narrowest dtype that the output is computed in, if that is narrower
  // than its own.
  std::optional<DataType> arithmetic = std::nullopt;
  // Whether an output that is computed in a narrow dtype must be finite where
  // the reference is, even if eager is not.
  bool finite_as_reference = false;
  // If set, it alone decides, instead of the table and, for integers, of
  // equality: what a quantised model promises.
  std::optional<AccuracyBound> bound = std::nullopt;
};

// The measured distances by which one output is judged; Excuse adds to them.
struct Evidence;

// The comparison of one output of one run.
struct Comparison {
  // The output's path in the result, such as "[1]['logits']"; "" if the result
  // is one tensor.
  std::string output;
  bool agrees = false;
  // The largest error to eager, relative to the scale of the whole output;
  // infinity when NaNs differ.
  double max_error = 0;
  // The numbers of integer or bool elements that differ: those that are not
  // excused, and those that are, as other runs of eager change them too.
  int64_t differing = 0, excused = 0;
  Tolerance limits;  // the limits of the errors
  // The largest error to the reference, if there is one, rounded to the
  // output's dtype.
  std::optional<double> our_reference_error, eager_reference_error;
  // The root mean square of the errors to the unrounded reference, relative to
  // the root mean square of the reference. It varies less than the largest
  // error, which for one run is a matter of luck.
  std::optional<double> our_reference_rms, eager_reference_rms;
  std::optional<double> cosine;  // to eager, with a bound
  // Whether ours or eager alone is not finite somewhere.
  bool other_non_finite = false;
  std::string problem;  // what differs; empty when the output agrees
  // Null when no further run can excuse the difference: that of a structure,
  // dtype or size, or of NaNs.
  std::shared_ptr<const Evidence> evidence;
};

// Compares one output. `reference` may be null, and its dtype may be wider. The
// tensors are on the CPU. Thread-safe.
Comparison CompareTensors(const at::Tensor& ours, const at::Tensor& eager,
                          const at::Tensor* reference,
                          const ComparisonOptions& options = {});

// Judges `ours`, which does not agree, again with another run of eager.
// `other_eager` is the comparison of that run with the first run. Its distance
// to the reference, if it is larger than the known ones, replaces eager's;
// without a reference, its distance to the first run does. Integers are excused
// where that run differs from the first, or by the number of runs that do (see
// above), and only if `ties_kept` says that it kept the ties of its inputs.
void Excuse(const Comparison& other_eager, bool ties_kept, Comparison& ours);

// Compares results of any nesting and returns one Comparison for each leaf;
// leaves that are not tensors must be equal, objects be of the same class and
// have attributes that compare so. Different structures give one failed
// Comparison. arithmetic[i] is the narrowest dtype of tensor i among the
// leaves; if it has another number of elements than there are tensors, the
// narrowest of all elements counts for each tensor.
std::vector<Comparison> CompareResults(
    const c10::IValue& ours, const c10::IValue& eager,
    const c10::IValue* reference, const ComparisonOptions& options = {},
    absl::Span<const std::optional<DataType>> arithmetic = {});

// Whether no output differs.
bool AllAgree(absl::Span<const Comparison> outputs);

// The dtype with fewer significant bits. If only one is set, that one; integers
// count as not set.
std::optional<DataType> Narrower(std::optional<DataType> a,
                                 std::optional<DataType> b);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_VERIFICATION_H_
