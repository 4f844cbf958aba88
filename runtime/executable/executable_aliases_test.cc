// Values that are other values' memory, or a part of it.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/run_test_model.h"
#include "runtime/executable/test_plan.h"

namespace aitune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A unit is an element of float32.
void AddOne(void* const* b, const int64_t*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float*>(b[1])[i] = static_cast<const float*>(b[0])[i] + 1;
}

absl::StatusOr<std::unique_ptr<CpuExecutable>> TryLoad(const TestPlan& t) {
  return CpuExecutable::Load(
      t.plan,
      std::make_shared<FakeKernels>(
          std::map<std::string, KernelFunction>{{"add_one", AddOne}}),
      {}, {});
}

std::unique_ptr<Executable> Load(const TestPlan& t) {
  auto loaded = TryLoad(t);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? *std::move(loaded) : nullptr;
}

TEST(ExecutableAliases, AliasesShareMemory) {
  TestPlan t;
  const int x = t.Input({2, 3});
  const int flat = t.Alias(x, {6});
  const int y = t.Output({3, 2});
  const int flat_y = t.Alias(t.Alias(y, {6, 1}), {6});
  t.Kernel("add_one", {flat}, {flat_y}, 6);
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(RunModel(*Load(t), {View(data, {2, 3})})[0],
              ElementsAre(2, 3, 4, 5, 6, 7));
}

TEST(ExecutableAliases, AliasesOfAnotherSizeAreAnError) {
  TestPlan t;
  const int x = t.Input({2, 3}), y = t.Output({4});
  t.Kernel("add_one", {t.Alias(x, {5})}, {y}, 4);
  const auto loaded = TryLoad(t);
  EXPECT_THAT(
      std::string(loaded.status().message()),
      HasSubstr("has 20 bytes, but value 0, whose memory it is, has 24"));
}

TEST(ExecutableAliases, AliasesMayBePartsOfWhatAStepWrites) {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 8, 0, 0);
  const int x = t.Input({s0, 3});
  const int a = t.Arena({s0, 3});
  const int last = t.Part(a, s0 * 3 + -3, {1, 3});
  const int end = t.Part(t.Alias(last, {3}), 1, {2});
  const int y = t.Output({2});
  t.Kernel("add_one", {x}, {a}, s0 * 3);
  t.Kernel("add_one", {end}, {y}, 2);
  // A part is copied to an output, and what it is of stays where it is.
  for (const int value : {y, last}) {
    if (value != y) *t.plan.add_outputs() = t.plan.values(value).type();
    t.plan.add_output_values(value);
  }
  auto executable = Load(t);
  for (const int64_t rows : {1, 3}) {
    std::vector<float> data;
    for (int64_t i = 0; i < rows * 3; ++i) data.push_back(i);
    const float least = data[data.size() - 3];
    EXPECT_THAT(RunModel(*executable, {View(data, {rows, 3})}),
                ElementsAre(ElementsAre(least + 3, least + 4),
                            ElementsAre(least + 1, least + 2, least + 3)));
  }
}

TEST(ExecutableAliases, PartsOfAResultAreReadInTheCallersMemory) {
  TestPlan t;
  const int x = t.Input({4}), y = t.Output({4}), z = t.Output({2});
  t.Kernel("add_one", {x}, {y}, 4);
  t.Kernel("add_one", {t.Part(y, 2, {2})}, {z}, 2);
  std::vector<float> data = {1, 2, 3, 4};
  EXPECT_THAT(RunModel(*Load(t), {View(data, {4})}),
              ElementsAre(ElementsAre(2, 3, 4, 5), ElementsAre(5, 6)));
}

TEST(ExecutableAliases, PartsOfAnInputAreReadInTheCallersMemory) {
  TestPlan t;
  const int x = t.Input({4}), y = t.Output({2});
  t.Kernel("add_one", {t.Part(x, 2, {2})}, {y}, 2);
  std::vector<float> data = {1, 2, 3, 4};
  EXPECT_THAT(RunModel(*Load(t), {View(data, {4})}),
              ElementsAre(ElementsAre(4, 5)));
}

TEST(ExecutableAliases, PartsBeyondTheirValueAreAnError) {
  for (const int offset : {3, -1}) {
    TestPlan t;
    const int x = t.Input({4}), a = t.Arena({4}), y = t.Output({2});
    t.Kernel("add_one", {x}, {a}, 4);
    t.Kernel("add_one", {t.Part(a, offset, {2})}, {y}, 2);
    const auto loaded = TryLoad(t);
    EXPECT_THAT(std::string(loaded.status().message()),
                HasSubstr(absl::StrCat("has 8 bytes from the ", offset,
                                       "th element of value 1, which has 16")));
  }
}

TEST(ExecutableAliases, NoStepWritesAPart) {
  TestPlan t;
  const int x = t.Input({2}), y = t.Output({4});
  t.Kernel("add_one", {x}, {t.Part(y, 2, {2})}, 2);
  const auto loaded = TryLoad(t);
  EXPECT_THAT(std::string(loaded.status().message()),
              HasSubstr("writes value 2, which is a part of another value"));
}

}  // namespace
}  // namespace aitune
