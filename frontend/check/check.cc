#include "frontend/check/check.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/check/arithmetic.h"
#include "frontend/check/dense_numbers.h"
#include "frontend/check/eager_runs.h"
#include "frontend/check/loop_guard.h"
#include "frontend/tracing/build_trace.h"
#include "frontend/values/gpu.h"
#include "frontend/values/missing_kernel.h"
#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

bool AllAgree(const std::vector<Comparison>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const Comparison& output) { return output.agrees; });
}

bool HasLowPrecision(const c10::IValue& result) {
  for (const at::Tensor& tensor : TensorLeaves(result)) {
    if (tensor.defined() && (tensor.scalar_type() == at::kHalf ||
                             tensor.scalar_type() == at::kBFloat16)) {
      return true;
    }
  }
  return false;
}

// Whether an output in float16 is not finite where the reference is.
bool Overflows(const c10::IValue& eager, const c10::IValue& reference) {
  const std::vector<at::Tensor> outputs = TensorLeaves(eager),
                                truths = TensorLeaves(reference);
  for (size_t i = 0; i < outputs.size() && i < truths.size(); ++i) {
    if (outputs[i].defined() && outputs[i].scalar_type() == at::kHalf &&
        IsDenseNumbers(outputs[i]) && IsDenseNumbers(truths[i]) &&
        truths[i].sizes() == outputs[i].sizes() &&
        truths[i]
            .to(at::kHalf)
            .isfinite()
            .logical_and(outputs[i].isfinite().logical_not())
            .any()
            .item<bool>())
      return true;
  }
  return false;
}

std::string TypeText(const c10::IValue& value) {
  if (!value.isTensor()) return value.tagKind();
  const at::Tensor& tensor = value.toTensor();
  if (!tensor.defined()) return "undefined";
  std::string dtype = c10::toString(tensor.scalar_type());
  // The names that users write in --input.
  static const std::pair<const char*, const char*> kNames[] = {
      {"Float", "float32"},     {"Double", "float64"}, {"Half", "float16"},
      {"BFloat16", "bfloat16"}, {"Long", "int64"},     {"Int", "int32"},
      {"Short", "int16"},       {"Char", "int8"},      {"Byte", "uint8"},
      {"Bool", "bool"}};
  for (const auto& [torch, ours] : kNames) {
    if (dtype == torch) dtype = ours;
  }
  return absl::StrCat(dtype, "[", absl::StrJoin(tensor.sizes(), ","), "]");
}

// Where ours differs, as many other runs of eager are looked at.
constexpr int kOtherRuns = 20;

// Where both are finite, or not finite in the same way.
at::Tensor AlikeFinite(const at::Tensor& a, const at::Tensor& b) {
  return a.isfinite()
      .logical_and(b.isfinite())
      .logical_or(a.isnan().logical_and(b.isnan()))
      .logical_or(a.eq(b));
}

// Whether elements of both can be put in place of each other.
bool AreOfOneKind(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() && a.is_floating_point() &&
         a.layout() == at::kStrided && b.layout() == at::kStrided &&
         a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes();
}

// `first`, but each element that is finite where that of `like` is not, or not
// finite where it is, from the first of `others` that is as `like`.
c10::IValue WithFiniteElementsOf(const c10::IValue& like,
                                 const c10::IValue& first,
                                 absl::Span<const c10::IValue> others) {
  const std::vector<at::Tensor> wanted = TensorLeaves(like);
  std::vector<std::vector<at::Tensor>> runs;
  for (const c10::IValue& other : others) runs.push_back(TensorLeaves(other));
  return MapTensors(first, [&](const at::Tensor& tensor, int index) {
    const auto i = static_cast<size_t>(index);
    if (i >= wanted.size() || !AreOfOneKind(tensor, wanted[i])) return tensor;
    at::Tensor chosen = tensor;
    at::Tensor missing = AlikeFinite(tensor, wanted[i]).logical_not();
    for (const std::vector<at::Tensor>& run : runs) {
      if (!missing.any().item<bool>()) break;
      if (i >= run.size() || !AreOfOneKind(run[i], wanted[i])) continue;
      const at::Tensor take =
          missing.logical_and(AlikeFinite(run[i], wanted[i]));
      chosen = at::where(take, run[i], chosen);
      missing = missing.logical_and(take.logical_not());
    }
    return chosen;
  });
}

// One check: the runs that all cases share.
class Checker {
 public:
  Checker(const RunFunction& ours, const Model& model,
          const CheckOptions& options)
      : ours_(ours),
        model_(model),
        options_(options),
        draws_{options.random_seed, options.device},
        eager_(model, draws_) {
    if (options.source != nullptr && options.source != &model)
      source_state_ = std::make_unique<ModelState>(*options.source);
    if (options.with_casts != nullptr)
      with_casts_ = std::make_unique<EagerRuns>(*options.with_casts, draws_);
  }

  CaseResult Check(const InputCase& input);
  CheckReport TakeReport() { return std::move(report_); }

 private:
  // What is compared: the result of the `call`th call of a case.
  struct Subject {
    const ValueList& arguments;  // on the CPU
    int call;
    const c10::IValue& eager;
    const c10::IValue& ours;
  };

  // kNotCompared: eager draws random numbers, and ours others.
  enum class Outcome { kCompared, kNotCompared };
  Outcome Judge(const Subject& subject, CaseResult& result,
                std::vector<Comparison>& outputs);
  std::vector<Comparison> JudgeNarrowed(const Subject& subject);
  void JudgeNans(const Subject& subject, const c10::IValue* truth,
                 CaseResult& result, std::vector<Comparison>& outputs);
  void JudgeBesidePlainAttention(const Subject& subject,
                                 const c10::IValue* truth, CaseResult& result,
                                 std::vector<Comparison>& outputs);
  void JudgeInBfloat16(const Subject& subject, const c10::IValue& truth,
                       CaseResult& result, std::vector<Comparison>& outputs);
  void ExcuseIllConditioned(const Subject& subject, const c10::IValue* truth,
                            std::vector<Comparison>& outputs);
  void JudgeSingular(const Subject& subject, std::vector<Comparison>& outputs);

  // Whether the caller said what outputs are held to: that alone decides.
  bool HasBound() const { return options_.tolerance || options_.min_cosine; }
  std::vector<Comparison> Compare(const c10::IValue& ours,
                                  const c10::IValue& eager,
                                  const c10::IValue* truth) {
    ComparisonOptions comparison;
    comparison.relative = options_.tolerance;
    comparison.min_cosine = options_.min_cosine;
    return CompareResults(ours, eager, truth, comparison, arithmetic_);
  }
  absl::StatusOr<c10::IValue> RunReference(const Subject& subject,
                                           DataType dtype);
  // Learns the dtypes that outputs are computed in, from the first case that
  // asks.
  void LearnArithmetic(const ValueList& arguments);
  void Summarize(const CaseResult& result, const c10::IValue& eager);

  absl::Status TryLoops(const InputCase& input);

  const RunFunction& ours_;
  const Model& model_;
  const CheckOptions& options_;
  const Draws draws_;
  EagerRuns eager_;
  std::unique_ptr<ModelState> source_state_;
  std::unique_ptr<EagerRuns> with_casts_;
  std::unique_ptr<LoopGuard> loops_;  // from the first made-up case on
  std::map<const Model*, std::unique_ptr<EagerRuns>> references_;
  // Of the path that the program takes for arguments described so.
  std::string arithmetic_of_;
  bool arithmetic_known_ = false;
  std::vector<std::optional<DataType>> arithmetic_;
  CheckReport report_;
};

absl::StatusOr<c10::IValue> Checker::RunReference(const Subject& subject,
                                                  DataType dtype) {
  if (!options_.reference)
    return absl::UnavailableError("no reference model was given");
  absl::StatusOr<const Model*> model = options_.reference(dtype);
  if (!model.ok()) return model.status();
  std::unique_ptr<EagerRuns>& runs = references_[*model];
  if (runs == nullptr) runs = std::make_unique<EagerRuns>(**model, draws_);
  return runs->Run(Converted(subject.arguments, dtype), subject.call);
}

void Checker::LearnArithmetic(const ValueList& arguments) {
  if (arithmetic_known_) return;
  arithmetic_known_ = true;
  const Model& source = options_.source != nullptr ? *options_.source : model_;
  ModelState state(source);
  const ScopedModelState restore(state);
  const absl::StatusOr<Trace> trace = BuildTrace(source, arguments, {});
  // Without a trace, the tolerances are those of the outputs' own dtypes.
  if (trace.ok()) arithmetic_ = ArithmeticOfOutputs(*trace);
}

std::vector<Comparison> Checker::JudgeNarrowed(const Subject& subject) {
  ComparisonOptions comparison;
  comparison.arithmetic = options_.narrowed_to;
  comparison.finite_as_reference = true;
  comparison.relative = DefaultTolerance(*options_.narrowed_to).relative;
  std::vector<Comparison> outputs =
      CompareResults(subject.ours, subject.eager, nullptr, comparison);
  if (AllAgree(outputs) || with_casts_ == nullptr) return outputs;
  const absl::StatusOr<c10::IValue> casts =
      with_casts_->Run(subject.arguments, subject.call);
  if (!casts.ok()) return outputs;
  // Convert to the dtypes of ours, which are those of the model.
  const std::vector<at::Tensor> wanted = TensorLeaves(subject.eager);
  const c10::IValue restored =
      MapTensors(*casts, [&](const at::Tensor& tensor, int index) {
        return static_cast<size_t>(index) < wanted.size() && tensor.defined() &&
                       tensor.is_floating_point()
                   ? tensor.to(wanted[index].scalar_type())
                   : tensor;
      });
  comparison.relative.reset();
  const std::vector<Comparison> beside =
      CompareResults(subject.ours, restored, &subject.eager, comparison);
  for (size_t i = 0; i < outputs.size() && i < beside.size(); ++i) {
    if (!outputs[i].agrees) outputs[i] = beside[i];
  }
  return outputs;
}

void Checker::JudgeNans(const Subject& subject, const c10::IValue* truth,
                        CaseResult& result, std::vector<Comparison>& outputs) {
  const RunFunction run = [&](const ValueList& arguments) {
    return eager_.Run(arguments, subject.call);
  };
  const absl::StatusOr<WithoutOwnNans> expected = ReplaceIndependentNans(
      run, subject.arguments, subject.eager, subject.ours);
  if (expected.ok() && expected->replaced > 0) {
    result.own_nans_of_eager = expected->replaced;
    outputs = Compare(subject.ours, *expected->result, truth);
  }
}

void Checker::JudgeBesidePlainAttention(const Subject& subject,
                                        const c10::IValue* truth,
                                        CaseResult& result,
                                        std::vector<Comparison>& outputs) {
  const RunFunction run = [&](const ValueList& arguments) {
    return eager_.Run(arguments, subject.call);
  };
  const RunFunction run_plain = [&](const ValueList& arguments) {
    return WithPlainAttention(run, arguments);
  };
  const absl::StatusOr<c10::IValue> plain = run_plain(subject.arguments);
  if (!plain.ok()) return;
  std::vector<Comparison> beside_plain = Compare(subject.ours, *plain, truth);
  if (!AllAgree(beside_plain) && HasNan(subject.arguments)) {
    const absl::StatusOr<WithoutOwnNans> expected = ReplaceIndependentNans(
        run_plain, subject.arguments, *plain, subject.ours);
    if (!expected.ok()) return;
    beside_plain = Compare(subject.ours, *expected->result, truth);
    if (AllAgree(beside_plain)) result.own_nans_of_eager = expected->replaced;
  }
  if (!AllAgree(beside_plain)) return;
  result.plain_attention = true;
  outputs = std::move(beside_plain);
}

// Eager's float16 overflows, so its distance from `truth` says nothing.
// bfloat16 does not overflow and has fewer bits: ours is right if it is about
// as near.
void Checker::JudgeInBfloat16(const Subject& subject, const c10::IValue& truth,
                              CaseResult& result,
                              std::vector<Comparison>& outputs) {
  const absl::StatusOr<c10::IValue> narrow =
      RunReference(subject, DataType::kBFloat16);
  if (!narrow.ok()) return;
  const std::vector<at::Tensor> eager = TensorLeaves(subject.eager),
                                ours = TensorLeaves(subject.ours);
  const c10::IValue beside =
      MapTensors(*narrow, [&](const at::Tensor& tensor, int index) {
        const auto i = static_cast<size_t>(index);
        if (i >= eager.size() || i >= ours.size() || !tensor.defined() ||
            !tensor.is_floating_point() || !IsDenseNumbers(tensor) ||
            !IsDenseNumbers(eager[i]) || !IsDenseNumbers(ours[i]) ||
            tensor.sizes() != eager[i].sizes() ||
            ours[i].sizes() != eager[i].sizes())
          return tensor;
        // Ours may overflow where eager does.
        return at::where(ours[i].isfinite().logical_or(eager[i].isfinite()),
                         tensor.to(eager[i].scalar_type()), eager[i]);
      });
  std::vector<Comparison> compared = Compare(subject.ours, beside, &truth);
  if (!AllAgree(compared)) return;
  result.in_bfloat16 = true;
  outputs = std::move(compared);
}

// Runs eager again where ours does not agree. Where these runs are as far from
// `truth`, or without one from eager, the input is ill-conditioned: no float
// arithmetic computes it. Half of them keep the ties of the inputs, as integers
// need. Runs that raise, as for a matrix that is now singular, say nothing.
void Checker::ExcuseIllConditioned(const Subject& subject,
                                   const c10::IValue* truth,
                                   std::vector<Comparison>& outputs) {
  for (int run = 0; run < kOtherRuns && !AllAgree(outputs); ++run) {
    const bool keep_ties = run / 2 % 2 == 1;
    const absl::StatusOr<c10::IValue> other =
        eager_.RunOtherwise(subject.arguments, subject.call, run, keep_ties);
    if (!other.ok()) continue;
    const std::vector<Comparison> others =
        Compare(*other, subject.eager, truth);
    if (others.size() != outputs.size()) return;
    for (size_t i = 0; i < outputs.size(); ++i)
      Excuse(others[i], keep_ties, outputs[i]);
  }
  if (truth == nullptr && !HasNan(subject.arguments))
    JudgeSingular(subject, outputs);
}

// Ours or eager alone is not finite, so there is no distance. Where a step of
// the inputs to a number beside them decides whether eager is, as it does for
// the inverse of a singular matrix, ours is judged by its distance to such a
// run of eager that is as ours there, beside the distances of other runs. Some
// move the inputs by more, as a compiled model rounds several times on the way
// to the result.
void Checker::JudgeSingular(const Subject& subject,
                            std::vector<Comparison>& outputs) {
  constexpr int kFarther = 4;
  const auto differs = [](const std::vector<Comparison>& compared) {
    return std::any_of(compared.begin(), compared.end(),
                       [](const Comparison& output) {
                         return !output.agrees && output.other_non_finite;
                       });
  };
  if (!differs(outputs)) return;
  std::vector<c10::IValue> runs = {subject.eager};
  const auto add_runs = [&](int steps) {
    for (int run = 0; run < kOtherRuns; ++run) {
      absl::StatusOr<c10::IValue> moved =
          eager_.RunMoved(subject.arguments, subject.call, run, steps);
      if (moved.ok()) runs.push_back(*std::move(moved));
    }
  };
  add_runs(1);
  const c10::IValue base =
      WithFiniteElementsOf(subject.ours, subject.eager, runs);
  std::vector<Comparison> beside = Compare(subject.ours, base, nullptr);
  if (beside.size() != outputs.size() || differs(beside)) return;
  add_runs(kFarther);
  for (const c10::IValue& run : runs) {
    const std::vector<Comparison> distances =
        Compare(WithFiniteElementsOf(base, run, absl::MakeConstSpan(&base, 1)),
                base, nullptr);
    if (distances.size() != beside.size()) return;
    for (size_t i = 0; i < beside.size(); ++i)
      Excuse(distances[i], /*ties_kept=*/false, beside[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].other_non_finite && beside[i].agrees)
      outputs[i] = std::move(beside[i]);
  }
}

Checker::Outcome Checker::Judge(const Subject& subject, CaseResult& result,
                                std::vector<Comparison>& outputs) {
  if (std::string sizes = subject.arguments.Describe();
      sizes != arithmetic_of_) {
    arithmetic_of_ = std::move(sizes);
    arithmetic_known_ = false;
    arithmetic_.clear();
  }
  outputs = Compare(subject.ours, subject.eager, nullptr);
  bool agreed = AllAgree(outputs);
  if (!agreed) {
    const absl::StatusOr<c10::IValue> again =
        eager_.RunWithOtherDraws(subject.arguments, subject.call);
    if (!again.ok() ||
        !AllAgree(CompareResults(*again, subject.eager, nullptr)))
      return Outcome::kNotCompared;
  }
  if (options_.narrowed_to && !HasBound()) {
    outputs = JudgeNarrowed(subject);
    return Outcome::kCompared;
  }
  const bool low_precision = HasLowPrecision(subject.eager);
  if (agreed && !low_precision) return Outcome::kCompared;
  if (!agreed && !HasBound()) LearnArithmetic(subject.arguments);
  // A GPU's float32 may be tf32, no more exact than float16.
  const bool has_tf32 = options_.device.is_gpu();
  absl::StatusOr<c10::IValue> reference =
      RunReference(subject, low_precision && !has_tf32 ? DataType::kFloat32
                                                       : DataType::kFloat64);
  // Not every operator has a kernel for float64.
  if (!reference.ok() && low_precision && has_tf32)
    reference = RunReference(subject, DataType::kFloat32);
  if (!reference.ok() && report_.no_reference.empty())
    report_.no_reference = std::string(reference.status().message());
  const c10::IValue* truth = reference.ok() ? &*reference : nullptr;
  outputs = Compare(subject.ours, subject.eager, truth);
  if (!AllAgree(outputs)) {
    const bool has_nan = HasNan(subject.arguments);
    if (has_nan) JudgeNans(subject, truth, result, outputs);
    if (!AllAgree(outputs) && (has_nan || options_.device.is_gpu()))
      JudgeBesidePlainAttention(subject, truth, result, outputs);
    if (!AllAgree(outputs) && !HasBound() && truth != nullptr &&
        Overflows(subject.eager, *truth))
      JudgeInBfloat16(subject, *truth, result, outputs);
  }
  if (!AllAgree(outputs) && !HasBound()) {
    ExcuseIllConditioned(subject, truth, outputs);
    result.ill_conditioned = AllAgree(outputs);
  }
  return Outcome::kCompared;
}

void Checker::Summarize(const CaseResult& result, const c10::IValue& eager) {
  const std::vector<Leaf> leaves = Leaves(eager);
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const Comparison& comparison = result.outputs[i];
    if (report_.outputs.size() <= i) {
      report_.outputs.push_back({comparison.output,
                                 leaves.size() == result.outputs.size()
                                     ? TypeText(*leaves[i].value)
                                     : "",
                                 comparison, result.name});
      continue;
    }
    OutputSummary& summary = report_.outputs[i];
    const bool worse = comparison.agrees == summary.worst.agrees
                           ? comparison.max_error > summary.worst.max_error
                           : !comparison.agrees;
    if (worse) {
      summary.worst = comparison;
      summary.worst_case = result.name;
    }
  }
}

// A caller's own sample may take as long as it will.
absl::Status Checker::TryLoops(const InputCase& input) {
  if (input.name == kSampleCase) return absl::OkStatus();
  if (loops_ == nullptr)
    loops_ = std::make_unique<LoopGuard>(model_, options_.device);
  const ScopedModelState restore(eager_.state());
  return loops_->Try(input.arguments, options_.seconds_of_loops);
}

CaseResult Checker::Check(const InputCase& input) {
  CaseResult result;
  result.name = input.name;
  const absl::Status ends = TryLoops(input);
  if (!ends.ok()) {
    result.skipped = true;
    result.note = std::string(ends.message());
    return result;
  }
  const TwoCalls eager = eager_.Twice(input.arguments);
  std::vector<ModelState*> states = {&eager_.state()};
  if (source_state_ != nullptr) states.push_back(source_state_.get());
  const TwoCalls ours = CallTwice(
      ours_, states,
      !options_.device.is_gpu() ? input.arguments
                                : ToDevice(input.arguments, options_.device),
      draws_);

  const std::pair<const absl::StatusOr<c10::IValue>*,
                  const absl::StatusOr<c10::IValue>*>
      calls[] = {{&eager.first, &ours.first}, {&eager.second, &ours.second}};
  for (int call = 1; call <= 2; ++call) {
    const auto& [expected, actual] = calls[call - 1];
    const std::string which = call == 1 ? "" : "in the second call ";
    if (!expected->ok()) {
      const std::string raised(expected->status().message());
      if (actual->ok() && IsMissingKernel(raised)) {
        result.skipped = true;
        result.outputs.clear();
        result.note = absl::StrCat("LibTorch cannot run it here: ", raised);
        return result;
      }
      result.missed_error = actual->ok();
      if (result.missed_error)
        result.note =
            absl::StrCat(which, "eager raises, ours does not: ", raised);
      else if (call == 1)
        result.both_raise = raised;
      break;
    }
    if (!actual->ok()) {
      result.note =
          absl::StrCat(which, std::string(actual->status().message()));
      break;
    }
    // The same again.
    if (call == 2 && !eager_.state().exists() &&
        SameTensors(*ours.first, *ours.second))
      break;
    std::vector<Comparison> outputs;
    if (Judge({input.arguments, call, **expected, **actual}, result, outputs) ==
        Outcome::kNotCompared) {
      result.skipped = true;
      result.outputs.clear();
      result.note =
          "two runs of eager differ, and ours from both: the model draws "
          "random numbers";
      return result;
    }
    if (call == 1) {
      result.outputs = std::move(outputs);
      continue;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].agrees) continue;
      outputs[i].problem = absl::StrCat(which, outputs[i].problem);
      if (i >= result.outputs.size())
        result.outputs.push_back(outputs[i]);
      else if (result.outputs[i].agrees)
        result.outputs[i] = outputs[i];
    }
  }
  if (ours.first_changed && !eager.first_changed && result.note.empty())
    result.note = "the second call changed what the first had returned";
  if (eager.first.ok()) {
    result.nothing_finite = NothingIsFinite(TensorLeaves(*eager.first));
    Summarize(result, *eager.first);
  }
  return result;
}

}  // namespace

bool CaseResult::agrees() const {
  return skipped || (note.empty() && AllAgree(outputs));
}

bool CheckReport::compared() const {
  const bool some_skipped =
      std::any_of(cases.begin(), cases.end(),
                  [](const CaseResult& result) { return result.skipped; });
  return std::any_of(cases.begin(), cases.end(), [&](const CaseResult& result) {
    return !result.skipped && result.both_raise.empty() &&
           !(some_skipped && result.nothing_finite);
  });
}

bool CheckReport::agrees() const {
  return compared() &&
         std::all_of(cases.begin(), cases.end(),
                     [](const CaseResult& result) { return result.agrees(); });
}

std::string CaseResult::Problem() const {
  if (agrees()) return "";
  if (!note.empty()) return absl::StrCat(name, ": ", note);
  for (const Comparison& output : outputs) {
    if (!output.agrees)
      return absl::StrCat(name, ": output", output.output, " ", output.problem);
  }
  return absl::StrCat(name, ": it differs");
}

std::string CheckReport::Problem() const {
  if (agrees()) return "";
  for (const CaseResult& result : cases) {
    if (result.agrees()) continue;
    if (repairs.empty()) return result.Problem();
    const RepairAttempt& last = repairs.back();
    return absl::StrCat(
        result.Problem(), "; it was built again ",
        repairs.size() == 1 ? "once" : absl::StrCat(repairs.size(), " times"),
        " with the inputs that showed it",
        !last.error.empty() ? absl::StrCat(", at last in vain: ", last.error)
        : last.replaced
            ? ", and all that was replaced did not make it right"
            : ", and no kernel was found wrong: what LibTorch runs of it, or "
              "how the program was read, must be");
  }
  for (const CaseResult& result : cases) {
    if (!result.both_raise.empty())
      return absl::StrCat(result.name,
                          ": eager raises for it: ", result.both_raise);
    if (!result.note.empty())
      return absl::StrCat(result.name, ": ", result.note);
  }
  return "nothing could be compared with eager";
}

CheckReport CheckAgainstEager(const RunFunction& ours, const Model& model,
                              absl::Span<const InputCase> cases,
                              const CheckOptions& options) {
  Checker checker(ours, model, options);
  std::vector<CaseResult> results;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (options.progress)
      options.progress(static_cast<int>(i), static_cast<int>(cases.size()));
    results.push_back(checker.Check(cases[i]));
  }
  CheckReport report = checker.TakeReport();
  report.cases = std::move(results);
  return report;
}

}  // namespace aitune::frontend
