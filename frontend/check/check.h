// A compiled model, or anything else that runs a model, against eager, case by
// case: what `aitune tune` reports and what modules are tuned by.
//
// Each case is called twice, on copies of the model's state (buffers that it
// writes, attributes that it sets) and of the inputs; the results of both calls
// are compared, and that of the first must not change with the second. Where
// eager raises ours must raise too. How outputs are compared is told in
// verification.h, where NaN may differ in nan_dependence.h.
#ifndef AITUNE_FRONTEND_CHECK_CHECK_H_
#define AITUNE_FRONTEND_CHECK_CHECK_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "frontend/check/nan_dependence.h"
#include "frontend/check/verification.h"
#include "frontend/compiled_model/model_inputs.h"
#include "frontend/torchscript/model.h"

namespace aitune::frontend {

struct CaseResult {
  std::string name;
  // There is nothing to compare with: eager draws random numbers.
  bool skipped = false;
  // Eager's message where it raises for this input; ours does too.
  std::string both_raise;
  // Why it was skipped, or how ours failed beside its outputs; otherwise empty.
  std::string note;
  // Of the first call, or of the second where only that differs.
  std::vector<Comparison> outputs;
  // Elements that eager gives as NaN though they do not depend on the NaN
  // inputs, and we as numbers; these were compared with a run without NaN.
  int64_t own_nans_of_eager = 0;
  // Eager's fused attention lost the NaN of an input; ours was compared with
  // its plain attention, which keeps it.
  bool plain_attention = false;
  // Ours is farther from the reference than eager's run, but not than other
  // runs of eager with roundings of their own.
  bool ill_conditioned = false;

  bool agrees() const;  // true for a skipped one
};

// The worst of one output over all cases.
struct OutputSummary {
  std::string output;
  std::string type;  // such as "float32[1,1000]"
  Comparison worst;  // a failed one, else that of the largest error
  std::string worst_case;
};

struct CheckReport {
  std::vector<CaseResult> cases;
  std::vector<OutputSummary> outputs;
  // Why outputs were not compared with a higher precision, if they were not.
  std::string no_reference;

  // Whether there is a case that eager computed too.
  bool compared() const;
  // False too when no case could be compared.
  bool agrees() const;
  // Why it does not agree, in a line that names the first case that does not;
  // empty when it does.
  std::string Problem() const;
};

struct CheckOptions {
  std::optional<double> tolerance;  // to eager; nothing: verification.h's
  // Of a quantised model's outputs to eager's, in place of a tolerance.
  std::optional<double> min_cosine;
  // The model in a higher precision, made on first use; may give an error.
  std::function<absl::StatusOr<const Model*>(DataType)> reference;
  std::function<void(int done, int total)> progress;
  // The GPU that both run on, to which inputs are moved; -1: the CPU.
  int gpu = -1;
  // On a GPU: the model on the CPU that ours was made from; null: the same.
  const Model* source = nullptr;
  // Where ours is asked to compute in a narrower dtype than the model does
  // (autocast): that dtype, and the model with its casts, run by LibTorch. An
  // output is right that is within this dtype's tolerance of the model's own,
  // or not much farther from that than LibTorch's with the same casts.
  std::optional<DataType> narrowed_to;
  const Model* with_casts = nullptr;
};

// Runs each case on both and compares. The reference is run for float16 and
// bfloat16 outputs (in float32, on a GPU in float64), and for the others only
// where their tolerance is exceeded; then the model is traced too, to learn
// which dtypes they are computed in. `ours` is called with arguments on
// options.gpu and works on the state of `model` or options.source. Nobody else
// may call these models meanwhile.
CheckReport CheckAgainstEager(const RunFunction& ours, const Model& model,
                              absl::Span<const InputCase> cases,
                              const CheckOptions& options);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_CHECK_H_
