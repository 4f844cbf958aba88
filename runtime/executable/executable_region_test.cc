// What LibTorch runs between a model's kernels.
#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/control/call_limit.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/test_plan.h"

namespace aitune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void AddOne(void* const* buffers, const int64_t*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float*>(buffers[1])[i] =
        static_cast<const float*>(buffers[0])[i] + 1;
}

std::unique_ptr<Executable> Load(
    const TestPlan& t, std::vector<std::unique_ptr<FallbackRegion>> regions) {
  auto loaded = CpuExecutable::Load(
      t.plan,
      std::make_shared<FakeKernels>(
          std::map<std::string, KernelFunction>{{"add_one", AddOne}}),
      {}, std::move(regions));
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? *std::move(loaded) : nullptr;
}

// Doubles a tensor and passes on a number; or the other way round.
class Region : public FallbackRegion {
 public:
  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t> symbols,
                   absl::Span<RegionValue> outputs) const override {
    if (auto* tensor = std::get_if<TensorView>(&inputs[0])) {
      float sum = 0;
      for (int64_t i = 0; i < symbols[0]; ++i) {
        sum += static_cast<const float*>(tensor->data)[i];
      }
      if (sum < 0) return absl::InternalError("aten::nothing: below zero");
      if (!std::holds_alternative<OpaqueValue>(outputs[0]) ||
          std::get<OpaqueValue>(outputs[0]) != nullptr) {
        return absl::InternalError("the output should be empty");
      }
      outputs[0] = OpaqueValue(std::make_shared<float>(sum));
    } else {
      const auto& sum = std::get<OpaqueValue>(inputs[0]);
      *static_cast<float*>(std::get<TensorView>(outputs[0]).data) =
          *static_cast<const float*>(sum.get());
    }
    return absl::OkStatus();
  }
};

TEST(ExecutableRegionTest, OpaqueValuesPassThroughFallbackRegions) {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 8, 0, 0);
  const int x = t.Input({s0});
  const int opaque = t.Opaque();
  const int y = t.Output({1});
  const int sum = t.Arena({1});
  t.Fallback(0, {x}, {opaque});
  t.Fallback(0, {opaque}, {sum});
  t.Kernel("add_one", {sum}, {y}, 1);
  t.plan.add_outputs();
  t.plan.add_output_values(y);
  t.plan.add_output_values(opaque);
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  regions.push_back(std::make_unique<Region>());
  auto executable = Load(t, std::move(regions));

  std::vector<float> data = {1, 2, 3}, result(1);
  const TensorView input = View(data, {3});
  EXPECT_TRUE((*executable->OutputSizes({input}))[1].empty());
  for (int round = 0; round < 2; ++round) {
    std::vector<RegionValue> outputs = {View(result, {1}), OpaqueValue()};
    ASSERT_EQ(executable->Run({input}, absl::MakeSpan(outputs)),
              absl::OkStatus());
    EXPECT_EQ(result[0], 7);
    const auto& value = std::get<OpaqueValue>(outputs[1]);
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(*static_cast<const float*>(value.get()), 6);
    EXPECT_EQ(value.use_count(), 1) << "the executable keeps nothing";
  }
  data = {-1, -2, -3};
  std::vector<RegionValue> outputs = {View(result, {1}), OpaqueValue()};
  EXPECT_EQ(executable->Run({input}, absl::MakeSpan(outputs)).message(),
            "aten::nothing: below zero");
  outputs[1] = View(result, {1});
  EXPECT_THAT(
      std::string(executable->Run({input}, absl::MakeSpan(outputs)).message()),
      HasSubstr("output 1 is opaque"));
}

// Cancels the call that runs it.
class CancellingRegion : public FallbackRegion {
 public:
  explicit CancellingRegion(CallLimit& limit) : limit_(limit) {}
  absl::Status Run(absl::Span<const RegionValue>, absl::Span<const int64_t>,
                   absl::Span<RegionValue> outputs) const override {
    *static_cast<float*>(std::get<TensorView>(outputs[0]).data) = 5;
    limit_.Cancel();
    return absl::OkStatus();
  }

 private:
  CallLimit& limit_;
};

TEST(ExecutableRegionTest, ACallEndsAtTheStepAfterItsLimit) {
  TestPlan t;
  const int x = t.Input({1});
  const int y = t.Output({1}), z = t.Output({1});
  t.Fallback(0, {x}, {y});
  t.Kernel("add_one", {y}, {z}, 1);
  for (int value : {y, z}) t.plan.add_output_values(value);
  CallLimit limit;
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  regions.push_back(std::make_unique<CancellingRegion>(limit));
  auto executable = Load(t, std::move(regions));
  std::vector<float> data = {1}, first(1), second(1, -7.f);
  std::vector<RegionValue> outputs = {View(first, {1}), View(second, {1})};
  const TensorView input = View(data, {1});
  const auto run = [&] {
    return executable->Run({input}, absl::MakeSpan(outputs));
  };
  {
    const ScopedCallLimit scope(&limit);
    EXPECT_TRUE(absl::IsCancelled(run()));
    EXPECT_EQ(first[0], 5) << "the step under way goes on to its end";
    EXPECT_EQ(second[0], -7) << "the next one is not begun";
    first[0] = 0;
    EXPECT_TRUE(absl::IsCancelled(run()));
    EXPECT_EQ(first[0], 0);
    const ScopedCallLimit none(nullptr);
    EXPECT_TRUE(run().ok());
    EXPECT_EQ(second[0], 6);
  }
  EXPECT_TRUE(run().ok());
  const CallLimit past(std::chrono::steady_clock::now());
  const ScopedCallLimit scope(&past);
  EXPECT_TRUE(absl::IsDeadlineExceeded(run()));
}

// Gives its input doubled, in memory of its own where that is asked for.
class GivingRegion : public FallbackRegion {
 public:
  bool OwnsOutput(int) const override { return true; }
  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t>,
                   absl::Span<RegionValue> outputs) const override {
    const auto& x = std::get<TensorView>(inputs[0]);
    auto doubled = std::make_shared<std::vector<float>>(ElementCount(x.sizes));
    for (size_t i = 0; i < doubled->size(); ++i)
      (*doubled)[i] = 2 * static_cast<const float*>(x.data)[i];
    if (const auto* y = std::get_if<TensorView>(&outputs[0]))
      std::copy(doubled->begin(), doubled->end(), static_cast<float*>(y->data));
    else
      outputs[0] = OpaqueValue(std::move(doubled));
    return absl::OkStatus();
  }
};

TEST(ExecutableRegionTest, ARegionGivesOutputsThatNothingElseReads) {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(0, 8, 0, 0);
  const int x = t.Input({s0});
  const int given = t.Output({s0}), read = t.Output({s0}), y = t.Output({s0});
  t.Fallback(0, {x}, {given});
  t.Fallback(0, {x}, {read});
  t.Kernel("add_one", {read}, {y}, s0);
  for (int value : {given, read, y}) t.plan.add_output_values(value);
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  regions.push_back(std::make_unique<GivingRegion>());
  auto executable = Load(t, std::move(regions));
  EXPECT_TRUE(executable->GivesOutput(0));
  EXPECT_FALSE(executable->GivesOutput(1)) << "a kernel reads it";
  EXPECT_FALSE(executable->GivesOutput(2)) << "a kernel writes it";

  std::vector<float> data = {1, 2, 3}, own(3), b(3), c(3);
  for (int64_t size : {3, 0, 2}) {
    const TensorView input = View(data, {size});
    std::vector<RegionValue> outputs = {OpaqueValue(), View(b, {size}),
                                        View(c, {size})};
    ASSERT_EQ(executable->Run({input}, absl::MakeSpan(outputs)),
              absl::OkStatus());
    const auto& value = std::get<OpaqueValue>(outputs[0]);
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(value.use_count(), 1) << "the executable keeps nothing";
    EXPECT_EQ(static_cast<const std::vector<float>*>(value.get())->size(),
              static_cast<size_t>(size));
    // Memory of the caller is filled as well, with the same sizes.
    outputs[0] = View(own, {size});
    ASSERT_EQ(executable->Run({input}, absl::MakeSpan(outputs)),
              absl::OkStatus());
  }
  EXPECT_THAT(own, ElementsAre(2, 4, 6));
  EXPECT_THAT(c, ElementsAre(3, 5, 7));
  std::vector<RegionValue> outputs = {OpaqueValue(), OpaqueValue(),
                                      View(c, {3})};
  EXPECT_THAT(
      std::string(executable->Run({View(data, {3})}, absl::MakeSpan(outputs))
                      .message()),
      HasSubstr("output 1 is a tensor: give it memory"));
}

// Takes one value and gives one.
class CountedRegion : public GivingRegion {
 public:
  absl::Status CheckCounts(size_t inputs, size_t outputs) const override {
    return inputs == 1 && outputs == 1 ? absl::OkStatus()
                                       : absl::InvalidArgumentError("counts");
  }
};

TEST(ExecutableRegionTest, AStepHasTheValuesOfItsRegion) {
  for (const int count : {1, 2}) {
    TestPlan t;
    const int x = t.Input({4});
    std::vector<int> outputs;
    for (int i = 0; i < count; ++i) outputs.push_back(t.Output({4}));
    t.Fallback(0, {x}, outputs);
    std::vector<std::unique_ptr<FallbackRegion>> regions;
    regions.push_back(std::make_unique<CountedRegion>());
    const absl::Status status =
        CpuExecutable::Load(t.plan, nullptr, {}, std::move(regions)).status();
    EXPECT_EQ(status, count == 1 ? absl::OkStatus()
                                 : absl::InvalidArgumentError("counts"));
  }
}

// Records how many threads LibTorch may use for it.
class CountingRegion : public FallbackRegion {
 public:
  explicit CountingRegion(std::vector<int>* threads) : threads_(threads) {}
  absl::Status Run(absl::Span<const RegionValue>, absl::Span<const int64_t>,
                   absl::Span<RegionValue>) const override {
    threads_->push_back(ThreadCount());
    return absl::OkStatus();
  }

 private:
  std::vector<int>* const threads_;
};

TEST(ExecutableRegionTest, RegionsGetFewerThreadsOnCrowdedCores) {
  TestPlan t;
  const int x = t.Input({4});
  const int y = t.Output({4});
  t.Fallback(0, {x}, {y});
  std::vector<int> threads;
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  regions.push_back(std::make_unique<CountingRegion>(&threads));
  auto executable = Load(t, std::move(regions));
  std::vector<float> data(4), result(4);
  auto run = [&] {
    std::vector<RegionValue> outputs = {View(result, {4})};
    EXPECT_EQ(executable->Run({View(data, {4})}, absl::MakeSpan(outputs)),
              absl::OkStatus());
  };
  std::thread([&] {
    const ScopedThreadCount scope(4);
    run();
    // Its first thread waits for others that have no core.
    ParallelFor(2, 1, [](int64_t, int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    });
    run();
    EXPECT_EQ(ThreadCount(), 4);
  }).join();
  EXPECT_THAT(threads, ElementsAre(4, 2));
}

}  // namespace
}  // namespace aitune
