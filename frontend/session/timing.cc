#include "frontend/session/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace aitune::frontend {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

absl::StatusOr<double> HostTime(const std::function<absl::Status()>& run) {
  const Clock::time_point begin = Clock::now();
  absl::Status status = run();
  if (!status.ok()) return status;
  return Milliseconds(Clock::now() - begin);
}

absl::Status Named(const std::string& name, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(name, ": ", status.message()));
}

}  // namespace

TimingSummary Summarize(std::vector<double> milliseconds) {
  TimingSummary summary;
  const int n = static_cast<int>(milliseconds.size());
  if (n == 0) return summary;
  std::sort(milliseconds.begin(), milliseconds.end());
  summary.rounds = n;
  summary.median = n % 2 == 1
                       ? milliseconds[n / 2]
                       : 0.5 * (milliseconds[n / 2 - 1] + milliseconds[n / 2]);
  summary.p99 =
      milliseconds[std::min(n - 1, static_cast<int>(std::ceil(0.99 * n)) - 1)];
  summary.mean =
      std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / n;
  summary.minimum = milliseconds.front();
  // The rank of the median is binomial(n, 1/2): mean n / 2, deviation
  // sqrt(n) / 2.
  const double half_width = 1.96 * std::sqrt(n) / 2;
  const int low = static_cast<int>(std::floor(n / 2.0 - half_width));
  const int high = static_cast<int>(std::ceil(n / 2.0 + half_width));
  summary.median_low = milliseconds[std::clamp(low, 0, n - 1)];
  summary.median_high = milliseconds[std::clamp(high, 0, n - 1)];
  return summary;
}

absl::StatusOr<std::vector<TimingSummary>> MeasureInterleaved(
    const std::vector<TimedCandidate>& candidates,
    const TimingOptions& options) {
  for (const TimedCandidate& candidate : candidates) {
    for (int i = 0; i < options.warmup; ++i) {
      if (absl::Status status = candidate.run(); !status.ok())
        return Named(candidate.name, status);
    }
  }
  std::vector<std::vector<double>> times(candidates.size());
  const Clock::time_point start = Clock::now();
  for (int round = 0; round < options.max_rounds; ++round) {
    const double elapsed = Milliseconds(Clock::now() - start) / 1e3;
    if (elapsed > 4 * options.seconds && round > 0) break;
    if (elapsed > options.seconds && round >= options.min_rounds) break;
    for (size_t i = 0; i < candidates.size(); ++i) {
      absl::StatusOr<double> time = options.clock
                                        ? options.clock(candidates[i].run)
                                        : HostTime(candidates[i].run);
      if (!time.ok()) return Named(candidates[i].name, time.status());
      times[i].push_back(*time);
    }
  }
  std::vector<TimingSummary> summaries;
  summaries.reserve(times.size());
  for (std::vector<double>& samples : times)
    summaries.push_back(Summarize(std::move(samples)));
  return summaries;
}

}  // namespace aitune::frontend
