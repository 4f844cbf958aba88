// What LibTorch runs between the kernels of a GPU: when it is recorded in the
// graph, and with which memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/testing/cuda_executable_fixture.h"
#include "runtime/logging/logging.h"

namespace aitune::cuda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Twice, then a region of LibTorch's that adds one.
ExecutablePlan TwiceAndOne(const char* one = "mylib::add_one") {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(1, 1 << 20, 0, 0);
  const int x = plan.Input({n}), t = plan.Arena({n}), y = plan.Output({n});
  CudaKernelLaunch* launch = plan.AddStep({x}, {t})->mutable_cuda_kernel();
  launch->set_symbol("twice");
  *launch->mutable_grid_x() = ToProto(n);
  launch->set_block_x(32);
  FallbackCall* call = plan.AddStep({t}, {y})->mutable_fallback();
  call->set_operator_(one);
  call->set_reason("not imported");
  plan.plan.add_output_values(y);
  plan.plan.set_device("cuda");
  return plan.plan;
}

struct AddOne : FallbackRegion {
  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t>,
                   absl::Span<RegionValue> outputs) const override {
    if (gpu.recording) {
      if (!recordable) return absl::InternalError("it waits for the GPU");
      if (gpu.recordings_now.back().is_lost)
        return absl::InternalError("a made-up recording was disturbed");
      ++gpu.recorded;
      return absl::OkStatus();
    }
    const auto& from = std::get<TensorView>(inputs[0]);
    const auto& to = std::get<TensorView>(outputs[0]);
    for (int64_t i = 0; i < to.sizes[0]; ++i)
      static_cast<float*>(to.data)[i] = static_cast<float*>(from.data)[i] + 1;
    return absl::OkStatus();
  }
  int64_t BytesOnDevice() const override { return 1000; }
  explicit AddOne(bool recordable) : recordable(recordable) {}
  const bool recordable;
};

struct FakeRecorder : RegionRecorder {
  absl::StatusOr<std::shared_ptr<const Stream>> LendStream() override {
    absl::StatusOr<Stream> made = Stream::Create(FakeDevice());
    if (!made.ok()) return made.status();
    streams.push_back(std::make_shared<const Stream>(*std::move(made)));
    return streams.back();
  }
  absl::StatusOr<std::shared_ptr<void>> NewPool() override {
    pools.push_back(std::make_shared<int>());
    return pools.back();
  }
  absl::Status Within(CUstream stream, const std::shared_ptr<void>& pool,
                      absl::FunctionRef<absl::Status()> body) override {
    ++(pool == nullptr ? warm_ups : recordings);
    (pool == nullptr ? warmed_up : recorded).push_back(stream);
    return body();
  }
  std::vector<std::shared_ptr<const Stream>> streams;
  std::vector<CUstream> warmed_up, recorded;
  std::vector<std::shared_ptr<void>> pools;
  int warm_ups = 0, recordings = 0;
};

class RegionTest : public CudaExecutableTest {
 protected:
  void LoadRegion(bool recordable, bool with_recorder = true,
                  const char* operators = "mylib::add_one") {
    CudaExecutable::Options options;
    if (with_recorder) options.recorder = recorder_;
    std::vector<std::unique_ptr<FallbackRegion>> regions;
    regions.push_back(std::make_unique<AddOne>(recordable));
    auto loaded =
        CudaExecutable::Load(FakeDevice(), TwiceAndOne(operators), {"cubin"},
                             {}, std::move(regions), options);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    executable_ = *std::move(loaded);
  }
  std::shared_ptr<FakeRecorder> recorder_ = std::make_shared<FakeRecorder>();
};

// LibTorch's kernels need not wait, nor those of a library.
TEST_F(RegionTest, DoesNotStartBeforeTheKernelBeforeItEnds) {
  LoadRegion(/*recordable=*/true);
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_THAT(twice.next_waits, ElementsAre(0));
}

TEST_F(RegionTest, IsRecordedWithMemoryOfItsOwnAfterAWarmUp) {
  LoadRegion(/*recordable=*/true);
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_THAT(y_, ElementsAre(3, 5, 7));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_EQ(executable_->GraphReason(), "");
  EXPECT_EQ(recorder_->warm_ups, 1);
  EXPECT_EQ(recorder_->recordings, 1);
  EXPECT_EQ(gpu.recorded, 2);
  // The second run was the one before the recording.
  EXPECT_EQ(gpu.graph_launches, 2);
  // The graph needs the memory for as long as it is there.
  ASSERT_EQ(recorder_->pools.size(), 1u);
  EXPECT_EQ(recorder_->pools[0].use_count(), 2);
  executable_.reset();
  EXPECT_EQ(recorder_->pools[0].use_count(), 1);
}

TEST_F(RegionTest, ThatCannotBeRecordedRunsWithoutAGraphAndSaysWhy) {
  LoadRegion(/*recordable=*/false);
  std::vector<std::string> hints;
  SetEnabled(LogChannel::kPerfHints, true);
  SetLogSink(
      [&](LogChannel, std::string_view text) { hints.emplace_back(text); });
  for (int i = 0; i < 3; ++i) {
    y_.clear();
    ASSERT_TRUE(Run(x_, y_).ok());
    EXPECT_THAT(y_, ElementsAre(3, 5, 7));
  }
  SetLogSink(nullptr);
  SetEnabled(LogChannel::kPerfHints, false);
  EXPECT_THAT(hints, ElementsAre(HasSubstr("it waits for the GPU")));
  EXPECT_THAT(executable_->GraphReason(),
              AllOf(HasSubstr("skipping CUDA graphs"),
                    HasSubstr("it waits for the GPU")));
  // Of which nothing is copied.
  EXPECT_EQ(executable_->GraphReason().data(),
            executable_->GraphReason().data());
  EXPECT_EQ(recorder_->recordings, 1);
  EXPECT_EQ(gpu.graph_launches, 0);
}

TEST_F(RegionTest, OfASolverIsNeverTried) {
  for (const char* operators :
       {"aten::linalg_eigvalsh", "aten::topk, aten::_linalg_solve_ex.result"}) {
    LoadRegion(/*recordable=*/true, /*with_recorder=*/true, operators);
    for (int i = 0; i < 3; ++i) {
      y_.clear();
      ASSERT_TRUE(Run(x_, y_).ok());
      EXPECT_THAT(y_, ElementsAre(3, 5, 7));
    }
    EXPECT_THAT(executable_->GraphReason(), HasSubstr("cuSOLVER"));
    EXPECT_EQ(recorder_->recordings, 0);
  }
}

// LibTorch's scratch is one for all work of a stream.
TEST_F(RegionTest, GraphsThatMayRunAtOnceAreRecordedOnStreamsOfTheirOwn) {
  LoadRegion(/*recordable=*/true);
  std::vector<float> other_x = x_, other_y(3), more_y(3);
  y_.resize(3);
  gpu.busy = {StreamOf(0), StreamOf(1)};
  for (int call = 0; call < 2; ++call) {
    for (int stream : {0, 1}) {
      std::vector<RegionValue> outputs{View(stream == 0 ? y_ : other_y, {3})};
      ASSERT_TRUE(executable_
                      ->Run({View(stream == 0 ? x_ : other_x, {3})},
                            absl::MakeSpan(outputs), StreamOf(stream))
                      .ok());
    }
  }
  // Another address in the memory of the first: never at once with it.
  std::vector<RegionValue> outputs{View(more_y, {3})};
  ASSERT_TRUE(
      executable_->Run({View(x_, {3})}, absl::MakeSpan(outputs), StreamOf(0))
          .ok());
  ASSERT_EQ(recorder_->streams.size(), 2u);
  const CUstream first = recorder_->streams[0]->get(),
                 second = recorder_->streams[1]->get();
  EXPECT_NE(first, second);
  EXPECT_THAT(recorder_->recorded, ElementsAre(first, second, first));
  EXPECT_EQ(recorder_->warmed_up, recorder_->recorded);
  // As long as the graphs.
  EXPECT_EQ(recorder_->streams[0].use_count(), 2);
  executable_.reset();
  EXPECT_EQ(recorder_->streams[0].use_count(), 1);
  recorder_->streams.clear();
}

// As by another thread that waits for the whole GPU.
TEST_F(RegionTest, ARecordingThatOthersDisturbIsTriedAgain) {
  LoadRegion(/*recordable=*/true);
  ASSERT_TRUE(Run(x_, y_).ok());
  gpu.meanwhile = [] { FakeDevice().driver().cuCtxSynchronize(); };
  for (int call = 0; call < 4; ++call) {
    EXPECT_EQ(gpu.graph_launches, 0);
    y_.clear();
    ASSERT_TRUE(Run(x_, y_).ok());
    EXPECT_THAT(y_, ElementsAre(3, 5, 7));
  }
  EXPECT_EQ(gpu.disturbed, 1);
  EXPECT_EQ(recorder_->recordings, 2);
  EXPECT_EQ(executable_->GraphReason(), "");
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_EQ(gpu.graph_launches, 1);
}

TEST_F(RegionTest, WhatItHasOnTheGpuIsCounted) {
  LoadRegion(/*recordable=*/true);
  EXPECT_EQ(executable_->Memory().weights, 1000);
}

TEST_F(RegionTest, WithoutARecorderRunsWithoutAGraph) {
  LoadRegion(/*recordable=*/true, /*with_recorder=*/false);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_THAT(executable_->GraphReason(),
              AllOf(HasSubstr("mylib::add_one"), HasSubstr("not imported")));
  EXPECT_EQ(gpu.graph_launches, 0);
}

// Adds one, also in the replays of a graph.
struct AddOneInGraphs : FallbackRegion {
  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t>,
                   absl::Span<RegionValue> outputs) const override {
    ++runs;
    const auto* from =
        static_cast<const float*>(std::get<TensorView>(inputs[0]).data);
    const auto& view = std::get<TensorView>(outputs[0]);
    auto* to = static_cast<float*>(view.data);
    const auto work = [from, to, count = view.sizes[0]] {
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] + 1;
    };
    if (gpu.recording)
      gpu.recordings_now.back().work.push_back(work);
    else
      work();
    return absl::OkStatus();
  }
  mutable int runs = 0;
};

// A model of which nothing is compiled.
TEST_F(RegionTest, ARegionAloneIsAGraphForEachSetOfSizes) {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(1, 1 << 20, 0, 0);
  const int x = plan.Input({n}), y = plan.Output({n});
  FallbackCall* call = plan.AddStep({x}, {y})->mutable_fallback();
  call->set_operator_("mylib::add_one");
  call->set_reason("nothing is to be compiled");
  plan.plan.add_output_values(y);
  plan.plan.set_device("cuda");
  CudaExecutable::Options options;
  options.recorder = recorder_;
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  auto region = std::make_unique<AddOneInGraphs>();
  const AddOneInGraphs& add_one = *region;
  regions.push_back(std::move(region));
  auto loaded = CudaExecutable::Load(FakeDevice(), plan.plan, {}, {},
                                     std::move(regions), options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  executable_ = *std::move(loaded);
  std::vector<float> small = {1, 2, 3}, large = {4, 5, 6, 7, 8};
  std::vector<float> of_small(3), of_large(5);
  for (int i = 0; i < 4; ++i) {
    small[0] = large[0] = static_cast<float>(i);
    ASSERT_TRUE(Run(small, of_small).ok());
    EXPECT_THAT(of_small, ElementsAre(i + 1, 3, 4));
    ASSERT_TRUE(Run(large, of_large).ok());
    EXPECT_THAT(of_large, ElementsAre(i + 1, 6, 7, 8, 9));
  }
  EXPECT_EQ(executable_->GraphReason(), "");
  // Of each: a call, the one before the recording, and the recording.
  EXPECT_EQ(add_one.runs, 6);
  EXPECT_EQ(recorder_->recordings, 2);
  EXPECT_EQ(gpu.graph_launches, 4);
}

// Twice what a region lends, which counts its runs in the first element.
ExecutablePlan TwiceLent() {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(1, 1 << 20, 0, 0);
  const int x = plan.Input({n}), t = plan.Arena({n}), y = plan.Output({n});
  FallbackCall* call = plan.AddStep({x}, {t})->mutable_fallback();
  call->set_operator_("aitune::read_state");
  call->set_reason("it is the model's own tensor");
  CudaKernelLaunch* launch = plan.AddStep({t}, {y})->mutable_cuda_kernel();
  launch->set_symbol("twice");
  *launch->mutable_grid_x() = ToProto(n);
  launch->set_block_x(32);
  plan.plan.add_output_values(y);
  plan.plan.set_device("cuda");
  return plan.plan;
}

struct Lend : FallbackRegion {
  Lend(std::vector<float>* lent, bool recordable)
      : lent(lent), recordable(recordable) {}
  bool LendsOutput(int) const override { return true; }
  absl::Status Run(absl::Span<const RegionValue>, absl::Span<const int64_t>,
                   absl::Span<RegionValue> outputs) const override {
    auto& output = std::get<TensorView>(outputs[0]);
    EXPECT_EQ(output.data, nullptr);
    output.data = lent->data();
    if (gpu.recording) {
      if (!recordable) return absl::InternalError("it waits for the GPU");
      ++gpu.recorded;
      return absl::OkStatus();
    }
    ++(*lent)[0];
    return absl::OkStatus();
  }
  std::vector<float>* const lent;
  const bool recordable;
};

struct CountingGate : RunGate {
  absl::Status Enter(CUstream) override {
    EXPECT_FALSE(inside);
    inside = true;
    ++runs;
    return error;
  }
  void Leave(CUstream) override { inside = false; }
  bool inside = false;
  int runs = 0;
  absl::Status error;
};

class LendingTest : public RegionTest {
 protected:
  void LoadLending(bool recordable) {
    LoadRegion(std::make_unique<Lend>(&lent_, recordable), gate_);
  }
  void LoadRegion(std::unique_ptr<FallbackRegion> region,
                  std::shared_ptr<RunGate> gate = nullptr) {
    CudaExecutable::Options options;
    options.recorder = recorder_;
    options.gate = std::move(gate);
    std::vector<std::unique_ptr<FallbackRegion>> regions;
    regions.push_back(std::move(region));
    auto loaded = CudaExecutable::Load(FakeDevice(), TwiceLent(), {"cubin"}, {},
                                       std::move(regions), options);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    executable_ = *std::move(loaded);
  }
  std::vector<float> lent_ = {0, 10, 20};
  const std::shared_ptr<CountingGate> gate_ = std::make_shared<CountingGate>();
};

// A region may change what it lends: it is run once a call, also where the call
// is tried before it is recorded, and where that fails.
TEST_F(LendingTest, KernelsReadWhatIsLentAfterOneRunOfTheRegion) {
  for (const bool recordable : {true, false}) {
    lent_[0] = 0;
    gate_->runs = 0;
    LoadLending(recordable);
    for (int call = 1; call <= 2; ++call) {
      y_.clear();
      ASSERT_TRUE(Run(x_, y_).ok());
      EXPECT_EQ(lent_[0], call) << recordable;
      EXPECT_THAT(y_, ElementsAre(2.f * call, 20, 40)) << recordable;
      EXPECT_FALSE(gate_->inside);
    }
    EXPECT_EQ(gate_->runs, 2);
    EXPECT_EQ(executable_->GraphReason().empty(), recordable);
  }
}

// Adds one to the first element of its input, and lends that.
struct WriteInput : FallbackRegion {
  bool LendsOutput(int) const override { return true; }
  bool WritesInput(int) const override { return true; }
  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t>,
                   absl::Span<RegionValue> outputs) const override {
    auto* const written =
        static_cast<float*>(std::get<TensorView>(inputs[0]).data);
    std::get<TensorView>(outputs[0]).data = written;
    if (gpu.recording)
      ++gpu.recorded;
    else
      ++*written;
    return absl::OkStatus();
  }
};

// Also where so many callers' addresses were seen that there is no graph on
// these, but one on staging buffers.
TEST_F(LendingTest, WhatARegionWritesIsTheCallers) {
  LoadRegion(std::make_unique<WriteInput>());
  std::vector<std::vector<float>> callers(6, {3, 4, 5});
  for (std::vector<float>& x : callers) {
    y_.clear();
    ASSERT_TRUE(Run(x, y_).ok());
    EXPECT_THAT(x, ElementsAre(4, 4, 5));
    EXPECT_THAT(y_, ElementsAre(8, 8, 10));
  }
  EXPECT_EQ(executable_->GraphReason(), "");
  // The first ran without a graph, and the last is the first that is staged.
  EXPECT_EQ(recorder_->recordings, 5);
}

// Kernels read it in aligned memory, to which it is copied. (The made-up graph
// of a third call would not run the region.)
TEST_F(LendingTest, WhatARegionWritesIsTheCallersWhereItIsNotAligned) {
  LoadRegion(std::make_unique<WriteInput>());
  std::vector<float> x = {-1, 3, 4, 5};
  y_.assign(3, 0);
  std::vector<RegionValue> outputs{View(y_, {3})};
  for (int call = 1; call <= 2; ++call) {
    ASSERT_TRUE(executable_
                    ->Run({TensorView{x.data() + 1, DataType::kFloat32, {3}}},
                          absl::MakeSpan(outputs), nullptr)
                    .ok());
    EXPECT_THAT(x, ElementsAre(-1, 3 + call, 4, 5));
    EXPECT_THAT(y_, ElementsAre(2 * (3 + call), 8, 10));
  }
  EXPECT_FALSE(twice.is_misaligned);
}

TEST_F(LendingTest, TheGatesErrorEndsTheRun) {
  LoadLending(/*recordable=*/true);
  gate_->error = absl::ResourceExhaustedError("no room for the state");
  EXPECT_TRUE(absl::IsResourceExhausted(Run(x_, y_)));
  EXPECT_EQ(lent_[0], 0);
}

}  // namespace
}  // namespace aitune::cuda
