#include "runtime/strategy/axis_detection.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/fake_backend.h"

namespace aitune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OwnedValue Tensor(std::vector<int64_t> sizes) {
  std::vector<float> values(ElementCount(sizes));
  std::iota(values.begin(), values.end(), 0.0f);
  return MakeTensor(std::move(sizes), std::move(values));
}

std::string Detected(std::vector<BatchedSample> samples) {
  const absl::StatusOr<GraphSpec> spec = DetectAxes(samples);
  return spec.ok() ? spec->ToString() : std::string(spec.status().message());
}

TEST(DetectAxesTest, TheExampleOfTheDocuments) {
  EXPECT_EQ(
      Detected({{1, {Tensor({1, 2, 3, 4})}}, {2, {Tensor({2, 8, 6, 4})}}}),
      "float32[batch0, dim1, batch2, 4]");
}

TEST(DetectAxesTest, OneSampleIsFixed) {
  EXPECT_EQ(Detected({{2, {Tensor({2, 8}), Tensor({})}}}),
            "float32[2, 8], float32[]");
}

TEST(DetectAxesTest, SamplesOfOneBatchSize) {
  EXPECT_EQ(Detected({{2, {Tensor({2, 8})}}, {2, {Tensor({2, 9})}}}),
            "float32[2, dim1]");
}

TEST(DetectAxesTest, EverySampleCounts) {
  EXPECT_EQ(Detected({{1, {Tensor({1, 4})}},
                      {2, {Tensor({2, 8})}},
                      {4, {Tensor({4, 15})}}}),
            "float32[batch0, dim1]");
}

TEST(DetectAxesTest, MultiplesAndPartsOfTheBatch) {
  const auto spec =
      *DetectAxes({{{2, {Tensor({6, 1})}}, {4, {Tensor({12, 2})}}}});
  EXPECT_EQ(spec.ToString(), "float32[batch0, batch1]");
  EXPECT_EQ(spec.inputs[0].axes[0].size, 3);
  EXPECT_EQ(spec.inputs[0].axes[0].divisor, 1);
  EXPECT_EQ(spec.inputs[0].axes[1].size, 1);
  EXPECT_EQ(spec.inputs[0].axes[1].divisor, 2);
}

TEST(DetectAxesTest, RangesSeen) {
  const auto spec = *DetectAxes(
      {{{1, {Tensor({1, 7})}}, {8, {Tensor({8, 3})}}, {2, {Tensor({2, 9})}}}});
  EXPECT_EQ(spec.min_batch, 1);
  EXPECT_EQ(spec.max_batch, 8);
  EXPECT_EQ(spec.inputs[0].axes[1].min, 3);
  EXPECT_EQ(spec.inputs[0].axes[1].max, 9);
}

TEST(DetectAxesTest, Errors) {
  EXPECT_EQ(Detected({}),
            "axes can't be detected without a sample: record at least one");
  EXPECT_EQ(Detected({{0, {Tensor({1})}}}),
            "a sample's batch size is 0, it must be at least 1");
  EXPECT_EQ(
      Detected({{1, {Tensor({1})}}, {1, {}}}),
      "one sample has 1 tensors, another 0: None in place of some; record "
      "samples of one kind, calls of the other get versions of their own");
  EXPECT_EQ(Detected({{1, {Tensor({1})}}, {1, {Tensor({1, 1})}}}),
            "input 0 is float32 of 1 axes in one sample and float32 of 2 in "
            "another. Tune for them one after the other.");
  EXPECT_EQ(Detected({{1, {Tensor({}), {OpaqueValue(), nullptr}}}}),
            "input 1 is no tensor");
}

TEST(RepeatToBatchTest, RepeatsAndCuts) {
  const Sample sample = {Tensor({2, 3})};
  const auto spec = *DetectAxes({{{2, sample}, {3, {Tensor({3, 3})}}}});
  const Sample more = *RepeatToBatch(sample, spec, 5);
  EXPECT_EQ(std::get<TensorView>(more[0].value).sizes,
            (std::vector<int64_t>{5, 3}));
  EXPECT_THAT(Elements(more[0].value),
              ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2));
  const Sample less = *RepeatToBatch(sample, spec, 1);
  EXPECT_THAT(Elements(less[0].value), ElementsAre(0, 1, 2));
}

TEST(RepeatToBatchTest, AnInnerBatchAxis) {
  const Sample sample = {Tensor({2, 1, 2})};
  const auto spec = *DetectAxes({{{1, sample}, {2, {Tensor({2, 2, 2})}}}});
  const Sample more = *RepeatToBatch(sample, spec, 2);
  EXPECT_THAT(Elements(more[0].value), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
}

TEST(RepeatToBatchTest, WhatIsNoTensorStays) {
  const OpaqueValue number = std::make_shared<int>(2);
  const Sample sample = {{number, nullptr}, Tensor({1, 2})};
  const auto spec =
      *DetectAxes({{{1, {Tensor({1, 2})}}, {2, {Tensor({2, 2})}}}});
  const Sample more = *RepeatToBatch(sample, spec, 2);
  ASSERT_EQ(more.size(), 2);
  EXPECT_EQ(std::get<OpaqueValue>(more[0].value), number);
  EXPECT_THAT(Elements(more[1].value), ElementsAre(0, 1, 0, 1));
}

TEST(RepeatToBatchTest, Errors) {
  const Sample sample = {Tensor({2, 1})};
  const auto spec = *DetectAxes({{{2, sample}, {4, {Tensor({4, 2})}}}});
  EXPECT_THAT(std::string(RepeatToBatch(sample, spec, 3).status().message()),
              HasSubstr("axis 1 of input 0 has no whole size at batch 3"));
  EXPECT_FALSE(RepeatToBatch({}, spec, 2).ok());
  EXPECT_FALSE(RepeatToBatch({Tensor({2})}, spec, 2).ok());
  EXPECT_FALSE(RepeatToBatch({Tensor({0, 1})}, spec, 2).ok());
}

}  // namespace
}  // namespace aitune
