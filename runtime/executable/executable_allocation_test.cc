// The hot path allocates nothing: counted by the counter of operator new.
#include <chrono>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/executable/allocation_counter.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/test_plan.h"

namespace aitune {
namespace {

class NoRegion : public FallbackRegion {
 public:
  absl::Status Run(absl::Span<const RegionValue>, absl::Span<const int64_t>,
                   absl::Span<RegionValue>) const override {
    return absl::OkStatus();
  }
};

TEST(ExecutableAllocationTest, NoneAfterTheFirstCallWithTheSizes) {
  if (!CountsAllocations())
    GTEST_SKIP() << "allocations cannot be counted under a sanitizer";
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 100, 0, 0);
  const int x = t.Input({s0, 64});
  int at = x;
  for (int i = 0; i < 10; ++i) {
    const int next = t.Arena({s0, 64});
    t.Kernel("nothing", {at}, {next}, s0 * 64);
    at = t.Alias(next, {s0 * 64});
  }
  const int region = t.Arena({s0, 64}), y = t.Output({s0, 64});
  t.Fallback(0, {at}, {region});
  t.Kernel("nothing", {region}, {y}, s0 * 64);
  // A copied output as well.
  *t.plan.add_outputs() = TestPlan::Type({s0, 64});
  t.plan.add_output_values(y);
  t.plan.add_output_values(x);
  auto kernels =
      std::make_shared<FakeKernels>(std::map<std::string, KernelFunction>{
          {"nothing", [](void* const*, const int64_t*, int64_t, int64_t) {}}});
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  regions.push_back(std::make_unique<NoRegion>());
  auto executable =
      *CpuExecutable::Load(t.plan, kernels, {}, std::move(regions));

  std::vector<float> data(100 * 64), out(100 * 64);
  std::vector<std::vector<TensorView>> inputs;
  std::vector<std::vector<RegionValue>> outputs;
  for (int64_t rows : {7, 100, 13}) {
    inputs.push_back({View(data, {rows, 64})});
    outputs.push_back({View(out, {rows, 64}), View(out, {rows, 64})});
  }
  auto run = [&](size_t i) {
    return executable->Run(inputs[i], absl::MakeSpan(outputs[i])).ok();
  };
  const int64_t before_first = Allocations();
  for (size_t i = 0; i < inputs.size(); ++i) ASSERT_TRUE(run(i));
  ASSERT_GT(Allocations(), before_first) << "the counter counts nothing";

  // Other processes may crowd the cores at any time: once that has been met, it
  // costs no more. A region whose threads sleep looks like one.
  ParallelFor(2, 1, [](int64_t, int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  });
  for (size_t i = 0; i < inputs.size(); ++i) ASSERT_TRUE(run(i));

  const int64_t memory = executable->MemoryInBytes();
  const int64_t before = Allocations();
  bool ok = true;
  for (int round = 0; round < 100; ++round) {
    for (size_t i = 0; i < inputs.size(); ++i) ok &= run(i);
  }
  EXPECT_EQ(Allocations() - before, 0);
  EXPECT_TRUE(ok);
  EXPECT_EQ(executable->MemoryInBytes(), memory);
}

// A model of one kernel needs no memory between its kernels.
TEST(ExecutableAllocationTest, NoneWithoutAnArena) {
  if (!CountsAllocations())
    GTEST_SKIP() << "allocations cannot be counted under a sanitizer";
  TestPlan t;
  const int x = t.Input({64}), y = t.Output({64});
  t.Kernel("nothing", {x}, {y}, SizeExpression(64));
  t.plan.add_output_values(y);
  auto kernels =
      std::make_shared<FakeKernels>(std::map<std::string, KernelFunction>{
          {"nothing", [](void* const*, const int64_t*, int64_t, int64_t) {}}});
  auto executable = *CpuExecutable::Load(t.plan, kernels, {}, {});
  std::vector<float> data(64), out(64);
  const std::vector<TensorView> inputs{View(data, {64})};
  std::vector<RegionValue> outputs{View(out, {64})};
  bool ok = executable->Run(inputs, absl::MakeSpan(outputs)).ok();
  const int64_t before = Allocations();
  for (int round = 0; round < 100; ++round)
    ok &= executable->Run(inputs, absl::MakeSpan(outputs)).ok();
  EXPECT_EQ(Allocations() - before, 0);
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace aitune
