// Judges one result of ours beside eager's: first as they are; where they
// differ beside a run of the model in a wider dtype; and where they differ
// still, asks whether eager itself would give what ours does, on a rule of its
// own each (nan_dependence.h, verification.h). These rules only ever excuse
// ours, and each costs runs of eager, so that they are tried for results that
// differ alone.
#ifndef AITUNE_FRONTEND_CHECK_JUDGE_H_
#define AITUNE_FRONTEND_CHECK_JUDGE_H_

#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/check/check.h"
#include "frontend/check/eager_runs.h"
#include "frontend/check/verification.h"
#include "frontend/torchscript/model.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// Not thread-safe: it runs models that have state.
class Judge {
 public:
  // What is compared: the results of one call.
  struct Subject {
    const ValueList& arguments;  // on the CPU
    int call;                    // its number among calls of these arguments
    const c10::IValue& eager;
    const c10::IValue& ours;
  };

  // All must outlive this. `eager` runs `model`.
  Judge(const Model& model, const CheckOptions& options, const Draws& draws,
        EagerRuns& eager);

  // Returns one comparison for each output, or none if eager draws random
  // numbers and ours others. Says in `result` by which rules ours was excused.
  // May throw LibTorch's exceptions.
  std::optional<std::vector<Comparison>> Compare(const Subject& subject,
                                                 CaseResult& result);

  // Why a result was not compared with a run in a wider dtype, the first time;
  // empty if all were, or need not be.
  const std::string& no_reference() const { return no_reference_; }

 private:
  std::vector<Comparison> JudgeNarrowed(const Subject& subject);
  void JudgeNotFinite(const Subject& subject, const c10::IValue* truth,
                      CaseResult& result, std::vector<Comparison>& outputs);
  void JudgeBesidePlainAttention(const Subject& subject,
                                 const c10::IValue* truth, CaseResult& result,
                                 std::vector<Comparison>& outputs);
  void JudgeInFloat64(const Subject& subject, std::vector<Comparison>& outputs);
  void JudgeInBfloat16(const Subject& subject, const c10::IValue& truth,
                       CaseResult& result, std::vector<Comparison>& outputs);
  void JudgeBesideCpu(const Subject& subject, const c10::IValue* truth,
                      CaseResult& result, std::vector<Comparison>& outputs);
  // `outputs` are comparisons with `eager`.
  void ExcuseTf32(const Subject& subject, const c10::IValue& eager,
                  const c10::IValue* truth, std::vector<Comparison>& outputs);
  void ExcuseIllConditioned(const Subject& subject, const c10::IValue* truth,
                            std::vector<Comparison>& outputs);
  void JudgeSingular(const Subject& subject, std::vector<Comparison>& outputs);

  // Whether the caller said what outputs are held to: that alone decides.
  bool HasBound() const { return options_.tolerance || options_.bound; }
  std::vector<Comparison> CompareWith(const c10::IValue& ours,
                                      const c10::IValue& eager,
                                      const c10::IValue* truth) const;
  absl::StatusOr<c10::IValue> RunReference(const Subject& subject,
                                           DataType dtype);
  // Learns the dtypes that outputs are computed in, once for arguments that are
  // described alike: the program may take another path for others.
  void LearnArithmetic(const ValueList& arguments);

  const Model& model_;
  const CheckOptions& options_;
  const Draws draws_;
  EagerRuns& eager_;
  double other_seconds_ = 0;  // seconds that other runs of eager have taken
  std::unique_ptr<EagerRuns> with_casts_;
  // Made where a result differs on a GPU, and then run.
  std::unique_ptr<absl::StatusOr<Model>> tf32_model_;
  std::unique_ptr<EagerRuns> tf32_;
  std::unique_ptr<EagerRuns> on_cpu_;  // the source, made likewise
  std::map<const Model*, std::unique_ptr<EagerRuns>> references_;
  std::string arithmetic_of_;  // the arguments that `arithmetic_` is of
  bool arithmetic_known_ = false;
  std::vector<std::optional<DataType>> arithmetic_;
  std::string no_reference_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_JUDGE_H_
