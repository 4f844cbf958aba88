#include "runtime/tensor/data_type.h"

#include "gtest/gtest.h"
#include "runtime/tensor/data_type_facts.h"

namespace aitune {
namespace {

TEST(DataType, NamesRoundTrip) {
  for (int i = 1; i <= 11; ++i) {
    EXPECT_TRUE(IsDataType(i)) << i;
    const DataType dtype = static_cast<DataType>(i);
    EXPECT_NE(Name(dtype), "unknown") << i;
    EXPECT_EQ(ParseDataType(Name(dtype)), dtype);
    EXPECT_GT(SizeInBytes(dtype), 0);
  }
  for (const int64_t number :
       {int64_t{-1}, int64_t{0}, int64_t{12}, int64_t{1} << 32 | 1})
    EXPECT_FALSE(IsDataType(number)) << number;
}

TEST(DataType, ParsesPytorchAliases) {
  EXPECT_EQ(ParseDataType("float"), DataType::kFloat32);
  EXPECT_EQ(ParseDataType("double"), DataType::kFloat64);
  EXPECT_EQ(ParseDataType("half"), DataType::kFloat16);
  EXPECT_EQ(ParseDataType("long"), DataType::kInt64);
  EXPECT_EQ(ParseDataType("int"), DataType::kInt32);
  EXPECT_EQ(ParseDataType("complex64"), std::nullopt);
  EXPECT_EQ(ParseDataType(""), std::nullopt);
}

TEST(DataType, FactsOfFloats) {
  EXPECT_EQ(FindFacts(static_cast<DataType>(0)), nullptr);
  EXPECT_EQ(FindFacts(static_cast<DataType>(12)), nullptr);
  for (const DataTypeFacts& facts : kDataTypes) {
    EXPECT_EQ(FindFacts(facts.dtype), &facts);
    EXPECT_EQ(facts.bits, facts.dtype == DataType::kBool ? 1 : 8 * facts.bytes);
    if (!facts.IsFloat()) continue;
    EXPECT_GT(facts.greatest, 1) << facts.name;
    EXPECT_LT(facts.normal, 1) << facts.name;
  }
  // (2 - 2^-10) * 2^15, and 1.75 * 2^8: all ones of the mantissa are NaN.
  EXPECT_EQ(FindFacts(DataType::kFloat16)->greatest, 65504);
  EXPECT_EQ(FindFacts(DataType::kFloat8E4M3Fn)->greatest, 448);
}

TEST(DataType, SizesAndClasses) {
  EXPECT_EQ(SizeInBytes(DataType::kBool), 1);
  EXPECT_EQ(SizeInBytes(DataType::kBFloat16), 2);
  EXPECT_EQ(SizeInBytes(DataType::kFloat8E4M3Fn), 1);
  EXPECT_EQ(SizeInBytes(DataType::kFloat32), 4);
  EXPECT_EQ(SizeInBytes(DataType::kInt64), 8);
  EXPECT_TRUE(IsFloatingPoint(DataType::kBFloat16));
  EXPECT_FALSE(IsFloatingPoint(DataType::kInt8));
  EXPECT_FALSE(IsFloatingPoint(DataType::kBool));
  EXPECT_FALSE(IsFloatingPoint(DataType::kFloat8E4M3Fn));
}

}  // namespace
}  // namespace aitune
