#include "runtime/strategy/strategy.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/control/call_limit.h"
#include "runtime/status/status_macros.h"
#include "runtime/strategy/contest.h"

namespace aitune {
namespace {

// FirstWins asks for this much.
constexpr double kWorthwhileSpeedup = 1.01;

class OneBackendStrategy : public Strategy {
 public:
  std::string name() const override { return "OneBackend"; }

  absl::StatusOr<TuneResult> Tune(TuneRequest request) const override {
    if (request.backends.size() != 1)
      return absl::InvalidArgumentError(absl::StrCat(
          "OneBackend takes one backend, not ", request.backends.size()));
    request.eager = nullptr;
    Contest contest(std::move(request));
    AITUNE_RETURN_IF_ERROR(contest.Build(1));
    AITUNE_RETURN_IF_ERROR(contest.Check(1));
    return contest.Choose(1, "");
  }
};

class FirstWinsStrategy : public Strategy {
 public:
  std::string name() const override { return "FirstWins"; }

  absl::StatusOr<TuneResult> Tune(TuneRequest request) const override {
    Contest contest(std::move(request));
    AITUNE_RETURN_IF_ERROR(contest.BuildEager());
    const std::vector<int64_t> batches = {contest.Batches().front()};
    for (int i = 1; i < contest.size(); ++i) {
      if (!contest.Build(i).ok() || !contest.Check(i).ok()) continue;
      AITUNE_RETURN_IF_ERROR(contest.Time({0, i}, batches));
      if (!contest.InRace(i)) continue;
      // Eager's latest time is of the same rounds.
      const double speedup = contest.timings(0).back().latency.median /
                             contest.timings(i).back().latency.median;
      if (speedup >= kWorthwhileSpeedup)
        return contest.Choose(i, "a backend is faster by 1 % or more");
      contest.Drop(i, absl::StrFormat("is %.3f times as fast as eager, not "
                                      "%.2f times or more",
                                      speedup, kWorthwhileSpeedup));
    }
    AITUNE_RETURN_IF_ERROR(CheckCallLimit());
    return contest.Choose(0, "");
  }
};

// What counts of a backend's timings: a value with bounds, more is better. All
// values of a strategy have one sign: latencies are negative.
struct Score {
  double value, low, high;
};

// So many times as good is no tie, wide as the bounds of few calls are: one
// slow call of five is their end.
constexpr double kClearly = 1.5;

// Whether what comes later, `score`, is no better than `best` as far as can be
// told.
bool IsTie(const Score& score, const Score& best) {
  if (score.low > best.high) return false;
  const double times =
      score.value > 0 ? score.value / best.value : best.value / score.value;
  return !(times >= kClearly);
}

// The strategies that time all backends against each other.
class RaceStrategy : public Strategy {
 public:
  absl::StatusOr<TuneResult> Tune(TuneRequest request) const override {
    Contest contest(std::move(request));
    AITUNE_RETURN_IF_ERROR(contest.BuildEager());
    std::vector<int> entrants = {0};
    for (int i = 1; i < contest.size(); ++i) {
      if (contest.Build(i).ok() && contest.Check(i).ok()) entrants.push_back(i);
    }
    AITUNE_RETURN_IF_ERROR(contest.Time(entrants, BatchesOf(contest)));

    int best = -1;
    std::optional<Score> best_score;
    bool backend_scored = false;
    for (int i : entrants) {
      if (!contest.InRace(i)) continue;
      const std::optional<Score> score = ScoreOf(contest.timings(i));
      if (!score.has_value()) {
        contest.Drop(i, reason_without_score());
        continue;
      }
      backend_scored = backend_scored || i > 0;
      // The earlier one wins a tie; eager is the first.
      if (best_score.has_value() && IsTie(*score, *best_score)) continue;
      best = i;
      best_score = score;
    }
    AITUNE_RETURN_IF_ERROR(CheckCallLimit());
    AITUNE_RETURN_IF_ERROR(CheckOutcome(backend_scored));
    return contest.Choose(best, "another is faster, or as fast and before it");
  }

 protected:
  virtual std::vector<int64_t> BatchesOf(const Contest& contest) const {
    return contest.Batches();
  }
  // Not set when no timing counts.
  virtual std::optional<Score> ScoreOf(
      const std::vector<TimedBatch>& timings) const = 0;
  virtual std::string reason_without_score() const { return ""; }
  // Whether there is a winner at all. `backend_scored`: one that is not eager
  // has a score.
  virtual absl::Status CheckOutcome(bool backend_scored) const {
    return absl::OkStatus();
  }
};

// The best throughput of timings with a p99 of at most `limit`.
std::optional<Score> BestThroughput(const std::vector<TimedBatch>& timings,
                                    double limit) {
  std::optional<Score> best;
  for (const TimedBatch& timing : timings) {
    if (timing.latency.p99 > limit) continue;
    if (best.has_value() && timing.throughput() <= best->value) continue;
    best = Score{timing.throughput(), timing.throughput_low(),
                 timing.throughput_high()};
  }
  return best;
}

class MaxThroughputStrategy : public RaceStrategy {
 public:
  std::string name() const override { return "MaxThroughput"; }

 protected:
  std::optional<Score> ScoreOf(
      const std::vector<TimedBatch>& timings) const override {
    return BestThroughput(timings, std::numeric_limits<double>::infinity());
  }
};

class MinLatencyStrategy : public RaceStrategy {
 public:
  std::string name() const override { return "MinLatency"; }

 protected:
  std::vector<int64_t> BatchesOf(const Contest&) const override { return {1}; }
  std::optional<Score> ScoreOf(
      const std::vector<TimedBatch>& timings) const override {
    const TimingSummary& latency = timings.front().latency;
    return Score{-latency.median, -latency.median_high, -latency.median_low};
  }
};

class LatencyBudgetStrategy : public RaceStrategy {
 public:
  explicit LatencyBudgetStrategy(double milliseconds)
      : milliseconds_(milliseconds) {}

  std::string name() const override { return "LatencyBudget"; }

  absl::StatusOr<TuneResult> Tune(TuneRequest request) const override {
    if (!(milliseconds_ > 0))
      return absl::InvalidArgumentError(absl::StrFormat(
          "a latency budget of %.3f ms can't be kept; it must be positive",
          milliseconds_));
    return RaceStrategy::Tune(std::move(request));
  }

 protected:
  std::optional<Score> ScoreOf(
      const std::vector<TimedBatch>& timings) const override {
    return BestThroughput(timings, milliseconds_);
  }
  std::string reason_without_score() const override {
    return absl::StrFormat("exceeds the budget of %.3f ms at every batch size",
                           milliseconds_);
  }
  absl::Status CheckOutcome(bool backend_scored) const override {
    if (backend_scored) return absl::OkStatus();
    return absl::NotFoundError(absl::StrFormat(
        "No backend satisfied latency budget %.3f ms", milliseconds_));
  }

 private:
  const double milliseconds_;
};

}  // namespace

std::unique_ptr<Strategy> OneBackend() {
  return std::make_unique<OneBackendStrategy>();
}

std::unique_ptr<Strategy> FirstWins() {
  return std::make_unique<FirstWinsStrategy>();
}

std::unique_ptr<Strategy> MaxThroughput() {
  return std::make_unique<MaxThroughputStrategy>();
}

std::unique_ptr<Strategy> MinLatency() {
  return std::make_unique<MinLatencyStrategy>();
}

std::unique_ptr<Strategy> LatencyBudget(double milliseconds) {
  return std::make_unique<LatencyBudgetStrategy>(milliseconds);
}

absl::StatusOr<std::unique_ptr<Strategy>> StrategyByName(std::string_view name,
                                                         double milliseconds) {
  if (name == "OneBackend") return OneBackend();
  if (name == "FirstWins") return FirstWins();
  if (name == "MaxThroughput") return MaxThroughput();
  if (name == "MinLatency") return MinLatency();
  if (name == "LatencyBudget") return LatencyBudget(milliseconds);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no strategy '", std::string(name),
                   "'; there are OneBackend, FirstWins, MaxThroughput, "
                   "MinLatency and LatencyBudget"));
}

}  // namespace aitune
