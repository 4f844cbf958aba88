#include "frontend/check/check.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/check/assert_guard.h"
#include "frontend/check/dense_numbers.h"
#include "frontend/check/eager_runs.h"
#include "frontend/check/judge.h"
#include "frontend/check/run_guard.h"
#include "frontend/values/gpu.h"
#include "frontend/values/missing_kernel.h"
#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

std::string TypeText(const c10::IValue& value) {
  if (!value.isTensor()) return value.tagKind();
  const at::Tensor& tensor = value.toTensor();
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

// The place of an output in a result, from that in one of
// EagerRuns::AsCompared.
std::string PlaceInResult(const std::string& place) {
  const size_t end = place.find(']');
  int number = 0;
  if (end == std::string::npos ||
      !absl::SimpleAtoi(place.substr(1, end - 1), &number))
    return place;
  const std::string rest = place.substr(end + 1);
  return number == 0
             ? rest
             : absl::StrCat("[argument ", number - 1, " after the call]", rest);
}

// One check: the runs that all cases share.
class Checker {
 public:
  Checker(const RunFunction& ours, const Model& model,
          const CheckOptions& options)
      : model_(model),
        options_(options),
        draws_{options.random_seed, options.device},
        eager_(model, draws_),
        ours_(eager_.AsCompared(ours)),
        judge_(model, options, draws_, eager_) {
    if (options.source != nullptr && options.source != &model)
      source_state_ = std::make_unique<ModelState>(*options.source);
  }

  CaseResult Check(const InputCase& input);
  CheckReport TakeReport() {
    report_.no_reference = judge_.no_reference();
    return std::move(report_);
  }

 private:
  void Summarize(const CaseResult& result, const c10::IValue& eager);

  absl::Status TryRun(const InputCase& input);
  absl::Status TryElements(const InputCase& input);

  const Model& model_;
  const CheckOptions& options_;
  const Draws draws_;
  EagerRuns eager_;
  const RunFunction ours_;
  Judge judge_;
  std::unique_ptr<ModelState> source_state_;
  std::unique_ptr<RunGuard> guard_;        // from the first made-up case on
  std::unique_ptr<AssertGuard> elements_;  // the same, for a GPU
  CheckReport report_;
};

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
absl::Status Checker::TryRun(const InputCase& input) {
  if (input.name == kSampleCase) return absl::OkStatus();
  if (guard_ == nullptr)
    guard_ = std::make_unique<RunGuard>(model_, options_.device);
  const ScopedModelState restore(eager_.state());
  return guard_->Try(input.arguments, options_.seconds_of_loops);
}

absl::Status Checker::TryElements(const InputCase& input) {
  if (!options_.device.is_gpu() || options_.source == nullptr)
    return absl::OkStatus();
  // A caller's own are as they should be.
  if (input.name == kSampleCase) return absl::OkStatus();
  if (elements_ == nullptr)
    elements_ = std::make_unique<AssertGuard>(*options_.source);
  const absl::Status status = elements_->Try(input.arguments);
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("eager raises on a CPU, and on a GPU it would stop the "
                   "process: ",
                   status.message()));
}

CaseResult Checker::Check(const InputCase& input) {
  CaseResult result;
  result.name = input.name;
  absl::Status runs = TryRun(input);
  if (runs.ok()) runs = TryElements(input);
  if (!runs.ok()) {
    result.skipped = true;
    result.note = std::string(runs.message());
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
    std::optional<std::vector<Comparison>> outputs =
        judge_.Compare({input.arguments, call, **expected, **actual}, result);
    if (!outputs) {
      result.skipped = true;
      result.outputs.clear();
      result.note =
          "two runs of eager differ, and ours from both: the model draws "
          "random numbers";
      return result;
    }
    if (eager_.writes_arguments()) {
      for (Comparison& output : *outputs)
        output.output = PlaceInResult(output.output);
    }
    if (call == 1) {
      result.outputs = *std::move(outputs);
      continue;
    }
    for (size_t i = 0; i < outputs->size(); ++i) {
      Comparison& output = (*outputs)[i];
      if (output.agrees) continue;
      output.problem = absl::StrCat(which, output.problem);
      if (i >= result.outputs.size())
        result.outputs.push_back(output);
      else if (result.outputs[i].agrees)
        result.outputs[i] = output;
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
        : last.replaced ? ", and all that was replaced did not make it right"
        : has_bound
            ? ", and no kernel was found wrong: its layers in 8 bits are "
              "further from eager than is allowed"
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
  report.has_bound = options.bound.has_value();
  report.cases = std::move(results);
  return report;
}

}  // namespace aitune::frontend
