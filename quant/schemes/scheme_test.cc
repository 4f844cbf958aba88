#include "quant/schemes/scheme.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace aitune::quant {
namespace {

constexpr Scheme kSchemes[] = {Scheme::kInt8WeightOnly, Scheme::kInt8Dynamic,
                               Scheme::kFloat8WeightOnly,
                               Scheme::kFloat8Dynamic};

// Why a weight of ones is refused, "" if it is not.
std::string Refused(Scheme scheme, int64_t rows, int64_t columns,
                    Granularity granularity = Granularity::kPerRow,
                    DataType dtype = DataType::kBFloat16) {
  // In each dtype of 4 bytes or fewer these bits are a finite number.
  const std::vector<uint32_t> ones(rows * columns, 0x3f803f80);
  const std::optional<Refusal> refusal = RefuseWeight(
      scheme, granularity, {ones.data(), dtype, rows, columns, columns});
  if (!refusal.has_value()) return "";
  return std::string(Name(refusal->reason)) + ": " + refusal->text;
}

TEST(SchemeTest, NamesRoundTrip) {
  for (const Scheme scheme : kSchemes)
    EXPECT_EQ(ParseScheme(Name(scheme)), scheme);
  EXPECT_EQ(Name(Scheme::kFloat8Dynamic), "fp8dq");
  EXPECT_EQ(ParseScheme(""), std::nullopt);
  EXPECT_EQ(ParseScheme("INT8WO"), std::nullopt);
}

TEST(SchemeTest, TakesUsualWeights) {
  for (const Scheme scheme : kSchemes) {
    EXPECT_EQ(Refused(scheme, 48, 64), "") << Name(scheme);
    for (const DataType dtype : {DataType::kFloat32, DataType::kFloat16})
      EXPECT_EQ(Refused(scheme, 48, 64, Granularity::kPerTensor, dtype), "");
  }
}

TEST(SchemeTest, RefusesRowsOfNoneAndOfOne) {
  for (const Scheme scheme : kSchemes) {
    EXPECT_EQ(Refused(scheme, 48, 0),
              "shape: the weight is [48, 0], it has no elements");
    EXPECT_EQ(Refused(scheme, 48, 1),
              "shape: the weight is [48, 1], a row of one element has no scale "
              "in torchao");
  }
  EXPECT_EQ(Refused(Scheme::kInt8Dynamic, 3, 2), "");
}

TEST(SchemeTest, RefusesSumsThatMayNotFitInt32) {
  EXPECT_EQ(Refused(Scheme::kInt8Dynamic, 1, 131071), "");
  EXPECT_EQ(Refused(Scheme::kInt8Dynamic, 1, 131072),
            "shape: the weight is [1, 131072], a sum of more than 131071 "
            "products may not fit int32");
  EXPECT_EQ(Refused(Scheme::kInt8WeightOnly, 1, 131072), "");
}

TEST(SchemeTest, DynamicFloat8TakesMultiplesOfSixteen) {
  EXPECT_EQ(Refused(Scheme::kFloat8Dynamic, 48, 60),
            "shape: the weight is [48, 60], fp8dq takes multiples of 16 in "
            "both axes");
  EXPECT_NE(Refused(Scheme::kFloat8Dynamic, 60, 48), "");
  for (const Scheme scheme : {Scheme::kInt8WeightOnly, Scheme::kInt8Dynamic,
                              Scheme::kFloat8WeightOnly})
    EXPECT_EQ(Refused(scheme, 5, 7), "") << Name(scheme);
}

TEST(SchemeTest, DynamicFloat8PerRowTakesBFloat16) {
  for (const DataType dtype : {DataType::kFloat32, DataType::kFloat16}) {
    EXPECT_EQ(
        Refused(Scheme::kFloat8Dynamic, 48, 64, Granularity::kPerRow, dtype),
        "dtype: PerRow quantization only works for bfloat16 precision input "
        "weight");
    EXPECT_EQ(
        Refused(Scheme::kFloat8WeightOnly, 48, 64, Granularity::kPerRow, dtype),
        "");
  }
  EXPECT_EQ(Refused(Scheme::kInt8WeightOnly, 4, 4, Granularity::kPerRow,
                    DataType::kInt32),
            "dtype: a tensor of int32 can't be quantised: give float32, "
            "bfloat16 or float16");
}

TEST(SchemeTest, RefusesWeightsThatAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    const float values[] = {1, 2, 3, 4, 5, bad};
    const std::optional<Refusal> refusal =
        RefuseWeight(Scheme::kInt8WeightOnly, Granularity::kPerRow,
                     {values, DataType::kFloat32, 2, 3, 3});
    ASSERT_TRUE(refusal.has_value()) << bad;
    EXPECT_EQ(refusal->reason, RefusalReason::kNotFinite);
    EXPECT_EQ(refusal->text, "weight is not finite");
  }
}

}  // namespace
}  // namespace aitune::quant
