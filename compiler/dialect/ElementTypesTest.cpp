#include "compiler/dialect/ElementTypes.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using aitune::DataType;

namespace mlir::ait {
namespace {

TEST(ElementTypesTest, EveryDataTypeHasATypeOfItsSize) {
  MLIRContext context;
  int count = 0;
  for (int number = 0; number < 100; ++number) {
    if (!aitune::IsDataType(number))
      continue;
    const auto dtype = static_cast<DataType>(number);
    const Type type = toElementType(dtype, &context);
    EXPECT_EQ(toDataType(type), dtype) << number;
    if (dtype != DataType::kBool) {
      EXPECT_EQ(type.getIntOrFloatBitWidth(), 8 * aitune::SizeInBytes(dtype))
          << number;
    }
    ++count;
  }
  EXPECT_EQ(count, 11);
}

TEST(ElementTypesTest, OtherFloat8TypesAreUnknown) {
  MLIRContext context;
  EXPECT_EQ(toDataType(Float8E4M3Type::get(&context)), std::nullopt);
  EXPECT_EQ(toDataType(Float8E5M2Type::get(&context)), std::nullopt);
}

TEST(ElementTypesTest, FloatCodesAreTheFloatsOf8Bits) {
  MLIRContext context;
  for (int number = 1; aitune::IsDataType(number); ++number) {
    const auto dtype = static_cast<DataType>(number);
    const Type type = toElementType(dtype, &context);
    EXPECT_EQ(isFloatCode(type),
              isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8)
        << number;
  }
}

} // namespace
} // namespace mlir::ait
