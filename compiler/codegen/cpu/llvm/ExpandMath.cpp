#include "compiler/codegen/cpu/llvm/ExpandMath.h"

#include "compiler/codegen/cpu/llvm/MathApproximations.h"
#include "compiler/codegen/cpu/llvm/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"

#include <limits>

using namespace mlir;

namespace aitune {

#define GEN_PASS_DEF_CPUEXPANDMATHPASS
#include "compiler/codegen/cpu/llvm/Passes.h.inc"

namespace {

using Approximation = Value (*)(OpBuilder &, Location, Value, bool hasScale);

struct Function {
  /// libm's name for f64; f32's has an "f" after it.
  const char *libm;
  /// The arithmetic for f32; null where calls are good enough.
  Approximation approximation;
  /// Whether libmvec computes several at once.
  bool hasVectorForm = true;
};

/// Nothing for operations that LLVM turns into instructions.
std::optional<Function> lookUp(Operation *op) {
  static const llvm::StringMap<Function> functions = {
      {"math.exp", {"exp", approximateExp}},
      {"math.exp2", {"exp2", approximateExp2}},
      {"math.expm1", {"expm1", approximateExpm1}},
      {"math.log", {"log", approximateLog}},
      {"math.log2", {"log2", approximateLog2}},
      {"math.log10", {"log10", approximateLog10}},
      {"math.log1p", {"log1p", approximateLog1p}},
      {"math.tanh", {"tanh", approximateTanh}},
      {"math.erf", {"erf", approximateErf}},
      {"math.sin", {"sin", nullptr}},
      {"math.cos", {"cos", nullptr}},
      {"math.tan", {"tan", nullptr}},
      {"math.asin", {"asin", nullptr}},
      {"math.acos", {"acos", nullptr}},
      {"math.atan", {"atan", nullptr}},
      {"math.sinh", {"sinh", nullptr}},
      {"math.cosh", {"cosh", nullptr}},
      {"math.asinh", {"asinh", nullptr}},
      {"math.acosh", {"acosh", nullptr}},
      {"math.atanh", {"atanh", nullptr}},
      {"math.powf", {"pow", nullptr}},
      {"math.atan2", {"atan2", nullptr}},
      {"arith.remf", {"fmod", nullptr, /*hasVectorForm=*/false}},
  };
  auto found = functions.find(op->getName().getStringRef());
  if (found == functions.end())
    return std::nullopt;
  Function function = found->second;
  if (auto exp = dyn_cast<math::ExpOp>(op);
      exp &&
      arith::bitEnumContainsAll(exp.getFastmath(), arith::FastMathFlags::afn))
    function.approximation = approximateWeight;
  return function;
}

func::FuncOp declare(ModuleOp module, StringRef name, Type type,
                     unsigned arguments) {
  if (auto existing = module.lookupSymbol<func::FuncOp>(name))
    return existing;
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  SmallVector<Type> inputs(arguments, type);
  auto function = func::FuncOp::create(builder, module.getLoc(), name,
                                       builder.getFunctionType(inputs, type));
  function.setPrivate();
  return function;
}

/// The name of libmvec's function for `lanes` elements of `bits` bits at once,
/// as the vector function ABI of x86-64 writes it; empty if the instruction set
/// of `vectorBits` has no register of that many.
std::string getVectorName(StringRef libm, int64_t lanes, int64_t bits,
                          unsigned arguments, int64_t vectorBits) {
  const int64_t width = lanes * bits;
  if (width > vectorBits || (width != 128 && width != 256 && width != 512))
    return "";
  const char *instructions = width == 512 ? "e" : width == 256 ? "d" : "b";
  return (Twine("_ZGV") + instructions + "N" + Twine(lanes) +
          std::string(arguments, 'v') + "_" + libm)
      .str();
}

/// The result of `op` on vectors by calls of libmvec, each of as many lanes as
/// a register has; null where it has no register for so few.
Value callLanesTogether(OpBuilder &builder, Operation *op, ModuleOp module,
                        StringRef libm, int64_t vectorBits) {
  auto vector = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!vector || vectorBits == 0)
    return nullptr;
  Location location = op->getLoc();
  Type element = vector.getElementType();
  const int64_t bits = element.getIntOrFloatBitWidth(),
                count = vector.getNumElements(),
                lanes = std::min(count, vectorBits / bits);
  const std::string name =
      getVectorName(libm, lanes, bits, op->getNumOperands(), vectorBits);
  if (name.empty() || count % lanes != 0)
    return nullptr;
  auto part = VectorType::get({lanes}, element),
       flat = VectorType::get({count}, element);
  func::FuncOp callee = declare(module, name, part, op->getNumOperands());
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(
        builder.createOrFold<vector::ShapeCastOp>(location, flat, operand));
  Value result =
      arith::ConstantOp::create(builder, location, builder.getZeroAttr(flat));
  for (int64_t first = 0; first < count; first += lanes) {
    SmallVector<Value> parts;
    for (Value operand : operands)
      parts.push_back(builder.createOrFold<vector::ExtractStridedSliceOp>(
          location, operand, first, lanes, 1));
    Value called =
        func::CallOp::create(builder, location, callee, parts).getResult(0);
    result = lanes == count ? called
                            : vector::InsertStridedSliceOp::create(
                                  builder, location, called, result, first, 1);
  }
  return builder.createOrFold<vector::ShapeCastOp>(location, vector, result);
}

Value callEachLane(OpBuilder &builder, Operation *op, func::FuncOp callee) {
  Location location = op->getLoc();
  auto call = [&](ValueRange operands) {
    return func::CallOp::create(builder, location, callee, operands)
        .getResult(0);
  };
  auto vector = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!vector)
    return call(op->getOperands());
  Value result =
      arith::ConstantOp::create(builder, location, builder.getZeroAttr(vector));
  SmallVector<int64_t> strides(vector.getRank(), 1);
  for (int64_t i = vector.getRank() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * vector.getDimSize(i + 1);
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
    SmallVector<int64_t> position;
    for (int64_t axis = 0; axis < vector.getRank(); ++axis)
      position.push_back(lane / strides[axis] % vector.getDimSize(axis));
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          vector::ExtractOp::create(builder, location, operand, position));
    result = vector::InsertOp::create(builder, location, call(operands), result,
                                      position);
  }
  return result;
}

/// The rest of a division, which is x - q * y for the quotient q without its
/// fraction: one rounding, of a number that needs none, while q is exact. Where
/// a lane's is not, or y is infinite, all of them call `callee`. A quotient may
/// be rounded up to a whole number; then the rest is negative.
Value expandRemainder(OpBuilder &builder, Operation *op, func::FuncOp callee) {
  Location location = op->getLoc();
  Value x = op->getOperand(0), y = op->getOperand(1);
  Type type = x.getType(), element = getElementTypeOrSelf(type);
  auto constant = [&](double number) -> Value {
    TypedAttr attribute = builder.getFloatAttr(element, number);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(builder, location, attribute);
  };
  auto isLess = [&](Value a, Value b) -> Value {
    return arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OLT,
                                 a, b);
  };
  Value absX = math::AbsFOp::create(builder, location, x),
        absY = math::AbsFOp::create(builder, location, y);
  Value quotient = math::TruncOp::create(
      builder, location, arith::DivFOp::create(builder, location, absX, absY));
  Value isExact = arith::AndIOp::create(
      builder, location,
      isLess(quotient, constant(element.isF32() ? 0x1p23 : 0x1p52)),
      isLess(absY, constant(std::numeric_limits<double>::infinity())));
  if (auto vector = dyn_cast<VectorType>(type)) {
    auto flat = VectorType::get({vector.getNumElements()}, builder.getI1Type());
    isExact = vector::ReductionOp::create(
        builder, location, vector::CombiningKind::AND,
        builder.createOrFold<vector::ShapeCastOp>(location, flat, isExact));
  }
  auto choice = scf::IfOp::create(builder, location, type, isExact,
                                  /*withElseRegion=*/true);
  builder.setInsertionPointToStart(choice.thenBlock());
  Value rest = math::FmaOp::create(
      builder, location, arith::NegFOp::create(builder, location, quotient),
      absY, absX);
  rest = arith::SelectOp::create(
      builder, location, isLess(rest, constant(0)),
      arith::AddFOp::create(builder, location, rest, absY), rest);
  rest = math::CopySignOp::create(builder, location, rest, x);
  scf::YieldOp::create(builder, location, rest);
  builder.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(builder, location, callEachLane(builder, op, callee));
  builder.setInsertionPointAfter(choice);
  return choice.getResult(0);
}

/// maximumf and minimumf without the order of zeros that LLVM's intrinsics keep
/// (at three times the instructions) and PyTorch does not.
Value expandExtremum(OpBuilder &builder, Operation *op) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  auto predicate = isa<arith::MaximumFOp>(op) ? arith::CmpFPredicate::OLT
                                              : arith::CmpFPredicate::OGT;
  auto compare = [&](arith::CmpFPredicate which, Value a, Value b) {
    return builder.createOrFold<arith::CmpFOp>(op->getLoc(), which, a, b);
  };
  Value chosen = arith::SelectOp::create(
      builder, op->getLoc(), compare(predicate, lhs, rhs), rhs, lhs);
  return builder.createOrFold<arith::SelectOp>(
      op->getLoc(), compare(arith::CmpFPredicate::UNO, rhs, rhs), rhs, chosen);
}

/// Round to nearest even on the bits; NaN stays a quiet NaN.
Value expandToBfloat16(OpBuilder &builder, Operation *op) {
  Location location = op->getLoc();
  Value x = op->getOperand(0);
  auto shaped = [&](Type element) -> Type {
    auto vector = dyn_cast<VectorType>(x.getType());
    return vector ? Type(vector.clone(element)) : element;
  };
  Type wide = shaped(builder.getI32Type());
  auto constant = [&](int32_t number) -> Value {
    TypedAttr attribute = builder.getI32IntegerAttr(number);
    if (auto vector = dyn_cast<VectorType>(wide))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(builder, location, attribute);
  };
  Value bits = arith::BitcastOp::create(builder, location, wide, x);
  Value high = arith::ShRUIOp::create(builder, location, bits, constant(16));
  Value odd = arith::AndIOp::create(builder, location, high, constant(1));
  Value bias = arith::AddIOp::create(builder, location, odd, constant(0x7fff));
  Value rounded = arith::ShRUIOp::create(
      builder, location, arith::AddIOp::create(builder, location, bits, bias),
      constant(16));
  Value isNan =
      arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNO, x, x);
  Value quiet = arith::OrIOp::create(builder, location, high, constant(0x40));
  Value chosen =
      arith::SelectOp::create(builder, location, isNan, quiet, rounded);
  Value narrow = arith::TruncIOp::create(builder, location,
                                         shaped(builder.getI16Type()), chosen);
  return arith::BitcastOp::create(builder, location, op->getResult(0).getType(),
                                  narrow);
}

struct CpuExpandMathPass : impl::CpuExpandMathPassBase<CpuExpandMathPass> {
  using CpuExpandMathPassBase::CpuExpandMathPassBase;

  void runOnOperation() override {
    if (failed(
            expandMath(getOperation(), hasBfloat16, hasScale, vectorMathBits)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult expandMath(Operation *root, bool hasBfloat16, bool hasScale,
                         int64_t vectorMathBits) {
  ModuleOp module = isa<ModuleOp>(root) ? cast<ModuleOp>(root)
                                        : root->getParentOfType<ModuleOp>();
  SmallVector<std::pair<Operation *, Function>> work;
  root->walk([&](Operation *op) {
    OpBuilder builder(op);
    Value replacement;
    if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
      replacement = expandExtremum(builder, op);
    else if (isa<arith::TruncFOp>(op) && !hasBfloat16 &&
             getElementTypeOrSelf(op->getResult(0)).isBF16() &&
             getElementTypeOrSelf(op->getOperand(0)).isF32())
      replacement = expandToBfloat16(builder, op);
    if (replacement) {
      op->getResult(0).replaceAllUsesWith(replacement);
      op->erase();
      return;
    }
    if (std::optional<Function> function = lookUp(op))
      work.emplace_back(op, *function);
  });
  for (auto [op, function] : work) {
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    OpBuilder builder(op);
    Value replacement;
    if (element.isF32() && function.approximation) {
      replacement = function.approximation(builder, op->getLoc(),
                                           op->getOperand(0), hasScale);
    } else if ((element.isF32() || element.isF64()) && module) {
      std::string name =
          std::string(function.libm) + (element.isF32() ? "f" : "");
      if (function.hasVectorForm)
        replacement =
            callLanesTogether(builder, op, module, name, vectorMathBits);
      if (!replacement) {
        func::FuncOp callee =
            declare(module, name, element, op->getNumOperands());
        replacement = isa<arith::RemFOp>(op)
                          ? expandRemainder(builder, op, callee)
                          : callEachLane(builder, op, callee);
      }
    } else {
      return op->emitOpError() << "has no code for elements of " << element
                               << "; convert to f32 before it";
    }
    op->getResult(0).replaceAllUsesWith(replacement);
    op->erase();
  }
  return success();
}

} // namespace aitune
