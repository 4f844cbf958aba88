// f16 and bf16 kernels compute in f32.
//
// Every value has up to two forms: the narrow one, as it is in memory, and the
// wide one, f32. Arithmetic is rebuilt on wide operands; loads (the kernel's
// inputs, possibly through data movement) widen when arithmetic reads them;
// contractions keep reading narrow operands, which is what the hardware's dot
// products take, and give wide results.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace aitune {
#define GEN_PASS_DEF_PROMOTEKERNELARITHMETIC
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
bool isNarrow(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor &&
         (tensor.getElementType().isF16() || tensor.getElementType().isBF16());
}

/// Whether it may make all the difference that eager rounds the operand, as it
/// stores it:
/// - at the end of a domain or beside a pole: asin(1.0002), the root or the
///   logarithm of -1e-9, what is divided by 1e-9;
/// - at a jump: comparisons, also with the infinity that the rounding gives,
///   floor(0.9999), integers, the place of the first of several that are the
///   same once they are rounded;
/// - where the result is all error: the sine of a large number, the difference
///   of two that are nearly the same, the exponential of 80 in bf16, of which
///   an ulp is 0.5;
/// - in a conversion that gives what is stored (mlir::ait::mustRound).
bool needsRounded(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (auto conversion = dyn_cast<ConvertOp>(op))
    return mustRound(op) ||
           isa<IntegerType>(conversion.getType().getElementType());
  if (isa<DivOp>(op))
    return operand.getOperandNumber() == 1;
  if (isa<ExpOp, Exp2Op, Expm1Op, SinhOp, CoshOp>(op))
    return cast<RankedTensorType>(operand.get().getType())
        .getElementType()
        .isBF16();
  return isa<AsinOp, AcosOp, AcoshOp, AtanhOp, Log1pOp, PowOp, SqrtOp, RsqrtOp,
             LogOp, Log2Op, Log10Op, ReciprocalOp, SubOp, SinOp, CosOp, TanOp,
             IsNanOp, IsInfOp, EqOp, NeOp, LtOp, LeOp, GtOp, GeOp, LogicalNotOp,
             FloorOp, CeilOp, RoundOp, TruncOp, FloorDivideOp, RemainderOp,
             FmodOp, SignOp, ArgmaxOp, ArgminOp>(op);
}

/// Whether `value` is a number, which eager's operators read as it is.
bool isNumber(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isMovement(op) && op->getNumOperands() == 1)
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<FullOp>(op);
}

/// Whether that is so for one of the operations that read `value`, or moved.
bool isReadRounded(Value value) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *op = use.getOwner();
    if (isMovement(op))
      return llvm::any_of(op->getResults(), isReadRounded);
    return needsRounded(use) && (isa<ConvertOp>(op) || !isNumber(value));
  });
}

class Promotion {
public:
  Promotion(func::FuncOp kernel, bool emulateEagerCasts)
      : kernel(kernel), builder(kernel.getContext()),
        emulateEagerCasts(emulateEagerCasts) {}

  void run() {
    SmallVector<Operation *> operations;
    for (Operation &op : kernel.getBody().front())
      operations.push_back(&op);
    for (Operation *op : operations) {
      builder.setInsertionPoint(op);
      if (isa<func::ReturnOp>(op))
        rewriteOperands(op, &Promotion::narrow);
      else if (isContraction(op))
        rewriteContraction(op);
      else if (isMovement(op))
        rewriteMovement(op);
      else
        rewriteArithmetic(op);
    }
    // What only narrow arithmetic read is dead now.
    for (Operation *op : llvm::reverse(operations))
      if (op->use_empty() && !op->hasTrait<OpTrait::IsTerminator>())
        op->erase();
  }

private:
  using Form = Value (Promotion::*)(Value);

  Value convert(Value value, Type elementType) {
    auto type = cast<RankedTensorType>(value.getType());
    return ConvertOp::create(builder, value.getLoc(),
                             withElementType(type, elementType), value);
  }

  /// The f32 form of `value`; other types are their own.
  Value wide(Value value) {
    if (!isNarrow(value.getType()))
      return value;
    Value &form = wideForms[value];
    if (!form) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(value);
      form = convert(value, builder.getF32Type());
    }
    return form;
  }

  /// The form of `value` that is stored: rounded if it was computed.
  Value narrow(Value value) {
    if (!computed.contains(value))
      return value;
    Value &form = narrowForms[value];
    if (!form)
      form = convert(wideForms.lookup(value),
                     cast<RankedTensorType>(value.getType()).getElementType());
    return form;
  }

  /// `wideForm`, rounded to the type of `narrow`, as eager stores it.
  Value store(Value wideForm, Value narrow) {
    Value stored = convert(
        wideForm, cast<RankedTensorType>(narrow.getType()).getElementType());
    setMustRound(stored.getDefiningOp());
    return stored;
  }

  void rewriteOperands(Operation *op, Form form) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set((this->*form)(operand.get()));
  }

  /// Gives `result` its f32 form. Where a reader needs it rounded, all readers
  /// get that, as if it was loaded: what they make of it may cancel.
  void define(Value result, Value form) {
    if (emulateEagerCasts || isReadRounded(result)) {
      result.replaceAllUsesWith(store(form, result));
      return;
    }
    wideForms[result] = form;
    computed.insert(result);
  }

  /// A copy of `op` on other forms of its operands, with f32 results.
  Operation *copyWide(Operation *op, Form form) {
    OperationState state(op->getLoc(), op->getName());
    for (Value operand : op->getOperands())
      state.addOperands((this->*form)(operand));
    for (Type type : op->getResultTypes())
      state.addTypes(isNarrow(type)
                         ? Type(withElementType(cast<RankedTensorType>(type),
                                                builder.getF32Type()))
                         : type);
    state.addAttributes(op->getAttrs());
    return builder.create(state);
  }

  void replaceByWide(Operation *op, Operation *copy) {
    for (auto [result, wideResult] :
         llvm::zip_equal(op->getResults(), copy->getResults())) {
      if (!isNarrow(result.getType())) {
        result.replaceAllUsesWith(wideResult);
        continue;
      }
      define(result, wideResult);
    }
  }

  void rewriteContraction(Operation *op) {
    if (!isNarrow(op->getResult(0).getType()))
      return rewriteOperands(op, &Promotion::narrow);
    replaceByWide(op, copyWide(op, &Promotion::narrow));
  }

  /// Moves the wide form when the source was computed here, the narrow one when
  /// it was loaded.
  void rewriteMovement(Operation *op) {
    if (llvm::any_of(op->getOperands(),
                     [&](Value value) { return computed.contains(value); }) &&
        isNarrow(op->getResult(0).getType()))
      replaceByWide(op, copyWide(op, &Promotion::wide));
  }

  void rewriteArithmetic(Operation *op) {
    const bool narrowResult = llvm::any_of(op->getResultTypes(), isNarrow);
    if (!narrowResult && llvm::none_of(op->getOperandTypes(), isNarrow))
      return;
    if (auto full = dyn_cast<FullOp>(op)) {
      auto number = cast<FloatAttr>(full.getValue());
      auto copy =
          FullOp::create(builder, op->getLoc(),
                         withElementType(full.getType(), builder.getF32Type()),
                         builder.getF32FloatAttr(number.getValueAsDouble()));
      return replaceByWide(op, copy);
    }
    // Positions are counted exactly, and rounded once as they are stored.
    if (isa<IotaOp>(op)) {
      Value result = op->getResult(0);
      result.replaceAllUsesWith(
          store(copyWide(op, &Promotion::wide)->getResult(0), result));
      return;
    }
    if (auto conversion = dyn_cast<ConvertOp>(op))
      return rewriteConversion(conversion);
    replaceByWide(op, copyWide(op, &Promotion::wide));
  }

  /// A conversion between f32 and a narrow type is the change of form, unless
  /// the model itself asks for the rounding: then the result is as if loaded.
  /// Other types become narrow by way of f32, as they do in LibTorch.
  void rewriteConversion(ConvertOp conversion) {
    Value source = wide(conversion.getInput());
    Value result = conversion.getResult();
    if (isNarrow(result.getType())) {
      if (!cast<RankedTensorType>(source.getType()).getElementType().isF32())
        source = convert(source, builder.getF32Type());
      if (emulateEagerCasts || mustRound(conversion)) {
        conversion.getInputMutable().assign(source);
        return;
      }
      define(result, source);
    } else if (conversion.getType() == source.getType()) {
      result.replaceAllUsesWith(source);
    } else {
      conversion.getInputMutable().assign(source);
    }
  }

  func::FuncOp kernel;
  OpBuilder builder;
  bool emulateEagerCasts;
  /// Narrow values by their f32 form and by their rounded form.
  DenseMap<Value, Value> wideForms, narrowForms;
  /// Narrow values that exist in f32 only until they are stored.
  DenseSet<Value> computed;
};

class PromoteKernelArithmeticPass
    : public aitune::impl::PromoteKernelArithmeticBase<
          PromoteKernelArithmeticPass> {
public:
  using PromoteKernelArithmeticBase::PromoteKernelArithmeticBase;

  void runOnOperation() override {
    if (isKernel(getOperation()))
      Promotion(getOperation(), emulateEagerCasts).run();
  }
};
} // namespace
