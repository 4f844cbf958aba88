#include "compiler/tune/Search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/support/PluginName.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

/// Schedules that a round of successive halving starts with.
constexpr size_t kRungSize = 8;
/// Seconds that the first rung takes for each schedule.
constexpr double kFirstRungSeconds = 0.02;
/// Schedules that random search measures at once, beside the default.
constexpr size_t kRandomBatch = 6;

bool isOpen(const Measurement &known) {
  return known.microseconds < 0 && known.note.empty();
}

bool isMeasured(const Measurement &known) { return known.microseconds >= 0; }

/// The fastest measured schedule, or the default.
size_t fastest(const std::vector<Measurement> &known) {
  size_t best = 0;
  for (size_t i = 1; i < known.size(); ++i)
    if (isMeasured(known[i]) &&
        (!isMeasured(known[best]) ||
         known[i].microseconds < known[best].microseconds))
      best = i;
  return best;
}

absl::Status measureAndKeep(SearchProblem &problem,
                            const std::vector<size_t> &schedules,
                            double seconds) {
  AITUNE_ASSIGN_OR_RETURN(std::vector<Measurement> results,
                          problem.measure(schedules, seconds));
  for (size_t i = 0; i < schedules.size(); ++i)
    problem.known[schedules[i]] = results[i];
  return absl::OkStatus();
}

class SuccessiveHalving : public SearchStrategy {
public:
  absl::Status search(SearchProblem &problem) override {
    while (!problem.stop()) {
      std::vector<size_t> rung = nextRung(problem);
      if (rung.empty())
        return absl::OkStatus();
      // The default and the best so far take part: times of different minutes
      // are not compared.
      for (size_t standard : {fastest(problem.known), size_t{0}})
        if (std::find(rung.begin(), rung.end(), standard) == rung.end() &&
            problem.known[standard].note.empty())
          rung.push_back(standard);
      double seconds = kFirstRungSeconds;
      while (rung.size() > 1 && !problem.stop()) {
        AITUNE_RETURN_IF_ERROR(
            measureAndKeep(problem, rung, seconds * double(rung.size())));
        rung.erase(std::remove_if(rung.begin(), rung.end(),
                                  [&](size_t schedule) {
                                    return !isMeasured(problem.known[schedule]);
                                  }),
                   rung.end());
        std::sort(rung.begin(), rung.end(), [&](size_t a, size_t b) {
          return problem.known[a].microseconds < problem.known[b].microseconds;
        });
        // The last two stay: the winner and the one it is compared with.
        if (rung.size() <= 2)
          break;
        rung.resize(std::max<size_t>(2, rung.size() / 2));
        seconds *= 2;
      }
    }
    return absl::OkStatus();
  }

private:
  static std::vector<size_t> nextRung(const SearchProblem &problem) {
    std::vector<size_t> open;
    for (size_t i = 0; i < problem.known.size(); ++i)
      if (isOpen(problem.known[i]))
        open.push_back(i);
    auto isHint = [&](size_t i) {
      return std::find(problem.hints.begin(), problem.hints.end(), i) !=
             problem.hints.end();
    };
    std::sort(open.begin(), open.end(), [&](size_t a, size_t b) {
      if (isHint(a) != isHint(b))
        return isHint(a);
      if (problem.predictions[a] != problem.predictions[b])
        return problem.predictions[a] < problem.predictions[b];
      return a < b;
    });
    open.resize(std::min(open.size(), kRungSize));
    return open;
  }
};

class RandomSearch : public SearchStrategy {
public:
  explicit RandomSearch(unsigned seed) : generator(seed) {}

  absl::Status search(SearchProblem &problem) override {
    std::vector<size_t> order(problem.known.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), generator);
    std::vector<size_t> batch;
    for (size_t schedule : order) {
      if (schedule != 0 && isOpen(problem.known[schedule]))
        batch.push_back(schedule);
      if (batch.size() < kRandomBatch && schedule != order.back())
        continue;
      if (batch.empty() || problem.stop())
        break;
      if (problem.known[0].note.empty())
        batch.push_back(0);
      AITUNE_RETURN_IF_ERROR(measureAndKeep(
          problem, batch, 2 * kFirstRungSeconds * double(batch.size())));
      batch.clear();
    }
    return absl::OkStatus();
  }

private:
  std::mt19937 generator;
};

struct Registered {
  StrategyFactory factory;
  std::string plugin; ///< ofPlugin
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Registered> factories = {
      {"successive-halving", {[] { return createSuccessiveHalving(); }, ""}},
      {"random", {[] { return createRandomSearch(0); }, ""}}};
};

Registry &registry() {
  static Registry instance;
  return instance;
}

} // namespace

std::unique_ptr<SearchStrategy> createSuccessiveHalving() {
  return std::make_unique<SuccessiveHalving>();
}

std::unique_ptr<SearchStrategy> createRandomSearch(unsigned seed) {
  return std::make_unique<RandomSearch>(seed);
}

bool registerSearchStrategy(const std::string &name, StrategyFactory factory) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return registry()
      .factories.emplace(name, Registered{std::move(factory), ofPlugin()})
      .second;
}

absl::StatusOr<std::unique_ptr<SearchStrategy>>
createSearchStrategy(const std::string &name) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto &factories = registry().factories;
  if (auto found = factories.find(name); found != factories.end()) {
    const Registered &one = found->second;
    std::unique_ptr<SearchStrategy> strategy;
    const std::string thrown =
        whatIsThrown([&] { strategy = one.factory ? one.factory() : nullptr; });
    if (!strategy)
      return absl::InvalidArgumentError(absl::StrCat(
          "the search strategy '", name, "'", one.plugin,
          ": its factory gave none", thrown.empty() ? "" : ": ", thrown));
    return strategy;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no search strategy '", name, "'; there are: ",
      absl::StrJoin(factories, ", ", [](std::string *out, const auto &entry) {
        absl::StrAppend(out, entry.first);
      })));
}

/// The error of the strategy of this name.
static absl::Status refuseStrategy(const std::string &name,
                                   const std::string &what) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = registry().factories.find(name);
  return absl::InvalidArgumentError(absl::StrCat(
      "the search strategy '", name, "'",
      found == registry().factories.end() ? "" : found->second.plugin, what));
}

absl::Status searchWith(const std::string &name, SearchStrategy &strategy,
                        SearchProblem &problem) {
  absl::Status searched;
  const std::string thrown =
      whatIsThrown([&] { searched = strategy.search(problem); });
  return thrown.empty() ? searched : refuseStrategy(name, ": " + thrown);
}

absl::Status checkRequest(const std::string &name, const KernelSpace &space,
                          absl::Span<const size_t> schedules, double seconds) {
  auto refuse = [&](const std::string &what) {
    return refuseStrategy(name, " asks to measure " + what);
  };
  for (size_t schedule : schedules)
    if (schedule >= space.schedules.size())
      return refuse(
          absl::StrCat("schedule ", schedule, " of ", space.schedules.size()));
  if (!std::isfinite(seconds) || seconds < 0)
    return refuse(absl::StrCat("for ", seconds, " s"));
  return absl::OkStatus();
}

size_t chooseSchedule(const std::vector<Measurement> &known, size_t incumbent) {
  const size_t best = fastest(known);
  if (best == incumbent || !isMeasured(known[incumbent]))
    return best;
  return known[best].high < known[incumbent].low ? best : incumbent;
}

} // namespace aitune
