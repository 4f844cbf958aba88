#include "compiler/codegen/contraction/OperandFormat.h"

#include "mlir/IR/Builders.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using ::testing::HasSubstr;

class OperandFormatTest : public ::testing::Test {
protected:
  mlir::FailureOr<OperandFormat> format(mlir::Type lhs, mlir::Type rhs,
                                        mlir::Type result) {
    return getOperandFormat(lhs, rhs, result, reason);
  }

  mlir::MLIRContext context;
  mlir::Builder b{&context};
  std::string reason;
};

TEST_F(OperandFormatTest, FloatsAreAddedUpInF32OrF64) {
  for (mlir::Type type :
       {mlir::Type(b.getF16Type()), mlir::Type(b.getBF16Type()),
        mlir::Type(b.getF32Type())}) {
    auto found = format(type, type, type);
    ASSERT_TRUE(mlir::succeeded(found));
    EXPECT_EQ(found->lhs, type);
    EXPECT_EQ(found->lhsFactor, b.getF32Type());
    EXPECT_EQ(found->sum, b.getF32Type());
    EXPECT_EQ(found->sumBytes(), 4);
    EXPECT_EQ(found->stepsTogether, 1);
    EXPECT_EQ(found->lhsScale, ScaleAxis::None);
    EXPECT_EQ(found->rhsScale, ScaleAxis::None);
  }
  auto found = format(b.getF64Type(), b.getF64Type(), b.getF64Type());
  ASSERT_TRUE(mlir::succeeded(found));
  EXPECT_EQ(found->rhsFactor, b.getF64Type());
  EXPECT_EQ(found->sumBytes(), 8);
}

TEST_F(OperandFormatTest, CodesAreMultipliedAsFloatsOrAddedUpExactly) {
  const mlir::Type code = b.getI8Type(),
                   activation = b.getIntegerType(8, /*isSigned=*/false);
  auto weights = format(b.getBF16Type(), code, b.getF32Type());
  ASSERT_TRUE(mlir::succeeded(weights));
  EXPECT_EQ(weights->rhsFactor, b.getF32Type());
  EXPECT_EQ(weights->rhsBytes(), 1);
  EXPECT_TRUE(weights->widensCodes());
  auto floats = format(b.getF32Type(), b.getType<mlir::Float8E4M3FNType>(),
                       b.getF32Type());
  ASSERT_TRUE(mlir::succeeded(floats));
  EXPECT_TRUE(floats->widensCodes());
  auto both = format(activation, code, b.getI32Type());
  ASSERT_TRUE(mlir::succeeded(both));
  EXPECT_EQ(both->sum, b.getI32Type());
  EXPECT_FALSE(both->widensCodes());
  const mlir::Type float8 = b.getType<mlir::Float8E4M3FNType>();
  auto bothFloats = format(float8, float8, b.getF32Type());
  ASSERT_TRUE(mlir::succeeded(bothFloats));
  EXPECT_EQ(bothFloats->sum, b.getF32Type());
  EXPECT_FALSE(bothFloats->widensCodes());
}

TEST_F(OperandFormatTest, CodesOfActivationsAreScaledByRowsOfWeightsByColumns) {
  const mlir::Type code = b.getI8Type(),
                   activation = b.getIntegerType(8, /*isSigned=*/false),
                   float8 = b.getType<mlir::Float8E4M3FNType>();
  for (mlir::Type weight : {code, float8}) {
    auto found = format(b.getF16Type(), weight, b.getF32Type());
    ASSERT_TRUE(mlir::succeeded(found));
    EXPECT_EQ(found->lhsScale, ScaleAxis::None);
    EXPECT_EQ(found->rhsScale, ScaleAxis::Column);
  }
  auto integers = format(activation, code, b.getI32Type());
  auto floats = format(float8, float8, b.getF32Type());
  for (const auto &found : {integers, floats}) {
    ASSERT_TRUE(mlir::succeeded(found));
    EXPECT_EQ(found->lhsScale, ScaleAxis::Row);
    EXPECT_EQ(found->rhsScale, ScaleAxis::Column);
  }
}

TEST_F(OperandFormatTest, OthersAreRefusedWithTheirTypes) {
  EXPECT_TRUE(
      mlir::failed(format(b.getI32Type(), b.getI64Type(), b.getI32Type())));
  EXPECT_THAT(reason, HasSubstr("not of i32 and i64"));
  // Signed codes of activations, and codes on the left of floats.
  EXPECT_TRUE(
      mlir::failed(format(b.getI8Type(), b.getI8Type(), b.getI32Type())));
  EXPECT_TRUE(
      mlir::failed(format(b.getI8Type(), b.getF32Type(), b.getF32Type())));
  EXPECT_TRUE(mlir::failed(format(b.getIntegerType(8, /*isSigned=*/false),
                                  b.getType<mlir::Float8E4M3FNType>(),
                                  b.getI32Type())));
}

} // namespace
} // namespace aitune
