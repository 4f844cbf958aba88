#include "frontend/check/distance.h"

#include <ATen/ATen.h>

#include <cmath>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

class Distance : public testing::Test {
 protected:
  Distance() { at::manual_seed(0); }

  // Rows of 256 elements are neighbourhoods of their own.
  at::Tensor a = at::randn({6, 256}, at::kDouble);
  at::Tensor b = at::randn({6, 256}, at::kDouble);
  at::Tensor mask = at::rand({6, 256}).lt(0.8);
};

TEST_F(Distance, ErrorsAreRelativeToElementsAndToTheirRootMeanSquare) {
  const at::Tensor x = a.masked_select(mask), y = b.masked_select(mask);
  const at::Tensor rms = y.square().mean().sqrt();
  // LibTorch adds in an order that depends on its threads.
  EXPECT_NEAR(RelativeError(a, b, mask),
              (x - y).abs().div(at::maximum(y.abs(), rms)).max().item<double>(),
              1e-12);
  EXPECT_NEAR(RelativeRms(a, b, mask),
              (x - y).square().mean().sqrt().div(rms).item<double>(), 1e-12);
  EXPECT_NEAR(Cosine(a, b, mask),
              x.dot(y).div(x.norm()).div(y.norm()).item<double>(), 1e-12);
  const at::Tensor none = at::zeros_like(mask), zeros = at::zeros_like(b);
  EXPECT_EQ(RelativeError(a, b, none), 0);
  EXPECT_EQ(RelativeRms(a, b, none), 0);
  EXPECT_DOUBLE_EQ(RelativeError(a, zeros, mask), x.abs().max().item<double>());
}

TEST_F(Distance, MediansAreThoseOfNeighbourhoods) {
  EXPECT_EQ(NeighbourhoodSize(a), 256);
  EXPECT_EQ(NeighbourhoodSize(at::zeros({4, 3, 100})), 300);
  EXPECT_EQ(NeighbourhoodSize(at::zeros({4, 0})), 0);
  b[2].zero_();
  const at::Tensor medians = LocalMedians(b, mask);
  ASSERT_EQ(medians.numel(), 6);
  for (int64_t row : {0, 5}) {
    EXPECT_EQ(medians[row].item<double>(),
              b[row].masked_select(mask[row]).abs().median().item<double>());
  }
  EXPECT_EQ(
      medians[2].item<double>(),
      b.masked_select(mask.logical_and(b.ne(0))).abs().median().item<double>());
  EXPECT_TRUE(LocalMedians(at::zeros_like(b), mask).eq(1).all().item<bool>());
}

TEST_F(Distance, ErrorsOfNeighbourhoodsAreToTheirScale) {
  const at::Tensor medians = LocalMedians(b, mask);
  const NeighbourhoodErrors errors = ErrorsTo(b, medians, a, mask, 0);
  const at::Tensor all = (a - b)
                             .abs()
                             .div(at::maximum(b.abs(), medians.view({-1, 1})))
                             .masked_fill(mask.logical_not(), 0);
  EXPECT_TRUE(errors.largest.equal(all.amax(1)));
  EXPECT_EQ(errors.worst, all.flatten().argmax().item<int64_t>());
  const at::Tensor largest = (a - b).abs().masked_fill(~mask, 0).amax(1);
  const double lost = largest[2].item<double>();
  const at::Tensor less = ErrorsTo(b, medians, a, mask, lost).largest;
  EXPECT_TRUE(less.gt(0).equal(largest.gt(lost)));
  EXPECT_TRUE(less.le(errors.largest).all().item<bool>());
}

TEST_F(Distance, NaNsAreEqualAndNotFinite) {
  EXPECT_TRUE(IsFinite(a));
  EXPECT_FALSE(AreEqual(a, b));
  a[3][7] = NAN;
  EXPECT_TRUE(AreEqual(a, a.clone()));
  EXPECT_FALSE(IsFinite(a));
  EXPECT_EQ(SameNonFinite(a, a.clone()).sum().item<int64_t>(), 1);
}

TEST_F(Distance, OverflowIsNoSmallError) {
  a.zero_();
  b.zero_();
  a[0][3] = 1e308;
  b[0][3] = -1e308;
  EXPECT_TRUE(std::isnan(RelativeError(a, b, at::ones_like(mask))));
}

}  // namespace
}  // namespace aitune::frontend
