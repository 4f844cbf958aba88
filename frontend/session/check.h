// A compiled model against eager, case by case.
#ifndef AITUNE_FRONTEND_SESSION_CHECK_H_
#define AITUNE_FRONTEND_SESSION_CHECK_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "frontend/session/compiled_model.h"
#include "frontend/session/model_inputs.h"
#include "frontend/session/verification.h"
#include "frontend/torchscript/model.h"

namespace aitune::frontend {

struct CaseResult {
  std::string name;
  // Eager itself raises for this input: there is nothing to compare with.
  bool skipped = false;
  // Why it was skipped, or ours failed to run; otherwise empty.
  std::string note;
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
};

struct CheckOptions {
  std::optional<double> tolerance;  // to eager; nothing: verification.h's
  // The model in a higher precision, made on first use; may give an error.
  std::function<absl::StatusOr<const Model*>(DataType)> reference;
  std::function<void(int done, int total)> progress;
};

// Runs each case on both and compares. The reference is run for float16 and
// bfloat16 outputs (in float32, on a GPU in float64), and for the others only
// where their tolerance is exceeded (in float64).
CheckReport CheckAgainstEager(const CompiledModel& compiled, const Model& model,
                              absl::Span<const InputCase> cases,
                              const CheckOptions& options);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_SESSION_CHECK_H_
