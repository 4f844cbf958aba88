#include "compiler/tune/Search.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/status/status.h"
#include "compiler/support/PluginName.h"
#include "compiler/tune/CostModel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using testing::HasSubstr;

/// A kernel whose schedule i takes times[i]; negative: it crashes.
struct Simulation {
  explicit Simulation(std::vector<double> times) : times(std::move(times)) {
    const size_t count = this->times.size();
    space.form = "simulated";
    for (size_t i = 0; i < count; ++i)
      space.schedules.push_back({std::to_string(i), "", {double(i)}});
    problem.space = &space;
    problem.known.resize(count);
    problem.predictions.assign(count, 1);
    problem.stop = [this] { return seconds >= budget; };
    problem.measure =
        [this](absl::Span<const size_t> schedules,
               double forSeconds) -> absl::StatusOr<std::vector<Measurement>> {
      seconds += forSeconds;
      std::vector<Measurement> results;
      for (size_t schedule : schedules) {
        ++measured[schedule];
        const double time = this->times[schedule];
        Measurement result{time, time - 0.1, time + 0.1, ""};
        if (time < 0)
          result = {-1, -1, -1, "crashed"};
        results.push_back(result);
      }
      return results;
    };
  }

  std::vector<double> times;
  KernelSpace space;
  SearchProblem problem;
  double seconds = 0, budget = 1e9;
  std::map<size_t, int> measured;
};

std::vector<double> valley(size_t count, size_t bottom) {
  std::vector<double> times;
  for (size_t i = 0; i < count; ++i)
    times.push_back(10 + std::abs(double(i) - double(bottom)));
  return times;
}

class Strategies : public testing::TestWithParam<std::string> {};

TEST_P(Strategies, FindTheBestWhenTheyMayTryAll) {
  Simulation simulation(valley(40, 29));
  auto strategy = createSearchStrategy(GetParam());
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  ASSERT_TRUE((*strategy)->search(simulation.problem).ok());
  EXPECT_EQ(chooseSchedule(simulation.problem.known, 0), 29u);
}

TEST_P(Strategies, SkipWhatCrashesAndWhatIsKnown) {
  std::vector<double> times = valley(20, 5);
  times[5] = -1;
  Simulation simulation(times);
  simulation.problem.known[7] = {17, 17, 17, ""};
  simulation.problem.known[8] = {-1, -1, -1, "crashed before"};
  ASSERT_TRUE(
      (*createSearchStrategy(GetParam()))->search(simulation.problem).ok());
  EXPECT_EQ(simulation.measured.count(8), 0u);
  EXPECT_EQ(simulation.measured[5], 1);
  EXPECT_EQ(simulation.times[chooseSchedule(simulation.problem.known, 0)], 11);
}

TEST_P(Strategies, StopWhenTold) {
  Simulation simulation(valley(200, 100));
  simulation.budget = 0;
  ASSERT_TRUE(
      (*createSearchStrategy(GetParam()))->search(simulation.problem).ok());
  EXPECT_TRUE(simulation.measured.empty());
}

INSTANTIATE_TEST_SUITE_P(All, Strategies,
                         testing::Values("successive-halving", "random"));

TEST(SuccessiveHalving, SpendsLessThanMeasuringAllAlike) {
  Simulation simulation(valley(12, 7));
  ASSERT_TRUE(createSuccessiveHalving()->search(simulation.problem).ok());
  EXPECT_GT(simulation.measured[7], simulation.measured[11]);
}

TEST(SuccessiveHalving, TriesHintsFirst) {
  Simulation simulation(valley(100, 90));
  simulation.problem.hints = {90};
  simulation.budget = 0.05;
  ASSERT_TRUE(createSuccessiveHalving()->search(simulation.problem).ok());
  EXPECT_EQ(chooseSchedule(simulation.problem.known, 0), 90u);
}

TEST(ChooseSchedule, ATieGoesToTheIncumbent) {
  std::vector<Measurement> known = {{10, 9.5, 10.5, ""}, {9.8, 9.4, 10.1, ""}};
  EXPECT_EQ(chooseSchedule(known, 0), 0u);
  known[1] = {9, 8.9, 9.1, ""};
  EXPECT_EQ(chooseSchedule(known, 0), 1u);
}

TEST(ChooseSchedule, NothingKnownLeavesTheIncumbent) {
  EXPECT_EQ(chooseSchedule(std::vector<Measurement>(3), 0), 0u);
}

TEST(SearchStrategy, UnknownNamesAreRefusedWithTheKnownOnes) {
  auto strategy = createSearchStrategy("magic");
  ASSERT_FALSE(strategy.ok());
  EXPECT_THAT(std::string(strategy.status().message()), HasSubstr("random"));
}

TEST(SearchStrategy, AFactoryThatGivesNoneIsAnErrorThatNamesThePlugin) {
  {
    const ScopedPlugin plugin("careless");
    ASSERT_TRUE(registerSearchStrategy("none", [] { return nullptr; }));
    ASSERT_TRUE(registerSearchStrategy("empty", nullptr));
  }
  ASSERT_TRUE(registerSearchStrategy("own", [] { return nullptr; }));
  for (const std::string name : {"none", "empty"})
    EXPECT_EQ(createSearchStrategy(name).status(),
              absl::InvalidArgumentError("the search strategy '" + name +
                                         "' of the plug-in 'careless': its "
                                         "factory gave none"));
  EXPECT_EQ(createSearchStrategy("own").status().message(),
            "the search strategy 'own': its factory gave none");
}

TEST(SearchStrategy, AsksForSchedulesThatAreThereAndForTime) {
  const Simulation simulation(valley(3, 1));
  EXPECT_TRUE(checkRequest("random", simulation.space, {0, 2}, 0).ok());
  EXPECT_THAT(
      std::string(
          checkRequest("random", simulation.space, {0, 3}, 1).message()),
      HasSubstr("'random' asks to measure schedule 3 of 3"));
  for (const double seconds : {-1.0, std::nan(""), HUGE_VAL})
    EXPECT_TRUE(absl::IsInvalidArgument(
        checkRequest("random", simulation.space, {0}, seconds)))
        << seconds;
}

/// Predicts what it was made with.
class Predicts : public CostModel {
public:
  explicit Predicts(std::vector<double> times) : times(std::move(times)) {}
  void fit(const std::vector<TuningRecord> &) override {}
  std::vector<double> predict(const KernelSpace &,
                              const KernelWork &) const override {
    return times;
  }

private:
  const std::vector<double> times;
};

TEST(CostModel, PredictionsThatAreNoneAreAnErrorThatNamesIt) {
  {
    const ScopedPlugin plugin("careless");
    ASSERT_TRUE(
        registerCostModel("none", [](const Roofline &) { return nullptr; }));
  }
  EXPECT_EQ(createCostModel("none", Roofline()).status(),
            absl::InvalidArgumentError("the cost model 'none' of the plug-in "
                                       "'careless': its factory gave none"));
  const Simulation simulation(valley(2, 1));
  auto predict = [&](std::vector<double> times) {
    return predictTimes(Predicts(std::move(times)), "none", simulation.space,
                        KernelWork())
        .status();
  };
  EXPECT_TRUE(predict({0, 3.5}).ok());
  EXPECT_EQ(predict({1}).message(),
            "the cost model 'none' of the plug-in 'careless' predicts 1 times "
            "of 2 schedules for a simulated");
  EXPECT_FALSE(predict({1, 2, 3}).ok());
  for (const double time : {-1.0, std::nan(""), HUGE_VAL})
    EXPECT_TRUE(absl::IsInvalidArgument(predict({1, time}))) << time;
}

/// A database may have been imported from anywhere.
TEST(CostModel, RecordsOfAnyNumbersGivePredictions) {
  auto model = createCostModel("roofline", Roofline());
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<TuningRecord> records;
  for (int i = 0; i < 60; ++i) {
    TuningRecord record;
    record.features = {1e200 * (i % 10), double(i)};
    record.flops = 1e8;
    record.bytes = 1e4;
    record.microseconds = i % 2 ? 1e-300 : 1e300;
    records.push_back(record);
  }
  (*model)->fit(records);
  KernelSpace space;
  space.form = "simulated";
  for (double number : {0.0, 1e200})
    space.schedules.push_back({"", "", {number, 1e6}});
  EXPECT_TRUE(
      predictTimes(**model, "roofline", space, KernelWork{1e8, 1e4}).ok());
}

TEST(CostModel, LearnsAnOrderFromRecords) {
  auto model = createCostModel("roofline", Roofline());
  ASSERT_TRUE(model.ok()) << model.status();
  KernelSpace space;
  for (int i = 0; i < 10; ++i)
    space.schedules.push_back({std::to_string(i), "", {double(i)}});
  const KernelWork work{1e8, 1e4};
  std::vector<double> before = (*model)->predict(space, work);
  EXPECT_TRUE(std::is_sorted(before.begin(), before.end()));
  // The larger the feature, the faster.
  std::vector<TuningRecord> records;
  for (int i = 0; i < 60; ++i) {
    TuningRecord record;
    record.features = {double(i % 10)};
    record.flops = work.flops;
    record.bytes = work.bytes;
    record.microseconds = 2000 - 100 * (i % 10);
    records.push_back(record);
  }
  (*model)->fit(records);
  std::vector<double> after = (*model)->predict(space, work);
  EXPECT_LT(after[9], after[0]);
  EXPECT_NEAR(after[9], 1100, 200);
}

// One size of the kernel, as attention has, and one number of the schedule:
// small numbers are best for small kernels, large ones for large kernels.
TEST(CostModel, LearnsWhichScheduleIsBestForWhichSize) {
  auto model = createCostModel("roofline", Roofline());
  ASSERT_TRUE(model.ok()) << model.status();
  const KernelWork work{1e8, 1e4};
  std::vector<TuningRecord> records;
  for (double size : {1.0, 8.0})
    for (int i = 0; i < 10; ++i) {
      TuningRecord record;
      record.kernel = std::to_string(size);
      record.features = {size, double(i)};
      record.flops = work.flops;
      record.bytes = work.bytes;
      record.microseconds = 2000 + (size == 1 ? 100 : -100) * (i - 4.5);
      records.push_back(record);
    }
  (*model)->fit(records);
  for (double size : {1.0, 8.0}) {
    KernelSpace space;
    for (double number : {0.0, 9.0})
      space.schedules.push_back({"", "", {size, number}});
    const std::vector<double> times = (*model)->predict(space, work);
    EXPECT_EQ(times[0] < times[1], size == 1) << size;
  }
}

} // namespace
} // namespace aitune
