// What runs of eager that differ excuse.
#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "frontend/check/verification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using testing::HasSubstr;

TEST(Excuse, IntegersOnlyWhereEagersRunsChange) {
  const at::Tensor eager = at::arange(10);
  at::Tensor once = eager.clone(), ours = eager.clone();
  ours.slice(0, 2, 4).fill_(7);
  Comparison result = CompareTensors(ours, eager, nullptr);
  ASSERT_FALSE(result.agrees);
  const auto excuse = [&](const at::Tensor& other, bool ties_kept) {
    Excuse(CompareTensors(other, eager, nullptr), ties_kept, result);
  };
  once.slice(0, 5, 9).fill_(1);
  excuse(once, true);
  EXPECT_EQ(result.differing, 2) << "eager changes elsewhere";
  once[3].fill_(5);
  excuse(once, false);
  EXPECT_EQ(result.differing, 2) << "a run that breaks ties";
  excuse(once, true);
  EXPECT_FALSE(result.agrees);
  EXPECT_EQ(result.differing, 1);
  EXPECT_THAT(result.problem, HasSubstr("first at [2]"));
  once[2].fill_(5);
  excuse(once, true);
  EXPECT_TRUE(result.agrees);
  EXPECT_EQ(result.problem, "");
}

// Each run of eager swaps other neighbours, as an order by nearly equal scores
// does.
TEST(Excuse, AnOrderThatEagerChangesAllOver) {
  const at::Tensor eager = at::arange(40);
  const auto swapped = [&](std::vector<int64_t> places) {
    at::Tensor other = eager.clone();
    for (int64_t place : places) {
      other[place] = eager[place + 1];
      other[place + 1] = eager[place];
    }
    return other;
  };
  const auto judged = [&](const at::Tensor& ours, int runs, bool ties_kept,
                          int64_t step) {
    Comparison result = CompareTensors(ours, eager, nullptr);
    for (int64_t run = 0; run < runs; ++run) {
      Excuse(CompareTensors(swapped({run * step, run * step + 20}), eager,
                            nullptr),
             ties_kept, result);
    }
    return result;
  };
  const at::Tensor ours = swapped({10, 38});
  EXPECT_FALSE(judged(ours, 4, true, 3).agrees) << "too few runs";
  EXPECT_TRUE(judged(ours, 5, true, 3).agrees);
  EXPECT_FALSE(judged(ours, 5, false, 3).agrees) << "runs that break ties";
  EXPECT_FALSE(judged(ours, 10, true, 0).agrees) << "the same places each time";
  EXPECT_FALSE(judged(swapped({10, 12, 14, 16, 38}), 10, true, 1).agrees)
      << "more than twice as many as any run";
}

TEST(Excuse, TakesTheWorstOfEagersRunsAndNoMore) {
  at::Tensor reference = at::randn({256}, at::kDouble);
  at::Tensor eager = (reference * 1.0001).to(at::kFloat);
  at::Tensor ours = (reference * 1.004).to(at::kFloat);
  const auto run = [&](double factor, const at::Tensor* truth) {
    return CompareTensors((reference * factor).to(at::kFloat), eager, truth);
  };
  Comparison result = CompareTensors(ours, eager, &reference);
  ASSERT_FALSE(result.agrees);
  const std::string problem = result.problem;
  Excuse(run(1.00005, &reference), true, result);  // nearer than the run known
  EXPECT_EQ(result.problem, problem);
  Excuse(run(1.0008, &reference), true, result);  // less than a quarter of ours
  EXPECT_FALSE(result.agrees);
  EXPECT_THAT(result.problem, HasSubstr("eager's is 0.0008"));
  Excuse(run(0.9988, &reference), false, result);
  EXPECT_TRUE(result.agrees);
  EXPECT_EQ(result.problem, "");

  // Without a reference, by eager's distance to itself: ours is off by 0.0019.
  Comparison plain = CompareTensors(ours, eager, nullptr);
  Excuse(run(1.0008, nullptr), true, plain);
  EXPECT_FALSE(plain.agrees);
  Excuse(run(1.0012, nullptr), true, plain);
  EXPECT_TRUE(plain.agrees);

  // NaNs are no matter of rounding.
  Comparison nan = CompareTensors(at::full_like(ours, NAN), eager, &reference);
  Excuse(nan, true, nan);
  EXPECT_FALSE(nan.agrees);
}

}  // namespace
}  // namespace aitune::frontend
