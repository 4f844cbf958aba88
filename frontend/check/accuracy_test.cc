#include "frontend/check/accuracy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace aitune::frontend {
namespace {

TEST(AccuracyTest, EachBoundSeesWhatTheOthersDoNot) {
  const at::Tensor eager = at::arange(1, 101).to(at::kFloat);
  const AccuracyBound bound;
  EXPECT_EQ(MissedBound(AccuracyOf(eager, eager), bound), "");
  // Of the scale alone: the angle is the same.
  EXPECT_EQ(MissedBound(AccuracyOf(eager * 1.25, eager), bound),
            "12.04 dB of signal to noise to eager (bound 20.96)");
  EXPECT_EQ(MissedBound(AccuracyOf(eager * 1.01, eager), bound), "");
  EXPECT_EQ(MissedBound(AccuracyOf(eager.flip(0), eager), bound),
            "cosine 0.50746 to eager (bound 0.99900)");
  const at::Tensor classes = at::arange(100);
  EXPECT_EQ(MissedBound(AccuracyOf(classes.clamp(1), classes), bound), "");
  EXPECT_EQ(MissedBound(AccuracyOf(classes.clamp(2), classes), bound),
            "0.9800 of the elements are eager's (bound 0.9900)");
  EXPECT_EQ(MissedBound(AccuracyOf(classes.lt(7), classes.lt(8)), bound), "");
}

TEST(AccuracyTest, OneNumberDecidesTheOthers) {
  AccuracyBound bound;
  EXPECT_NEAR(LeastSqnr(bound), 20.96, 0.01);
  bound.min_cosine = 0.9;
  EXPECT_NEAR(LeastSqnr(bound), 0.28, 0.01);
  bound.min_cosine = 0;
  EXPECT_EQ(LeastSqnr(bound), -INFINITY);
  bound.min_cosine = 1;
  EXPECT_EQ(LeastSqnr(bound), INFINITY);
  bound.min_sqnr_db = 60;
  EXPECT_EQ(LeastSqnr(bound), 60);
}

TEST(AccuracyTest, NumbersThatAreNoneAndWhoseSquareIsNone) {
  const AccuracyBound bound;
  at::Tensor eager = at::arange(1, 101).to(at::kDouble).mul(1e300);
  EXPECT_EQ(MissedBound(AccuracyOf(eager * 1.01, eager), bound), "");
  eager[3] = NAN;
  EXPECT_EQ(MissedBound(AccuracyOf(eager * 1.01, eager), bound), "");
  EXPECT_EQ(
      MissedBound(AccuracyOf(at::full({2}, NAN), at::full({2}, NAN)), bound),
      "");
  EXPECT_EQ(MissedBound(AccuracyOf(at::zeros({0}), at::zeros({0})), bound), "");
  EXPECT_NE(MissedBound(AccuracyOf(at::ones({2}), at::zeros({2})), bound), "");
}

TEST(AccuracyTest, ExcessIsThatOfPower) {
  const AccuracyBound bound;
  Accuracy accuracy;
  EXPECT_EQ(ExcessNoise(accuracy, bound), 0);
  accuracy.cosine = 0.997;
  EXPECT_NEAR(ExcessNoise(accuracy, bound), 3, 1e-6);
  accuracy.sqnr_db = LeastSqnr(bound) - 10;
  EXPECT_NEAR(ExcessNoise(accuracy, bound), 10, 1e-6);
  accuracy.equal = 0.95;
  EXPECT_NEAR(ExcessNoise(accuracy, bound), 25, 1e-6);
}

}  // namespace
}  // namespace aitune::frontend
