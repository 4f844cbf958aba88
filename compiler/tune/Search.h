// Strategies that search the schedules of one kernel within a budget of time.
//
// A strategy decides which schedules are measured and for how long; it sees
// predictions and measurements, not code. To add one, derive from
// SearchStrategy and register it under a name, in a plug-in for example
// (compiler/plugin/Plugin.h).
#ifndef AITUNE_COMPILER_TUNE_SEARCH_H
#define AITUNE_COMPILER_TUNE_SEARCH_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/measure/Measure.h"
#include "compiler/schedule/Schedule.h"

namespace aitune {

/// The search of one kernel. Schedules are numbered by their position in the
/// space.
struct SearchProblem {
  const KernelSpace *space = nullptr; ///< owned by the caller
  /// The predicted microseconds of each schedule.
  std::vector<double> predictions;
  /// Schedules to try first: the best ones of similar kernels.
  std::vector<size_t> hints;
  /// The measurement of each schedule that is known already: it has a median
  /// that is not negative, or a note that says why the schedule cannot be used.
  /// These schedules are not measured again.
  std::vector<Measurement> known;
  /// Measures schedules against each other, in turn, for about `seconds`;
  /// generating them takes additional time. Returns one result for each, in
  /// order, and keeps them: what a strategy writes to `known` and `predictions`
  /// itself is not looked at. An error ends the search.
  std::function<absl::StatusOr<std::vector<Measurement>>(
      absl::Span<const size_t> schedules, double seconds)>
      measure;
  /// Whether to stop, because the budget is spent or the user interrupted.
  std::function<bool()> stop;
};

class SearchStrategy {
public:
  virtual ~SearchStrategy() = default;
  /// Calls problem.measure until all schedules are measured, problem.stop
  /// returns true, or more measurements would not help. problem.measure keeps
  /// the results. Returns its error.
  virtual absl::Status search(SearchProblem &problem) = 0;
};

/// Measures the most promising schedules briefly, keeps the faster half,
/// measures that for twice as long, and so on (Jamieson and Talwalkar, 2016).
/// Starts again with the next most promising while the budget lasts.
std::unique_ptr<SearchStrategy> createSuccessiveHalving();

/// Measures schedules in random order, each equally long: the baseline that
/// another strategy must beat.
std::unique_ptr<SearchStrategy> createRandomSearch(unsigned seed);

using StrategyFactory = std::function<std::unique_ptr<SearchStrategy>()>;

/// Registers a strategy under `name`; false if the name is taken. A factory
/// that gives null is an error of createSearchStrategy. Thread-safe.
bool registerSearchStrategy(const std::string &name, StrategyFactory factory);

/// The strategy with this name: "successive-halving", "random", or a registered
/// one. The error, kInvalidArgument, lists the names, or names the strategy's
/// plug-in. Thread-safe.
absl::StatusOr<std::unique_ptr<SearchStrategy>>
createSearchStrategy(const std::string &name);

/// Searches with `strategy`, which has this name. Its error, or
/// kInvalidArgument, which names its plug-in, if it throws an exception.
absl::Status searchWith(const std::string &name, SearchStrategy &strategy,
                        SearchProblem &problem);

/// Whether the strategy of this name may ask to measure `schedules` of `space`
/// for so many seconds. kInvalidArgument, which names its plug-in, for a
/// schedule that is not there, or seconds that are negative or not finite.
/// Thread-safe.
absl::Status checkRequest(const std::string &name, const KernelSpace &space,
                          absl::Span<const size_t> schedules, double seconds);

/// The schedule to use: the fastest, or `incumbent` if the confidence intervals
/// of both overlap. `known` is SearchProblem::known.
size_t chooseSchedule(const std::vector<Measurement> &known, size_t incumbent);

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_SEARCH_H
