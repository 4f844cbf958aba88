#include "runtime/strategy/strategy.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/fake_backend.h"
#include "runtime/control/call_limit.h"
#include "runtime/logging/logging.h"
#include "runtime/strategy/axis_detection.h"

namespace aitune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Backends take the time that the test says, by a clock of the test.
class StrategyTest : public testing::Test {
 protected:
  StrategyTest() {
    SetLogSink([](LogChannel, std::string_view) {});
    SetUpRequest();
  }
  ~StrategyTest() override { SetLogSink(nullptr); }

  void SetUpRequest() {
    request_ = TuneRequest();
    request_.build = MakeFakeRequest(0);
    const Sample one = {MakeTensor({1, 2}, {1, 2})};
    const Sample four = {MakeTensor({4, 2}, std::vector<float>(8, 1))};
    request_.build.samples = {one, four};
    request_.build.graph_spec = *DetectAxes({{{1, one}, {4, four}}});
    request_.timing.clock = [this](const std::function<absl::Status()>& run)
        -> absl::StatusOr<double> {
      const double begin = clock_;
      if (absl::Status status = run(); !status.ok()) return status;
      return clock_ - begin;
    };
    request_.timing.min_rounds = request_.timing.max_rounds = 20;
    request_.eager = Make("TorchEagerBackend", [](int64_t) { return 10; });
  }

  // A backend that takes milliseconds(batch size) a call.
  std::unique_ptr<Backend> Make(
      const std::string& name,
      std::function<double(int64_t batch)> milliseconds) {
    auto behavior = std::make_shared<FakeBehavior>();
    behavior->infer = [this, milliseconds](absl::Span<const RegionValue> inputs)
        -> absl::StatusOr<std::vector<OwnedValue>> {
      clock_ += milliseconds(std::get<TensorView>(inputs[0]).sizes[0]);
      return FakeModel().Infer(inputs);
    };
    behaviors_[name] = behavior;
    return MakeFakeBackend(name, behavior);
  }
  void Add(const std::string& name,
           std::function<double(int64_t batch)> milliseconds) {
    request_.backends.push_back(Make(name, std::move(milliseconds)));
  }
  void Add(const std::string& name, double milliseconds) {
    Add(name, [milliseconds](int64_t) { return milliseconds; });
  }

  // The winner's name, or the error's text.
  std::string Tune(const Strategy& strategy) {
    absl::StatusOr<TuneResult> result = strategy.Tune(std::move(request_));
    if (!result.ok()) return std::string(result.status().message());
    result_ = *std::move(result);
    EXPECT_TRUE(result_.backend->is_active());
    // Losers are deactivated, whatever became of them.
    for (const auto& [name, behavior] : behaviors_)
      EXPECT_EQ(behavior->holds_memory, name == result_.backend->name())
          << name;
    return result_.backend->name();
  }
  std::string Reason(const std::string& name) {
    for (const BackendReport& report : result_.backends) {
      if (report.description == name + "()") return report.reason;
    }
    return "not in the report";
  }

  double clock_ = 0;
  TuneRequest request_;
  std::map<std::string, std::shared_ptr<FakeBehavior>> behaviors_;
  TuneResult result_;
};

TEST_F(StrategyTest, OneBackendIsBuiltAndChecked) {
  Add("A", 50);
  EXPECT_EQ(Tune(*OneBackend()), "A");
  ASSERT_EQ(result_.backends.size(), 1u);
  EXPECT_TRUE(result_.backends[0].chosen);
}

TEST_F(StrategyTest, OneBackendsFailureIsTheError) {
  Add("A", 1);
  behaviors_["A"]->build = [](BuildContext&) {
    return absl::InternalError("no code");
  };
  EXPECT_EQ(Tune(*OneBackend()), "no code");
}

TEST_F(StrategyTest, OneBackendsWrongResultIsTheError) {
  Add("A", 1);
  behaviors_["A"]->infer = [](absl::Span<const RegionValue>) {
    return std::vector<OwnedValue>();
  };
  EXPECT_EQ(Tune(*OneBackend()), "sample 0: there are 0 outputs instead of 1");
}

TEST_F(StrategyTest, WrongSizesAreNamed) {
  Add("A", 1);
  behaviors_["A"]->infer = [](absl::Span<const RegionValue>) {
    std::vector<OwnedValue> outputs;
    outputs.push_back(MakeTensor({3}, {1, 2, 3}));
    return outputs;
  };
  EXPECT_EQ(Tune(*OneBackend()),
            "sample 0: output 0 has the sizes [3] instead of [1, 2]");
}

TEST_F(StrategyTest, OneBackendTakesOne) {
  EXPECT_EQ(Tune(*OneBackend()), "OneBackend takes one backend, not 0");
}

TEST_F(StrategyTest, FirstWinsTakesTheFirstThatIsFaster) {
  Add("Slow", 11);
  Add("Fast", 8);
  Add("Faster", 1);
  EXPECT_EQ(Tune(*FirstWins()), "Fast");
  EXPECT_EQ(Reason("Slow"),
            "is 0.909 times as fast as eager, not 1.01 times or more");
  EXPECT_EQ(behaviors_["Faster"]->builds, 0) << "nothing is built after";
}

TEST_F(StrategyTest, FirstWinsAsksForOnePercent) {
  Add("A", 9.95);
  Add("B", 9.9);
  EXPECT_EQ(Tune(*FirstWins()), "B");
  EXPECT_THAT(Reason("A"), HasSubstr("1.005 times"));
}

TEST_F(StrategyTest, FirstWinsPassesOverFailuresAndWrongResults) {
  Add("Broken", 1);
  behaviors_["Broken"]->build = [](BuildContext&) {
    return absl::InternalError("no code");
  };
  Add("Wrong", 1);
  behaviors_["Wrong"]->infer = [](absl::Span<const RegionValue> inputs)
      -> absl::StatusOr<std::vector<OwnedValue>> {
    return std::vector<OwnedValue>{MakeTensor({1}, {0})};
  };
  Add("Good", 5);
  EXPECT_EQ(Tune(*FirstWins()), "Good");
  EXPECT_EQ(Reason("Broken"), "can't be built: INTERNAL: no code");
  EXPECT_THAT(Reason("Wrong"), HasSubstr("differs from eager"));
  EXPECT_THAT(Reason("Wrong"),
              HasSubstr("output 0 has the sizes [1] instead of [1, 2]"));
  EXPECT_EQ(behaviors_["Wrong"]->deactivations, 1);
}

TEST_F(StrategyTest, FirstWinsFallsBackToEagerWithTheReasons) {
  Add("A", 10);
  EXPECT_EQ(Tune(*FirstWins()), "TorchEagerBackend");
  EXPECT_THAT(Reason("A"), HasSubstr("1.000 times as fast"));
}

TEST_F(StrategyTest, TheCallersCheckCounts) {
  Add("A", 1);
  Add("B", 2);
  int checks = 0;
  request_.check = [&](const Backend& backend, const Sample& sample) {
    EXPECT_TRUE(backend.Infer(Values(sample)).ok());
    return ++checks == 2 ? absl::DataLossError("NaN") : absl::OkStatus();
  };
  EXPECT_EQ(Tune(*FirstWins()), "B");
  EXPECT_EQ(Reason("A"), "differs from eager: DATA_LOSS: sample 1: NaN");
  EXPECT_EQ(checks, 4);
}

TEST_F(StrategyTest, EagersOutputsAreMadeOnce) {
  Add("A", 1);
  Add("B", 2);
  const auto model = request_.build.model;
  Tune(*MinLatency());
  EXPECT_EQ(static_cast<FakeModel&>(*model).calls, 2);
}

// Counts its calls and those of backends, which must all see the state of the
// beginning.
class CountingModel : public FakeModel {
 public:
  absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) override {
    Count();
    return FakeModel::Infer(inputs);
  }
  absl::StatusOr<std::function<absl::Status()>> SaveState(
      absl::Span<const RegionValue>) override {
    return std::function<absl::Status()>([this, saved = count] {
      count = saved;
      return absl::OkStatus();
    });
  }
  void Count() { most = std::max(most, ++count); }

  int count = 0, most = 0;
};

TEST_F(StrategyTest, EveryCallStartsFromTheSameState) {
  const TimingOptions timing = request_.timing;
  for (const auto& strategy : {FirstWins(), MinLatency(), MaxThroughput()}) {
    auto model = std::make_shared<CountingModel>();
    request_.timing = timing;
    request_.build = MakeFakeRequest(2);
    request_.build.model = model;
    request_.eager = Make("TorchEagerBackend", [&](int64_t) {
      model->Count();
      return 10;
    });
    request_.backends.clear();
    Add("Fast", [&](int64_t) {
      model->Count();
      return 1;
    });
    behaviors_["Fast"]->build = [&](BuildContext& context) {
      return context.CallSample(0).status();
    };
    EXPECT_EQ(Tune(*strategy), "Fast");
    EXPECT_EQ(model->count, 0) << strategy->name();
    EXPECT_EQ(model->most, 1) << strategy->name();
  }
}

// Calls of it and of backends increment the first element of the input, as a
// step of decoding does with its position.
class WritingModel : public FakeModel {
 public:
  absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) override {
    Write(inputs);
    return FakeModel::Infer(inputs);
  }
  absl::StatusOr<std::function<absl::Status()>> SaveState(
      absl::Span<const RegionValue> inputs) override {
    if (inputs.empty()) return std::function<absl::Status()>();
    return std::function<absl::Status()>(
        [place = Place(inputs), saved = *Place(inputs)] {
          *place = saved;
          return absl::OkStatus();
        });
  }
  void Write(absl::Span<const RegionValue> inputs) {
    most = std::max(most, ++*Place(inputs));
  }
  static float* Place(absl::Span<const RegionValue> inputs) {
    return static_cast<float*>(std::get<TensorView>(inputs[0]).data);
  }

  float most = 0;
};

TEST_F(StrategyTest, EveryCallStartsFromTheSameInputs) {
  for (const auto& strategy : {FirstWins(), MinLatency(), MaxThroughput()}) {
    SetUpRequest();
    auto model = std::make_shared<WritingModel>();
    request_.build.model = model;
    const std::vector<Sample> samples = request_.build.samples;
    const auto write = [&](const std::string& name) {
      behaviors_[name]->infer = [model, infer = behaviors_[name]->infer](
                                    absl::Span<const RegionValue> inputs) {
        model->Write(inputs);
        return infer(inputs);
      };
    };
    write("TorchEagerBackend");
    Add("Fast", 1);
    write("Fast");
    behaviors_["Fast"]->build = [&](BuildContext& context) {
      return context.CallSample(0).status();
    };
    EXPECT_EQ(Tune(*strategy), "Fast");
    EXPECT_EQ(model->most, 2) << strategy->name();
    for (const Sample& sample : samples)
      EXPECT_EQ(*WritingModel::Place(Values(sample)), 1) << strategy->name();
  }
}

TEST_F(StrategyTest, EachBackendHasAFolderOfItsOwn) {
  request_.build.cache_dir = "/cache";
  Add("A", 1);
  std::string folder;
  behaviors_["A"]->build = [&](BuildContext& context) {
    folder = context.cache_dir();
    return absl::OkStatus();
  };
  const std::string key = request_.backends[0]->Key();
  Tune(*OneBackend());
  EXPECT_EQ(folder, "/cache/" + key);
}

TEST_F(StrategyTest, TimesNoBatchBelowTheLeast) {
  Add("Backend", 1);
  request_.build.graph_spec.min_batch = 3;
  request_.build.graph_spec.max_batch = 9;
  Tune(*MaxThroughput());
  std::vector<int64_t> batches;
  for (const TimedBatch& timing : result_.backends[0].timings)
    batches.push_back(timing.batch);
  EXPECT_THAT(batches, ElementsAre(3, 4, 8, 9));
}

TEST_F(StrategyTest, MaxThroughputSweepsTheBatchSizes) {
  // Best alone at batch 1; best of all at batch 4; bad.
  Add("Small", [](int64_t batch) { return 2.0 * batch; });
  Add("Large", [](int64_t batch) { return 4.0 + 0.1 * batch; });
  Add("Bad", 100);
  EXPECT_EQ(Tune(*MaxThroughput()), "Large");
  std::vector<int64_t> batches;
  for (const TimedBatch& timing : result_.backends[0].timings)
    batches.push_back(timing.batch);
  EXPECT_THAT(batches, ElementsAre(1, 2, 4));
  EXPECT_NEAR(result_.backends[2].timings[2].throughput(), 4000 / 4.4, 1e-6);
  EXPECT_EQ(Reason("Small"), "another is faster, or as fast and before it");
}

// Of five calls one takes as long as eager's: the end of the bounds.
TEST_F(StrategyTest, OneSlowCallOfFewIsNoTie) {
  for (const auto& strategy : {MinLatency(), MaxThroughput()}) {
    SetUpRequest();
    Add("Faster",
        [calls = 0](int64_t) mutable { return ++calls % 5 == 0 ? 10.0 : 2.5; });
    request_.timing.min_rounds = request_.timing.max_rounds = 5;
    EXPECT_EQ(Tune(*strategy), "Faster");
    EXPECT_EQ(result_.backends[1].timings[0].latency.median_high, 10);
  }
}

// An assertion of the model on its sizes, for example.
TEST_F(StrategyTest, BatchesThatTheModelRefusesAreNotTimed) {
  constexpr int64_t kMost = 2;
  const auto refuses = [&](const std::string& name) {
    auto behavior = std::make_shared<FakeBehavior>();
    behavior->infer = [&](absl::Span<const RegionValue> inputs)
        -> absl::StatusOr<std::vector<OwnedValue>> {
      clock_ += 1;
      if (std::get<TensorView>(inputs[0]).sizes[0] > kMost)
        return absl::InvalidArgumentError("too many");
      return FakeModel().Infer(inputs);
    };
    behaviors_[name] = behavior;
    return MakeFakeBackend(name, behavior);
  };
  request_.build.samples.resize(1);
  request_.eager = refuses("TorchEagerBackend");
  request_.backends.push_back(refuses("Backend"));
  EXPECT_EQ(Tune(*MaxThroughput()), "TorchEagerBackend");
  std::vector<int64_t> batches;
  for (const TimedBatch& timing : result_.backends[0].timings)
    batches.push_back(timing.batch);
  EXPECT_THAT(batches, ElementsAre(1, 2));
  EXPECT_THAT(result_.backends[0].notes,
              ElementsAre(HasSubstr("not timed at batch 4: too many")));
}

TEST_F(StrategyTest, MinLatencyIsForBatchOne) {
  Add("Small", [](int64_t batch) { return 2.0 * batch; });
  Add("Large", [](int64_t batch) { return 4.0 + 0.1 * batch; });
  EXPECT_EQ(Tune(*MinLatency()), "Small");
  EXPECT_EQ(result_.backends[0].timings.size(), 1u);
}

TEST_F(StrategyTest, ATuningThatIsCancelledIsAnError) {
  CallLimit limit;
  const ScopedCallLimit scope(&limit);
  bool second_built = false;
  Add("First", 5);
  behaviors_["First"]->infer = [&](absl::Span<const RegionValue>)
      -> absl::StatusOr<std::vector<OwnedValue>> {
    limit.Cancel();
    return absl::InternalError("wrong");
  };
  Add("Second", 5);
  behaviors_["Second"]->infer = [&](absl::Span<const RegionValue> inputs) {
    second_built = true;
    return FakeModel().Infer(inputs);
  };
  EXPECT_EQ(Tune(*FirstWins()), "the call was cancelled");
  EXPECT_FALSE(second_built);
}

TEST_F(StrategyTest, EagerWinsTies) {
  Add("A", 10);
  Add("B", 10);
  EXPECT_EQ(Tune(*MinLatency()), "TorchEagerBackend");
  EXPECT_FALSE(Reason("A").empty());
}

TEST_F(StrategyTest, TheEarlierBackendWinsTies) {
  Add("A", 9);
  Add("B", 9);
  EXPECT_EQ(Tune(*MaxThroughput()), "A");
}

TEST_F(StrategyTest, ADifferenceWithinTheNoiseIsATie) {
  int call = 0;
  Add("Noisy", [&](int64_t) { return 9.0 + 2.5 * (call++ % 2); });
  EXPECT_EQ(Tune(*MinLatency()), "TorchEagerBackend");
}

TEST_F(StrategyTest, ABackendThatFailsLaterIsPassedOver) {
  Add("Fragile", [](int64_t) { return 1; });
  const auto infer = behaviors_["Fragile"]->infer;
  behaviors_["Fragile"]->infer = [infer](absl::Span<const RegionValue> inputs)
      -> absl::StatusOr<std::vector<OwnedValue>> {
    if (std::get<TensorView>(inputs[0]).sizes[0] == 2)
      return absl::ResourceExhaustedError("memory");
    return infer(inputs);
  };
  Add("Good", 5);
  EXPECT_EQ(Tune(*MaxThroughput()), "Good");
  EXPECT_EQ(Reason("Fragile"), "fails: RESOURCE_EXHAUSTED: at batch 2: memory");
}

TEST_F(StrategyTest, LatencyBudgetTakesTheBestThroughputWithinIt) {
  Add("Small", [](int64_t batch) { return 2.0 * batch; });
  Add("Large", [](int64_t batch) { return 4.0 + 0.1 * batch; });
  EXPECT_EQ(Tune(*LatencyBudget(3)), "Small");
  EXPECT_EQ(Reason("Large"),
            "exceeds the budget of 3.000 ms at every batch size");
  EXPECT_EQ(Reason("TorchEagerBackend"),
            "exceeds the budget of 3.000 ms at every batch size");
}

TEST_F(StrategyTest, LatencyBudgetWithRoomTakesAnother) {
  Add("Small", [](int64_t batch) { return 2.0 * batch; });
  Add("Large", [](int64_t batch) { return 4.0 + 0.1 * batch; });
  EXPECT_EQ(Tune(*LatencyBudget(4.45)), "Large");
}

TEST_F(StrategyTest, NoBackendWithinTheLatencyBudget) {
  Add("A", 20);
  EXPECT_EQ(Tune(*LatencyBudget(5)),
            "No backend satisfied latency budget 5.000 ms");
}

TEST_F(StrategyTest, EagerDoesNotHideThatNoBackendKeepsTheBudget) {
  Add("A", 20);
  EXPECT_EQ(Tune(*LatencyBudget(15)),
            "No backend satisfied latency budget 15.000 ms");
}

TEST_F(StrategyTest, TheBudgetIsForTheSlowCallsToo) {
  int call = 0;
  Add("Jittery", [&](int64_t) { return ++call % 10 == 0 ? 9.0 : 1.0; });
  EXPECT_EQ(Tune(*LatencyBudget(5)),
            "No backend satisfied latency budget 5.000 ms");
}

TEST_F(StrategyTest, ABudgetMustBePositive) {
  Add("A", 1);
  EXPECT_THAT(Tune(*LatencyBudget(0)), HasSubstr("must be positive"));
}

TEST_F(StrategyTest, ComparingNeedsEager) {
  for (auto make : {FirstWins, MaxThroughput, MinLatency}) {
    TuneRequest request;
    request.build = MakeFakeRequest();
    EXPECT_EQ(make()->Tune(std::move(request)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(StrategyTest, WithoutABatchAxisTheSampleIsTakenAsItIs) {
  request_.build.samples.pop_back();
  request_.build.graph_spec = *DetectAxes({{{1, request_.build.samples[0]}}});
  Add("A", 5);
  EXPECT_EQ(Tune(*MaxThroughput()), "A");
  ASSERT_EQ(result_.backends[1].timings.size(), 1u);
  EXPECT_EQ(result_.backends[1].timings[0].batch, 1);
}

TEST_F(StrategyTest, TheCallerMayMakeBatchesAndChooseThem) {
  request_.batches = {3};
  std::vector<int64_t> made;
  request_.make_batch = [&](int64_t batch) -> absl::StatusOr<Sample> {
    made.push_back(batch);
    return Sample{MakeTensor({batch, 2}, std::vector<float>(2 * batch, 1))};
  };
  Add("A", 5);
  EXPECT_EQ(Tune(*MaxThroughput()), "A");
  EXPECT_THAT(made, ElementsAre(3));
}

TEST(StrategyNamesTest, Names) {
  EXPECT_EQ(OneBackend()->name(), "OneBackend");
  EXPECT_EQ(FirstWins()->name(), "FirstWins");
  EXPECT_EQ(MaxThroughput()->name(), "MaxThroughput");
  EXPECT_EQ(MinLatency()->name(), "MinLatency");
  EXPECT_EQ(LatencyBudget(1)->name(), "LatencyBudget");
}

}  // namespace
}  // namespace aitune
