#include "compiler/codegen/contraction/OperandFormat.h"

#include "compiler/dialect/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace aitune {
namespace {

bool isFloat(Type type) {
  return type.isF32() || type.isF64() || ait::isHalf(type);
}
/// Codes of a quantised weight: those that codes of activations are multiplied
/// with, and all that floats are.
bool isIntegerCode(Type type) { return type.isSignlessInteger(8); }
bool isWeightCode(Type type) {
  return isIntegerCode(type) || ait::isFloatCode(type);
}
/// Integer codes of activations.
bool isActivationCode(Type type) { return type.isUnsignedInteger(8); }

/// f64 where the result is, else f32.
Type getFloatSum(Type result) {
  return result.isF64() ? result : Type(Float32Type::get(result.getContext()));
}
/// The products of codes are added up without rounding.
Type getCodeSum(Type result) {
  return IntegerType::get(result.getContext(), 32);
}

struct Row {
  bool (*lhs)(Type), (*rhs)(Type);
  Type (*sum)(Type result);
  ScaleAxis lhsScale, rhsScale;
};

constexpr Row kFormats[] = {
    {isFloat, isFloat, getFloatSum, ScaleAxis::None, ScaleAxis::None},
    {isFloat, isWeightCode, getFloatSum, ScaleAxis::None, ScaleAxis::Column},
    {isActivationCode, isIntegerCode, getCodeSum, ScaleAxis::Row,
     ScaleAxis::Column},
    {ait::isFloatCode, ait::isFloatCode, getFloatSum, ScaleAxis::Row,
     ScaleAxis::Column},
};

} // namespace

FailureOr<OperandFormat> getOperandFormat(Type lhs, Type rhs, Type result,
                                          std::string &reason) {
  for (const Row &row : kFormats)
    if (row.lhs(lhs) && row.rhs(rhs)) {
      const Type sum = row.sum(result);
      OperandFormat format{lhs, rhs, sum, sum, sum};
      format.lhsScale = row.lhsScale;
      format.rhsScale = row.rhsScale;
      return format;
    }
  llvm::raw_string_ostream(reason)
      << "generated contractions are of f32, f64, f16 or bf16, or with codes "
         "of 8 bits on the right or on both sides, not of "
      << lhs << " and " << rhs;
  return failure();
}

} // namespace aitune
