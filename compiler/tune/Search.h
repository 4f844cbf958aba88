// How the schedules of one kernel are searched within a budget of time.
//
// A strategy decides which schedules are measured and how long; it sees
// predictions and measurements, not code. Adding one: derive from
// SearchStrategy and register it under a name, from a plug-in
// for instance (compiler/plugin/Plugin.h).
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

/// What the search of one kernel works with.
struct SearchProblem {
  const KernelSpace *space = nullptr;
  /// Microseconds, by schedule.
  std::vector<double> predictions;
  /// Schedules worth trying before others: neighbours' best ones.
  std::vector<size_t> hints;
  /// What is known already, by schedule: a median that is not negative, or a
  /// note that says why the schedule is out. Those are not measured again.
  std::vector<Measurement> known;
  /// Measures schedules against each other, in turn, for about `seconds`
  /// (generating them comes on top). One result a schedule, in order. An error
  /// ends the search.
  std::function<absl::StatusOr<std::vector<Measurement>>(
      absl::Span<const size_t> schedules, double seconds)>
      measure;
  /// Whether to stop: the budget is spent, or the user has had enough.
  std::function<bool()> stop;
};

class SearchStrategy {
public:
  virtual ~SearchStrategy() = default;
  /// Measures until the space is exhausted, the problem says stop, or more
  /// would not help. Results go through problem.measure, whose caller keeps
  /// them.
  virtual absl::Status search(SearchProblem &problem) = 0;
};

/// Measures the most promising schedules briefly, keeps the faster half,
/// measures that for twice as long, and so on (Jamieson and Talwalkar, 2016).
/// Starts again with the next most promising while the budget lasts.
std::unique_ptr<SearchStrategy> createSuccessiveHalving();

/// Takes schedules in random order, all alike: the control that another
/// strategy must beat.
std::unique_ptr<SearchStrategy> createRandomSearch(unsigned seed);

using StrategyFactory = std::function<std::unique_ptr<SearchStrategy>()>;

/// Makes a strategy known by `name`; false if there is one already.
/// Thread-safe.
bool registerSearchStrategy(const std::string &name, StrategyFactory factory);

/// "successive-halving", "random", or a registered one; kInvalidArgument lists
/// the names that there are. Thread-safe.
absl::StatusOr<std::unique_ptr<SearchStrategy>>
createSearchStrategy(const std::string &name);

/// The schedule to use: the fastest, unless its confidence interval overlaps
/// that of `incumbent`, which then stays. `known` as SearchProblem's.
size_t chooseSchedule(const std::vector<Measurement> &known, size_t incumbent);

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_SEARCH_H
