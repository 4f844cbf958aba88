#include "compiler/codegen/gpu/text/CudaScalar.h"

#include <cmath>

#include "compiler/codegen/gpu/text/CodeForms.h"
#include "compiler/codegen/gpu/text/QuickForms.h"
#include "compiler/dialect/ElementTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {
namespace {

/// Whether functions of the prelude make floats of values of `type`, and such
/// values of floats.
bool isNarrow(Type type) {
  return mlir::ait::isHalf(type) || isa<Float8E4M3FNType>(type);
}

std::string unsignedType(Type type) {
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return "bool";
  case 8:
    return "unsigned char";
  case 16:
    return "unsigned short";
  case 32:
    return "unsigned";
  default:
    return "unsigned long long";
  }
}

std::string infix(StringRef op, ArrayRef<std::string> x) {
  return llvm::formatv("{0} {1} {2}", x[0], op, x[1]);
}

std::string call(StringRef function, ArrayRef<std::string> x) {
  return (function + "(" + llvm::join(x, ", ") + ")").str();
}

/// Integers narrower than int are computed in int and cut.
std::string cut(Type type, std::string expression) {
  if (type.isInteger(8) || type.isInteger(16))
    return llvm::formatv("static_cast<{0}>({1})", cudaType(type), expression);
  return expression;
}

/// The greater or the lesser signed integer. The prelude's functions promote
/// operands as C++ does; constants of type Index are written as int.
std::string extremum(StringRef function, Type type, ArrayRef<std::string> x) {
  if (type.isInteger(1))
    return llvm::formatv("{0} {1} {2} ? {0} : {2}", x[0],
                         function == "maximum" ? ">" : "<", x[1]);
  if (type.isIndex())
    return llvm::formatv(
        "{0}(static_cast<Index>({1}), static_cast<Index>({2}))", function, x[0],
        x[1]);
  return cut(type, call(function, x));
}

std::string unsignedInfix(StringRef op, Type type, ArrayRef<std::string> x) {
  std::string name = unsignedType(type);
  return llvm::formatv("static_cast<{0}>(static_cast<{1}>({2}) {3} "
                       "static_cast<{1}>({4}))",
                       cudaType(type), name, x[0], op, x[1]);
}

std::string compareFloats(arith::CmpFPredicate predicate, StringRef a,
                          StringRef b) {
  auto text = [&](const char *format) -> std::string {
    return llvm::formatv(format, a, b);
  };
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return text("{0} == {1}");
  case arith::CmpFPredicate::OGT:
    return text("{0} > {1}");
  case arith::CmpFPredicate::OGE:
    return text("{0} >= {1}");
  case arith::CmpFPredicate::OLT:
    return text("{0} < {1}");
  case arith::CmpFPredicate::OLE:
    return text("{0} <= {1}");
  case arith::CmpFPredicate::ONE:
    return text("{0} < {1} || {0} > {1}");
  case arith::CmpFPredicate::ORD:
    return text("{0} == {0} && {1} == {1}");
  case arith::CmpFPredicate::UEQ:
    return text("!({0} < {1} || {0} > {1})");
  case arith::CmpFPredicate::UGT:
    return text("!({0} <= {1})");
  case arith::CmpFPredicate::UGE:
    return text("!({0} < {1})");
  case arith::CmpFPredicate::ULT:
    return text("!({0} >= {1})");
  case arith::CmpFPredicate::ULE:
    return text("!({0} > {1})");
  case arith::CmpFPredicate::UNE:
    return text("{0} != {1}");
  case arith::CmpFPredicate::UNO:
    return text("{0} != {0} || {1} != {1}");
  case arith::CmpFPredicate::AlwaysTrue:
    return "true";
  case arith::CmpFPredicate::AlwaysFalse:
    return "false";
  }
  return "";
}

std::string compareIntegers(arith::CmpIPredicate predicate, Type type,
                            ArrayRef<std::string> x) {
  static const char *const spellings[] = {"==", "!=", "<",  "<=", ">",
                                          ">=", "<",  "<=", ">",  ">="};
  unsigned number = static_cast<unsigned>(predicate);
  if (number < 6) // eq, ne and the signed ones
    return infix(spellings[number], x);
  std::string name = type.isIndex() ? "Index" : unsignedType(type);
  return llvm::formatv("static_cast<{0}>({1}) {2} static_cast<{0}>({3})", name,
                       x[0], spellings[number], x[1]);
}

/// Functions of <cmath>: the name for double; "f" is added for float.
StringRef mathFunction(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().stripDialect())
      .Case("exp", "exp")
      .Case("exp2", "exp2")
      .Case("expm1", "expm1")
      .Case("log", "log")
      .Case("log2", "log2")
      .Case("log10", "log10")
      .Case("log1p", "log1p")
      .Case("sqrt", "sqrt")
      .Case("rsqrt", "rsqrt")
      .Case("sin", "sin")
      .Case("cos", "cos")
      .Case("tan", "tan")
      .Case("asin", "asin")
      .Case("acos", "acos")
      .Case("atan", "atan")
      .Case("sinh", "sinh")
      .Case("cosh", "cosh")
      .Case("asinh", "asinh")
      .Case("acosh", "acosh")
      .Case("atanh", "atanh")
      .Case("tanh", "tanh")
      .Case("erf", "erf")
      .Case("absf", "fabs")
      .Case("floor", "floor")
      .Case("ceil", "ceil")
      .Case("round", "round")
      .Case("roundeven", "rint")
      .Case("trunc", "trunc")
      .Case("powf", "pow")
      .Case("atan2", "atan2")
      .Case("copysign", "copysign")
      .Case("fma", "fma")
      .Case("remf", "fmod")
      .Default("");
}

std::string convert(Operation *op, Type from, Type to,
                    ArrayRef<std::string> x) {
  bool isUnsigned =
      isa<arith::ExtUIOp, arith::UIToFPOp, arith::IndexCastUIOp>(op);
  std::string source = x[0];
  if (isNarrow(from))
    source = "toFloat(" + source + ")";
  else if (isUnsigned && from.isIntOrFloat() && !from.isInteger(1))
    source = llvm::formatv("static_cast<{0}>({1})", unsignedType(from), source);
  else if (isa<arith::ExtSIOp, arith::SIToFPOp>(op) && from.isInteger(1))
    source = "-static_cast<int>(" + source + ")";
  if (isNarrow(to)) {
    if (!isa<FloatType>(from))
      source = "static_cast<float>(" + source + ")";
    return llvm::formatv(isSaturatedCode(op) ? "saturatedTo<{0}>({1})"
                                             : "to<{0}>({1})",
                         cudaType(to), source);
  }
  if (to.isInteger(1))
    return "(" + source + " & 1) != 0";
  if (to.isF32() && isNarrow(from))
    return source;
  return llvm::formatv("static_cast<{0}>({1})", cudaType(to), source);
}

/// Whether `product` is what one step of a reduction adds to its sum.
bool isSummand(Operation *product) {
  if (!product->hasOneUse())
    return false;
  auto sum = dyn_cast<arith::AddFOp>(*product->user_begin());
  auto generic = dyn_cast<linalg::GenericOp>(product->getParentOp());
  if (!sum || !generic || sum->getBlock() != product->getBlock())
    return false;
  return llvm::any_of(generic.getRegionOutputArgs(), [&](Value accumulator) {
    return llvm::is_contained(sum->getOperands(), accumulator);
  });
}

/// The function of prelude/Common.cuh that is 1 more than `op`; empty if there
/// is none.
StringRef formPlusOne(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().stripDialect())
      .Case("erf", "quickErfPlusOne")
      .Case("tanh", "quickTanhPlusOne")
      .Default("");
}

/// The expression for operands that are not of half types.
std::string spell(Operation *op, Type type, ArrayRef<std::string> x) {
  if (mayBeQuickQuotient(op))
    return call("quickQuotient", x);
  if (int corrections = countCodeCorrections(op))
    return call("codeQuotient<" + std::to_string(corrections) + ">", x);
  if (isOfSaturatedCodes(op))
    return x[matchPattern(op->getOperand(0), m_Constant()) ? 1 : 0];
  if (Operation *summand = findWhatHasOneAdded(op);
      summand && !formPlusOne(summand).empty())
    return x[op->getOperand(0).getDefiningOp() == summand ? 0 : 1];
  StringRef name = op->getName().stripDialect();
  if (name == "mulf" && !isSummand(op))
    return call("roundedProduct", x);
  StringRef infixOp = llvm::StringSwitch<StringRef>(name)
                          .Cases({"addf", "addi"}, "+")
                          .Cases({"subf", "subi"}, "-")
                          .Cases({"mulf", "muli"}, "*")
                          .Cases({"divf", "divsi"}, "/")
                          .Case("remsi", "%")
                          .Case("andi", "&")
                          .Case("ori", "|")
                          .Case("xori", "^")
                          .Case("shli", "<<")
                          .Case("shrsi", ">>")
                          .Default("");
  if (!infixOp.empty()) {
    if (type.isInteger(1)) // arithmetic modulo 2
      return infixOp == "+" || infixOp == "-" || infixOp == "^" ? infix("!=", x)
             : infixOp == "*" || infixOp == "&"                 ? infix("&&", x)
             : infixOp == "|"                                   ? infix("||", x)
                                                                : "";
    return cut(type, infix(infixOp, x));
  }
  StringRef unsignedOp = llvm::StringSwitch<StringRef>(name)
                             .Case("divui", "/")
                             .Case("remui", "%")
                             .Case("shrui", ">>")
                             .Default("");
  if (!unsignedOp.empty())
    return type.isIndex() ? infix(unsignedOp, x)
                          : unsignedInfix(unsignedOp, type, x);
  if (name == "negf")
    return "-" + x[0];
  if (StringRef form = formPlusOne(op); !form.empty() && hasOneAdded(op))
    return call(form, x);
  if (name == "erf" && mayHaveAbsoluteError(op))
    return call("quickErf", x);
  if (mayBeQuickExp(op))
    return call("quickExp", x);
  if (name == "maximumf")
    return call("maximum", x);
  if (name == "minimumf")
    return call("minimum", x);
  if (name == "maxnumf" || name == "minnumf")
    return call(name == "maxnumf" ? (type.isF64() ? "fmax" : "fmaxf")
                                  : (type.isF64() ? "fmin" : "fminf"),
                x);
  if (name == "maxsi" || name == "minsi")
    return extremum(name == "maxsi" ? "maximum" : "minimum", type, x);
  if (name == "maxui" || name == "minui") {
    std::string u = unsignedType(type);
    return llvm::formatv("static_cast<{0}>({1}) {2} static_cast<{0}>({3}) ? "
                         "{1} : {3}",
                         u, x[0], name == "maxui" ? ">" : "<", x[1]);
  }
  if (name == "absi")
    return llvm::formatv("{0} < 0 ? -{0} : {0}", x[0]);
  if (name == "isnan")
    return llvm::formatv("{0} != {0}", x[0]);
  if (StringRef function = mathFunction(op); !function.empty())
    return call(type.isF64() ? function.str() : function.str() + "f", x);
  return "";
}

} // namespace

std::string cudaType(Type type) {
  if (type.isIndex())
    return "Index";
  if (type.isF16())
    return "half";
  if (type.isBF16())
    return "bfloat";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(8))
    return "signed char";
  if (type.isInteger(16))
    return "short";
  if (type.isInteger(32))
    return "int";
  if (type.isInteger(64))
    return "long long";
  return "";
}

int64_t cudaBytes(Type elementType) {
  return std::max<int64_t>(1, elementType.getIntOrFloatBitWidth() / 8);
}

std::string cudaConstant(Attribute constant) {
  if (auto integer = dyn_cast<IntegerAttr>(constant)) {
    Type type = integer.getType();
    if (type.isInteger(1))
      return integer.getValue().isZero() ? "false" : "true";
    int64_t value = integer.getValue().getSExtValue();
    if (value == std::numeric_limits<int64_t>::min())
      return "(-9223372036854775807ll - 1)";
    std::string text = std::to_string(value);
    if (type.isInteger(64))
      text += "ll";
    return value < 0 ? "(" + text + ")" : text;
  }
  auto number = cast<FloatAttr>(constant);
  Type type = number.getType();
  if (mlir::ait::isHalf(type)) {
    APInt bits = number.getValue().bitcastToAPInt();
    return cudaType(type) + "{" + std::to_string(bits.getZExtValue()) + "}";
  }
  double value = number.getValueAsDouble();
  if (!std::isfinite(value)) {
    if (type.isF64())
      return llvm::formatv(
          "__longlong_as_double({0})",
          static_cast<int64_t>(
              number.getValue().bitcastToAPInt().getZExtValue()));
    return llvm::formatv(
        "__int_as_float({0:x})",
        static_cast<uint32_t>(
            number.getValue().bitcastToAPInt().getZExtValue()));
  }
  char text[64];
  snprintf(text, sizeof(text), type.isF64() ? "%.17g" : "%.9g", value);
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos)
    result += ".0";
  if (type.isF32())
    result += "f";
  return value < 0 || std::signbit(value) ? "(" + result + ")" : result;
}

std::string cudaExpression(Operation *op, ArrayRef<std::string> operands) {
  Type type = op->getResult(0).getType();
  Type from = op->getNumOperands() ? op->getOperand(0).getType() : type;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return llvm::formatv("{0} ? {1} : {2}", operands[0], operands[1],
                         operands[2]);
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
          arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp,
          arith::FPToUIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return convert(op, from, type, operands);
  SmallVector<std::string> values(operands.begin(), operands.end());
  if (mlir::ait::isHalf(from))
    for (std::string &value : values)
      value = "toFloat(" + value + ")";
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareFloats(compare.getPredicate(), values[0], values[1]);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare.getPredicate(), from, values);
  if (!isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return "";
  if (auto power = dyn_cast<math::FPowIOp>(op))
    return "";
  std::string text = spell(
      op, mlir::ait::isHalf(type) ? Float32Type::get(op->getContext()) : type,
      values);
  if (text.empty() || !mlir::ait::isHalf(type))
    return text;
  return llvm::formatv("to<{0}>({1})", cudaType(type), text);
}

} // namespace aitune
