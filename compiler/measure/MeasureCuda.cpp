#include "compiler/measure/MeasureCuda.h"

#include <algorithm>

#include "compiler/measure/CudaBench.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

/// The number of launches in one timed graph, and the microseconds that the
/// graph should take at least.
constexpr int kLaunches = 16;
constexpr double kGraphMicroseconds = 150;
/// The microseconds that fewer launches suffice for: a library's algorithm that
/// is hopeless takes 50 ms, and half of a build were 16 launches of such.
constexpr double kLongGraphMicroseconds = 2000;
constexpr int kFewestRounds = 5, kMostRounds = 100;

struct Timed {
  size_t candidate;
  int launches;
  cuda::Graph graph;
  std::vector<double> times;
};

} // namespace

absl::StatusOr<std::vector<Measurement>> measureCudaCandidates(
    const cuda::Device &device,
    const std::vector<std::unique_ptr<cuda::CudaExecutable>> &candidates,
    const std::set<int> &weights, double seconds, KernelJudge *judge) {
  std::vector<Measurement> results(candidates.size());
  auto first = std::find_if(candidates.begin(), candidates.end(),
                            [](const auto &c) { return c != nullptr; });
  if (first == candidates.end())
    return results;
  CudaBench bench(device, (*first)->plan(), weights, judge);
  AITUNE_RETURN_IF_ERROR(bench.prepare());
  AITUNE_RETURN_IF_ERROR(bench.judgeAll(candidates, results));
  if (bench.isLost())
    return results;
  std::vector<Timed> timed;
  double best = -1;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i] || !results[i].note.empty())
      continue;
    auto prepare = [&]() -> absl::Status {
      AITUNE_RETURN_IF_ERROR(bench.check(*candidates[i], results[i]));
      if (results[i].isWrong)
        return absl::OkStatus();
      AITUNE_ASSIGN_OR_RETURN(const double once,
                              bench.timeOnce(*candidates[i]));
      const int launches = std::clamp(
          static_cast<int>(kLongGraphMicroseconds / std::max(once, 1.0)), 1,
          kLaunches);
      AITUNE_ASSIGN_OR_RETURN(cuda::Graph graph,
                              bench.record(*candidates[i], launches));
      // The first launch also moves the graph to the GPU.
      AITUNE_RETURN_IF_ERROR(bench.time(graph).status());
      AITUNE_ASSIGN_OR_RETURN(const double microseconds, bench.time(graph));
      const double one = microseconds / launches;
      best = best < 0 ? one : std::min(best, one);
      Timed entry{i, launches, std::move(graph), {one}};
      if (one <= 2 * best &&
          (microseconds < kGraphMicroseconds || bench.copies() > kLaunches)) {
        const int wanted =
            static_cast<int>(kGraphMicroseconds / std::max(one, 0.5)) + 1;
        entry.launches = std::max({kLaunches, wanted, bench.copies()});
        AITUNE_ASSIGN_OR_RETURN(entry.graph,
                                bench.record(*candidates[i], entry.launches));
        AITUNE_RETURN_IF_ERROR(bench.time(entry.graph).status());
        entry.times.clear();
      }
      timed.push_back(std::move(entry));
      return absl::OkStatus();
    };
    if (const absl::Status status = prepare(); !status.ok())
      bench.note(status, results[i]);
    if (bench.isLost())
      return results;
  }
  double roundMicroseconds = 0;
  for (const Timed &entry : timed)
    if (entry.times.empty() || entry.times.back() <= 1.5 * best)
      roundMicroseconds += std::max(best, 1.0) * entry.launches;
  const int rounds = std::clamp(
      static_cast<int>(seconds * 1e6 / std::max(roundMicroseconds, 1.0)),
      kFewestRounds, kMostRounds);
  for (int round = 0; round < rounds; ++round)
    for (Timed &entry : timed) {
      Measurement &result = results[entry.candidate];
      // Far behind: its exact time is of no interest.
      if (!result.note.empty() ||
          (!entry.times.empty() && entry.times.back() > 1.5 * best))
        continue;
      const absl::StatusOr<double> microseconds = bench.time(entry.graph);
      if (!microseconds.ok()) {
        bench.note(microseconds.status(), result);
        if (bench.isLost())
          return results;
        continue;
      }
      entry.times.push_back(*microseconds / entry.launches);
      best = std::min(best, entry.times.back());
    }
  for (Timed &entry : timed) {
    if (!results[entry.candidate].note.empty())
      continue;
    std::sort(entry.times.begin(), entry.times.end());
    Measurement &result = results[entry.candidate];
    result.microseconds = entry.times[entry.times.size() / 2];
    result.low = entry.times.front();
    result.high = entry.times.back();
  }
  return results;
}

} // namespace aitune
