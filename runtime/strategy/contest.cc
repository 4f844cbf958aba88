#include "runtime/strategy/contest.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/control/call_limit.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"
#include "runtime/strategy/axis_detection.h"

namespace aitune {
namespace {

absl::Status WithPrefix(const std::string& prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, status.message()));
}

}  // namespace

absl::Status CheckOutputTypes(absl::Span<const OwnedValue> expected,
                              absl::Span<const OwnedValue> actual) {
  if (expected.size() != actual.size())
    return absl::FailedPreconditionError(absl::StrCat(
        "there are ", actual.size(), " outputs instead of ", expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto* wanted = std::get_if<TensorView>(&expected[i].value);
    const auto* given = std::get_if<TensorView>(&actual[i].value);
    if ((wanted == nullptr) != (given == nullptr))
      return absl::FailedPreconditionError(absl::StrCat(
          "output ", i, " is ", given == nullptr ? "no" : "a", " tensor"));
    if (wanted == nullptr) continue;
    if (wanted->dtype != given->dtype)
      return absl::FailedPreconditionError(
          absl::StrCat("output ", i, " is ", std::string(Name(given->dtype)),
                       " instead of ", std::string(Name(wanted->dtype))));
    if (wanted->sizes != given->sizes)
      return absl::FailedPreconditionError(absl::StrCat(
          "output ", i, " has the sizes [", absl::StrJoin(given->sizes, ", "),
          "] instead of [", absl::StrJoin(wanted->sizes, ", "), "]"));
  }
  return absl::OkStatus();
}

Contest::Contest(TuneRequest request) : request_(std::move(request)) {
  entrants_.resize(1 + request_.backends.size());
  entrants_[0].backend = std::move(request_.eager);
  entrants_[0].report.is_eager = true;
  for (size_t i = 0; i < request_.backends.size(); ++i)
    entrants_[1 + i].backend = std::move(request_.backends[i]);
  for (Entrant& entrant : entrants_) {
    if (entrant.backend == nullptr) continue;
    entrant.report.description = entrant.backend->Describe();
    entrant.report.key = entrant.backend->Key();
  }
}

absl::Status Contest::Build(int number) {
  Entrant& entrant = entrants_[number];
  if (absl::Status limit = CheckCallLimit(); !limit.ok()) {
    Drop(number, "was not built before the tuning ended");
    return limit;
  }
  BuildRequest request = request_.build;
  if (!request.cache_dir.empty()) request.cache_dir /= entrant.backend->Key();
  const absl::Status status =
      OnSavedState({}, [&] { return entrant.backend->Build(request); });
  entrant.built = entrant.in_race = status.ok();
  if (status.ok()) {
    entrant.report.notes = entrant.backend->Notes();
  } else {
    Drop(number, absl::StrCat("can't be built: ", status.ToString()));
  }
  return status;
}

absl::Status Contest::BuildEager() {
  if (entrants_[0].backend == nullptr)
    return absl::InvalidArgumentError(
        "this strategy compares with eager: set TuneRequest::eager to a "
        "backend "
        "that runs the model in eager");
  return Build(0);
}

absl::StatusOr<std::function<absl::Status()>> Contest::SaveState(
    absl::Span<const RegionValue> inputs) const {
  if (request_.build.model == nullptr) return std::function<absl::Status()>();
  return request_.build.model->SaveState(inputs);
}

absl::Status Contest::OnSavedState(
    absl::Span<const RegionValue> inputs,
    const std::function<absl::Status()>& body) const {
  AITUNE_ASSIGN_OR_RETURN(const std::function<absl::Status()> restore,
                          SaveState(inputs));
  absl::Status status = body();
  if (restore) status.Update(restore());
  return status;
}

absl::Status Contest::CheckSample(Backend& backend, size_t number) {
  const Sample& sample = request_.build.samples[number];
  if (request_.check) return request_.check(backend, sample);
  const std::vector<RegionValue> inputs = Values(sample);
  if (expected_.size() == number) {
    AITUNE_RETURN_IF_ERROR(OnSavedState(inputs, [&] {
      absl::StatusOr<std::vector<OwnedValue>> outputs =
          request_.build.model->Infer(inputs);
      if (outputs.ok()) expected_.push_back(*std::move(outputs));
      return outputs.status();
    }));
  }
  return OnSavedState(inputs, [&]() -> absl::Status {
    AITUNE_ASSIGN_OR_RETURN(const std::vector<OwnedValue> actual,
                            backend.Infer(inputs));
    return CheckOutputTypes(expected_[number], actual);
  });
}

absl::Status Contest::Check(int number) {
  for (size_t i = 0; i < request_.build.samples.size(); ++i) {
    Backend& backend = *entrants_[number].backend;
    absl::Status status = CheckCallLimit();
    if (status.ok()) status = CheckSample(backend, i);
    entrants_[number].report.notes = backend.Notes();
    if (status.ok()) continue;
    status = WithPrefix(absl::StrCat("sample ", i, ": "), status);
    Drop(number, absl::StrCat("differs from eager: ", status.ToString()));
    return status;
  }
  return absl::OkStatus();
}

std::vector<int64_t> Contest::Batches() const {
  if (!request_.build.graph_spec.has_batch_axis() && !request_.make_batch)
    return {1};
  if (!request_.batches.empty()) return request_.batches;
  const GraphSpec& spec = request_.build.graph_spec;
  std::vector<int64_t> batches;
  for (int64_t batch = 1; batch < spec.max_batch; batch *= 2) {
    if (batch >= spec.min_batch) batches.push_back(batch);
  }
  if (spec.min_batch < spec.max_batch &&
      (batches.empty() || batches.front() != spec.min_batch))
    batches.insert(batches.begin(), spec.min_batch);
  batches.push_back(spec.max_batch);
  return batches;
}

absl::StatusOr<Sample> Contest::MakeBatch(int64_t batch) const {
  if (request_.make_batch) return request_.make_batch(batch);
  if (request_.build.samples.empty())
    return absl::InvalidArgumentError(
        "there is no sample to time backends with: record one, or set "
        "TuneRequest::make_batch");
  const Sample& sample = request_.build.samples[0];
  if (!request_.build.graph_spec.has_batch_axis()) return sample;
  return RepeatToBatch(sample, request_.build.graph_spec, batch);
}

absl::Status Contest::Time(const std::vector<int>& entrants,
                           const std::vector<int64_t>& batches) {
  absl::Status raised;  // the error of the last batch that the model refuses
  bool any_is_timed = false;
  for (int64_t batch : batches) {
    AITUNE_RETURN_IF_ERROR(CheckCallLimit());
    AITUNE_ASSIGN_OR_RETURN(const Sample sample, MakeBatch(batch));
    const std::vector<RegionValue> inputs = Values(sample);
    std::vector<int> racing;
    std::vector<std::function<absl::Status()>> runs;
    for (int number : entrants) {
      if (!InRace(number)) continue;
      racing.push_back(number);
      runs.push_back([&, backend = entrants_[number].backend.get()] {
        return backend->Infer(inputs).status();
      });
    }
    // Each call starts from the same state and the same inputs: a cache fills
    // up otherwise, whether it is the model's or an input.
    TimingOptions timing = request_.timing;
    AITUNE_ASSIGN_OR_RETURN(timing.before_call, SaveState(inputs));
    const auto summaries = TimeInterleaved(runs, timing);
    if (timing.before_call) AITUNE_RETURN_IF_ERROR(timing.before_call());
    if (!racing.empty() && racing[0] == 0 &&
        absl::IsInvalidArgument(summaries[0].status())) {
      raised = WithPrefix(absl::StrCat("at batch ", batch, ": "),
                          summaries[0].status());
      entrants_[0].report.notes.push_back(
          absl::StrCat("the model raises and is not timed ", raised.message()));
      continue;
    }
    for (size_t i = 0; i < racing.size(); ++i) {
      if (summaries[i].ok()) {
        entrants_[racing[i]].report.timings.push_back({batch, *summaries[i]});
        continue;
      }
      const absl::Status status = WithPrefix(
          absl::StrCat("at batch ", batch, ": "), summaries[i].status());
      Drop(racing[i], absl::StrCat("fails: ", status.ToString()));
      if (racing[i] == 0) return status;
    }
    any_is_timed = true;
  }
  return any_is_timed ? absl::OkStatus() : raised;
}

void Contest::Drop(int number, std::string reason) {
  Entrant& entrant = entrants_[number];
  entrant.in_race = false;
  entrant.report.reason = std::move(reason);
  if (!entrant.built) return;
  entrant.built = false;
  const absl::Status status = entrant.backend->Deactivate();
  if (!status.ok())
    Log(LogChannel::kWarning,
        absl::StrCat(entrant.report.description,
                     " could not be deactivated: ", status.ToString()));
}

TuneResult Contest::Choose(int chosen, const std::string& others_reason) {
  TuneResult result;
  for (int i = 0; i < size(); ++i) {
    if (i != chosen && InRace(i)) Drop(i, others_reason);
  }
  entrants_[chosen].report.chosen = true;
  result.backend = std::move(entrants_[chosen].backend);
  for (Entrant& entrant : entrants_) {
    if (!entrant.report.key.empty())
      result.backends.push_back(std::move(entrant.report));
  }
  return result;
}

}  // namespace aitune
