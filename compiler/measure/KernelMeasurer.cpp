#include "compiler/measure/KernelMeasurer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

/// Seconds for the process to start and read a kernel.
constexpr double kStartSeconds = 30;

absl::Status checkCount(const WorkerReply &reply, size_t asked) {
  if (static_cast<size_t>(reply.results_size()) == asked)
    return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the measuring process gave ",
                                          reply.results_size(), " results for ",
                                          asked, " schedules"));
}

/// Failed, with a note, where what was measured is no time.
Measurement toMeasurement(const WorkerResult &result) {
  const double time = result.microseconds(), low = result.low(),
               high = result.high();
  Measurement measured{time, low, high, result.note()};
  if (!result.note().empty() || (std::isfinite(time) && std::isfinite(high) &&
                                 low >= 0 && low <= time && time <= high))
    return measured;
  return {-1, -1, -1,
          absl::StrCat("the measuring process gave a time of ", time,
                       " us, between ", low, " and ", high)};
}

} // namespace

absl::Status KernelMeasurer::restart() {
  process.reset();
  AITUNE_ASSIGN_OR_RETURN(process, MeasurementProcess::start(command));
  prepared.clear();
  nextNumber = 0;
  WorkerRequest request;
  *request.mutable_kernel() = kernel;
  AITUNE_ASSIGN_OR_RETURN(const WorkerReply reply,
                          process->call(request, kStartSeconds));
  return reply.build() == kernel.build() ? absl::OkStatus()
                                         : ofAnotherBuild(command.front());
}

absl::Status KernelMeasurer::begin(WorkerKernel newKernel,
                                   const KernelSpace &newSpace) {
  kernel = std::move(newKernel);
  space = &newSpace;
  failed.clear();
  if (!process)
    return restart();
  prepared.clear();
  nextNumber = 0;
  WorkerRequest request;
  *request.mutable_kernel() = kernel;
  return process->call(request, kStartSeconds).ok() ? absl::OkStatus()
                                                    : restart();
}

absl::Status KernelMeasurer::prepare(const std::vector<size_t> &schedules) {
  WorkerRequest request;
  for (size_t schedule : schedules)
    request.mutable_prepare()->add_configs(space->schedules[schedule].config);
  AITUNE_ASSIGN_OR_RETURN(
      WorkerReply reply,
      process->call(request, candidateSeconds * double(schedules.size())));
  AITUNE_RETURN_IF_ERROR(checkCount(reply, schedules.size()));
  for (size_t i = 0; i < schedules.size(); ++i) {
    const int number = nextNumber++;
    const std::string &note = reply.results(i).note();
    if (note.empty())
      prepared[schedules[i]] = number;
    else
      failed[schedules[i]] = note;
  }
  return absl::OkStatus();
}

/// After a crash: one at a time, so that the one to blame is known.
absl::Status KernelMeasurer::prepareEach(const std::vector<size_t> &schedules) {
  for (size_t schedule : schedules) {
    absl::Status status = prepare({schedule});
    if (status.ok())
      continue;
    failed[schedule] = std::string(status.message());
    AITUNE_RETURN_IF_ERROR(restart());
    // The schedules prepared before were lost with the process.
    std::vector<size_t> again;
    for (size_t other : schedules)
      if (other < schedule && !failed.count(other))
        again.push_back(other);
    if (again.empty() || prepare(again).ok())
      continue;
    return absl::UnavailableError(
        "the measuring process fails on schedules that it ran before");
  }
  return absl::OkStatus();
}

/// Prepares all of `schedules` that have not failed in the process. Schedules
/// that end the process are recorded as failed.
absl::Status
KernelMeasurer::prepareMissing(absl::Span<const size_t> schedules) {
  std::vector<size_t> missing;
  // The default comes first in a process: others are compared with it.
  if (!prepared.count(0) && !failed.count(0))
    missing.push_back(0);
  for (size_t schedule : schedules)
    if (schedule != 0 && !prepared.count(schedule) && !failed.count(schedule))
      missing.push_back(schedule);
  if (missing.empty() || prepare(missing).ok())
    return absl::OkStatus();
  AITUNE_RETURN_IF_ERROR(restart());
  std::vector<size_t> all{0};
  for (size_t schedule : schedules)
    if (schedule != 0 && !failed.count(schedule))
      all.push_back(schedule);
  std::sort(all.begin(), all.end());
  return prepareEach(all);
}

absl::StatusOr<std::vector<Measurement>>
KernelMeasurer::measure(absl::Span<const size_t> schedules, double seconds) {
  AITUNE_RETURN_IF_ERROR(prepareMissing(schedules));
  WorkerRequest request;
  request.mutable_measure()->set_seconds(seconds);
  std::vector<Measurement> results(schedules.size());
  std::vector<size_t> measured;
  for (size_t i = 0; i < schedules.size(); ++i) {
    if (auto known = failed.find(schedules[i]); known != failed.end()) {
      results[i].note = known->second;
    } else {
      request.mutable_measure()->add_candidates(prepared.at(schedules[i]));
      measured.push_back(i);
    }
  }
  if (measured.empty())
    return results;
  absl::StatusOr<WorkerReply> reply = process->call(
      request, candidateSeconds * double(measured.size()) + 3 * seconds);
  if (reply.ok()) {
    AITUNE_RETURN_IF_ERROR(checkCount(*reply, measured.size()));
    for (size_t i = 0; i < measured.size(); ++i)
      results[measured[i]] = toMeasurement(reply->results(i));
    return results;
  }
  AITUNE_RETURN_IF_ERROR(restart());
  if (measured.size() == 1) {
    results[measured[0]].note = failed[schedules[measured[0]]] =
        std::string(reply.status().message());
    return results;
  }
  // One of several ended the process: one at a time, to know which.
  for (size_t i : measured) {
    AITUNE_ASSIGN_OR_RETURN(
        std::vector<Measurement> alone,
        measure({schedules[i]}, seconds / double(measured.size())));
    results[i] = alone.front();
  }
  return results;
}

} // namespace aitune
