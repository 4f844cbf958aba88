// Compares a compiled model, or anything else that runs a model, with eager,
// case by case. `aitune tune` reports the result, and tuning a module relies on
// it. "Ours" is the model that is checked.
//
// Each case is called twice, on copies of the model's state (buffers that it
// writes, attributes that it sets) and of the inputs; the results of both calls
// are compared, and the second call must not change the result of the first.
// Where the program writes to its arguments, these are compared as outputs.
// Where eager raises, ours must raise too. verification.h says how outputs are
// compared, nan_dependence.h where NaNs may differ.
#ifndef AITUNE_FRONTEND_CHECK_CHECK_H_
#define AITUNE_FRONTEND_CHECK_CHECK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "frontend/check/nan_dependence.h"
#include "frontend/check/verification.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "runtime/backend/accuracy_bound.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

struct CaseResult {
  std::string name;  // InputCase::name
  // Whether there is nothing to compare with, because eager draws random
  // numbers that ours does not draw from the same seed, or LibTorch has no
  // kernel for the dtype or device.
  bool skipped = false;
  // Eager's message if both eager and ours raise for this input; else empty.
  std::string both_raise;
  // Why the case was skipped, or a failure of ours other than wrong outputs;
  // otherwise empty.
  std::string note;
  // The outputs of the first call, or of the second if only those differ.
  std::vector<Comparison> outputs;
  // The number of elements that are NaN in eager, although they do not depend
  // on the NaN inputs, and numbers in ours. They were compared with a run
  // without NaN inputs.
  int64_t own_nans_of_eager = 0;
  // Whether ours was compared with eager's plain attention, as its fused one
  // gives something else for a NaN or a masked row (nan_dependence.h).
  bool plain_attention = false;
  // Whether ours was compared with eager in bfloat16, as float16 overflows in
  // eager and not in the reference.
  bool in_bfloat16 = false;
  // Whether ours is as near to the reference as eager with operands rounded to
  // tf32, which it may use on a GPU (tf32_operands.h).
  bool in_tf32 = false;
  // Whether an output, on a GPU, is as eager's on the CPU and not as eager's
  // there.
  bool as_on_cpu = false;
  // Whether ours is farther from the reference than eager's first run, or
  // without a reference from that run, but not farther than other runs of eager
  // that round differently.
  bool ill_conditioned = false;
  // Whether eager raises and ours does not.
  bool missed_error = false;
  // Whether the outputs of eager are floating-point numbers of which none is
  // finite: they say little about ours.
  bool nothing_finite = false;

  bool agrees() const;  // true for a skipped case
  // How it fails, in one line; empty when it agrees.
  std::string Problem() const;
};

// A build in place of one that was wrong (repair.h).
struct RepairAttempt {
  std::string failed;     // the name of the case that it was made with
  std::string problem;    // CaseResult::Problem of that case before
  bool replaced = false;  // whether something was replaced
  std::string error;      // why it could not be built; empty if it was
};

// The worst comparison of one output over all cases.
struct OutputSummary {
  std::string output;      // Comparison::output
  std::string type;        // such as "float32[1,1000]"
  Comparison worst;        // a failed one, else the one with the largest error
  std::string worst_case;  // the name of its case
};

struct CheckReport {
  std::vector<CaseResult> cases;
  std::vector<OutputSummary> outputs;
  // Why outputs were not compared with a run in higher precision; empty if they
  // were, or need not be.
  std::string no_reference;
  bool has_bound = false;  // CheckOptions::bound decided
  // The builds that were made because of failed cases, in order; `cases` are of
  // the last.
  std::vector<RepairAttempt> repairs;

  // Whether at least one case could be compared; where others were skipped, one
  // of finite numbers.
  bool compared() const;
  // Whether all cases agree; false when no case could be compared.
  bool agrees() const;
  // Why the model does not agree, in one line that names the first case that
  // does not and what repairs came to; empty when it agrees.
  std::string Problem() const;
};

struct CheckOptions {
  // The largest error of an output to eager, relative to the output's scale.
  // Not set: the table of verification.h.
  std::optional<double> tolerance;
  // What a quantised model promises; replaces a tolerance.
  std::optional<AccuracyBound> bound;
  // The seconds that eager may take in a model with loops for inputs that were
  // made up, which a loop need not end for; such a case is skipped.
  double seconds_of_loops = 10;
  // Returns the model in this dtype, which has a higher precision or, for a
  // model in float16 that overflows, is bfloat16. Called on first use; may
  // return an error.
  std::function<absl::StatusOr<const Model*>(DataType)> reference;
  // Called with the number of cases done and of all cases; may be null.
  std::function<void(int done, int total)> progress;
  // The device that both run on, to which inputs are moved.
  Device device;
  // What LibTorch's random numbers begin with in each call, which are put back
  // after it. Not set: they are drawn as they come, as other threads draw some
  // too, and a model that draws some is not compared.
  std::optional<uint64_t> random_seed = 1;
  // On a GPU: the model on the CPU that ours was made from. Null: `model`.
  const Model* source = nullptr;
  // If ours is to compute in a narrower dtype than the model (autocast): that
  // dtype, and the model with autocast's casts, which LibTorch runs. An output
  // is then right if it is within this dtype's tolerance of the model's output,
  // or not much farther from it than the output of `with_casts`.
  std::optional<DataType> narrowed_to;
  const Model* with_casts = nullptr;
};

// Runs each case on both and compares. The reference is run for float16 and
// bfloat16 outputs (in float32, on a GPU in float64), and for other outputs
// only if they exceed their tolerance; the model is then traced too, to learn
// in which dtypes they are computed. `ours` is called with arguments on
// options.device and uses the state of `model` or options.source. Nobody else
// may call these models meanwhile. Not thread-safe.
CheckReport CheckAgainstEager(const RunFunction& ours, const Model& model,
                              absl::Span<const InputCase> cases,
                              const CheckOptions& options);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_CHECK_H_
