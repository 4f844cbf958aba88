// The pass ait-relax-checks, which removes checks that cannot fail.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/dialect/SizeBounds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>

namespace aitune {
#define GEN_PASS_DEF_RELAXCHECKS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace aitune {
namespace {

/// The values of an integer tensor's elements: expressions of the module's
/// symbols, both ends included.
struct Range {
  AffineExpr low, high;
};

class RangeFinder {
public:
  RangeFinder(ArrayAttr symbols, const ConstantRange &constants,
              MLIRContext *context)
      : constants(constants), context(context), symbols(symbols) {}

  /// Whether the expression is at least 0 for all values of the symbols.
  bool isNonNegative(AffineExpr expr) const {
    std::optional<SizeBounds> bounds = evaluate(canonicalizeSize(expr));
    return bounds && bounds->low >= 0;
  }

  std::optional<Range> find(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !isa<IntegerType>(type.getElementType()))
      return std::nullopt;
    auto known = ranges.find(value);
    if (known != ranges.end())
      return known->second;
    std::optional<Range> range = findNew(value);
    SizeBounds limits = boundsOf(cast<IntegerType>(type.getElementType()));
    // What may wrap around may be anything.
    if (!range || !fits(*range, limits))
      range = fromBounds(limits);
    return ranges[value] = range;
  }

private:
  AffineExpr number(int64_t value) const {
    return getAffineConstantExpr(value, context);
  }
  Range fromBounds(SizeBounds bounds) const {
    return {number(bounds.low), number(bounds.high)};
  }

  /// The range of the values of a type; kMostSizeBound stands for anything
  /// greater.
  static SizeBounds boundsOf(IntegerType type) {
    unsigned width = type.getWidth();
    if (width >= 64)
      return SizeBounds{-kMostSizeBound, kMostSizeBound};
    if (type.isUnsigned() || width == 1)
      return SizeBounds{0, (int64_t{1} << width) - 1};
    return SizeBounds{-(int64_t{1} << (width - 1)),
                      (int64_t{1} << (width - 1)) - 1};
  }

  bool fits(const Range &range, SizeBounds limits) const {
    std::optional<SizeBounds> low = evaluate(canonicalizeSize(range.low)),
                              high = evaluate(canonicalizeSize(range.high));
    return low && high && low->low >= limits.low && high->high <= limits.high;
  }
  bool isFinite(const Range &range) const {
    return fits(range, {-kMostSizeBound + 1, kMostSizeBound - 1});
  }

  std::optional<SizeBounds> evaluate(AffineExpr expr) const {
    return getSizeBounds(expr, symbols);
  }

  enum class Side { Low, High };
  /// The lesser (low side) or the greater of both; a number beyond it where
  /// neither always is.
  AffineExpr outer(Side side, AffineExpr a, AffineExpr b) const {
    const bool wantsLess = side == Side::Low;
    if (isNonNegative(b - a))
      return wantsLess ? a : b;
    if (isNonNegative(a - b))
      return wantsLess ? b : a;
    std::optional<SizeBounds> first = evaluate(a), second = evaluate(b);
    if (!first || !second)
      return nullptr;
    return number(wantsLess ? std::min(first->low, second->low)
                            : std::max(first->high, second->high));
  }

  /// Of tensors any of whose elements may be an element of the result.
  std::optional<Range> findUnion(ValueRange values) {
    std::optional<Range> all;
    for (Value value : values) {
      std::optional<Range> range = find(value);
      if (!range)
        return std::nullopt;
      if (all)
        range = Range{outer(Side::Low, all->low, range->low),
                      outer(Side::High, all->high, range->high)};
      if (!range->low || !range->high)
        return std::nullopt;
      all = range;
    }
    return all;
  }

  std::optional<Range> findIota(IotaOp op) const {
    double start = op.getStart().convertToDouble(),
           step = op.getStep().convertToDouble();
    constexpr double kExact = 1LL << 53; // Whole numbers of a double.
    if (start != std::trunc(start) || step != std::trunc(step) ||
        std::abs(start) > kExact || std::abs(step) > kExact)
      return std::nullopt;
    AffineExpr first = number(static_cast<int64_t>(start)),
               last =
                   first + (getSymbolicSizes(op.getType())[op.getDim()] - 1) *
                               static_cast<int64_t>(step);
    return step >= 0 ? Range{first, last} : Range{last, first};
  }

  std::optional<Range> findBinary(Operation *op) {
    std::optional<Range> lhs = find(op->getOperand(0)),
                         rhs = find(op->getOperand(1));
    if (!rhs)
      return std::nullopt;
    if (isa<RemainderOp>(op)) {
      // With the divisor's sign.
      if (!isNonNegative(rhs->low - 1))
        return std::nullopt;
      return Range{number(0), rhs->high - 1};
    }
    if (!lhs)
      return std::nullopt;
    if (isa<AddOp, SubOp, MulOp>(op) && (!isFinite(*lhs) || !isFinite(*rhs)))
      return std::nullopt;
    if (isa<AddOp>(op))
      return Range{lhs->low + rhs->low, lhs->high + rhs->high};
    if (isa<SubOp>(op))
      return Range{lhs->low - rhs->high, lhs->high - rhs->low};
    if (isa<MulOp>(op)) {
      if (!isNonNegative(lhs->low) || !isNonNegative(rhs->low))
        return std::nullopt;
      return Range{lhs->low * rhs->low, lhs->high * rhs->high};
    }
    // Where it is not known which bound counts, either is one.
    Range range;
    if (isa<MaximumOp>(op))
      range = {isNonNegative(rhs->low - lhs->low) ? rhs->low : lhs->low,
               outer(Side::High, lhs->high, rhs->high)};
    else
      range = {outer(Side::Low, lhs->low, rhs->low),
               isNonNegative(lhs->high - rhs->high) ? rhs->high : lhs->high};
    if (!range.low || !range.high)
      return std::nullopt;
    return range;
  }

  std::optional<Range> findNew(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    using Found = std::optional<Range>;
    return llvm::TypeSwitch<Operation *, Found>(op)
        .Case([&](FullOp full) -> Found {
          auto constant = dyn_cast<IntegerAttr>(full.getValue());
          if (!constant)
            return std::nullopt;
          APInt bits = constant.getValue();
          int64_t element =
              constant.getType().isUnsignedInteger() || bits.getBitWidth() == 1
                  ? static_cast<int64_t>(bits.getZExtValue())
                  : bits.getSExtValue();
          return fromBounds({element, element});
        })
        .Case([&](IotaOp iota) { return findIota(iota); })
        .Case([&](ConstantOp constant) -> Found {
          auto range =
              constants ? constants(constant.getIndex()) : std::nullopt;
          if (!range)
            return std::nullopt;
          return fromBounds({range->first, range->second});
        })
        .Case([&](CheckOp check) -> Found {
          if (std::optional<AffineMap> size = check.getSize())
            return Range{number(0), size->getResult(0) - 1};
          return find(check.getInput());
        })
        .Case<ArgmaxOp, ArgminOp>([&](auto arg) -> Found {
          if (arg.getDims().size() != 1)
            return std::nullopt;
          AffineExpr entries =
              getSymbolicSizes(arg.getInput().getType())[arg.getDims()[0]];
          return Range{number(0), entries - 1};
        })
        .Case([&](ConvertOp convert) { return find(convert.getInput()); })
        .Case([&](ConcatOp concat) { return findUnion(concat.getInputs()); })
        .Case([&](WhereOp where) {
          return findUnion({where.getOnTrue(), where.getOnFalse()});
        })
        .Case<AddOp, SubOp, MulOp, MaximumOp, MinimumOp, RemainderOp>(
            [&](Operation *binary) { return findBinary(binary); })
        .Default([&](Operation *op) -> Found {
          return isSelection(op) ? find(op->getOperand(0)) : std::nullopt;
        });
  }

  const ConstantRange &constants;
  MLIRContext *context;
  const ArrayAttr symbols;
  llvm::DenseMap<Value, std::optional<Range>> ranges;
};

struct RelaxChecks : impl::RelaxChecksBase<RelaxChecks> {
  using RelaxChecksBase::RelaxChecksBase;
  RelaxChecks(RelaxChecksOptions options, ConstantRange constants)
      : RelaxChecksBase(std::move(options)), constants(std::move(constants)) {}

  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    RangeFinder finder(module ? getModuleSymbols(module) : ArrayAttr(),
                       constants, &getContext());
    SmallVector<CheckOp> checks;
    getOperation().walk([&](CheckOp check) { checks.push_back(check); });
    SmallVector<CheckOp> dropped;
    for (CheckOp check : checks) {
      std::optional<Range> range = finder.find(check.getInput());
      bool wanted = check.getSize() ? !silenceIndices : !silenceDivisors;
      bool neverFails = range && cannotFail(finder, check, *range);
      if (neverFails &&
          !(check.getFromEnd() && !finder.isNonNegative(range->low)))
        dropped.push_back(check);
      else if (neverFails || !wanted)
        check.setSilent(true);
    }
    for (CheckOp check : dropped) {
      check.replaceAllUsesWith(check.getInput());
      check.erase();
    }
  }

private:
  static bool cannotFail(const RangeFinder &finder, CheckOp check,
                         const Range &range) {
    std::optional<AffineMap> size = check.getSize();
    if (!size)
      return finder.isNonNegative(range.low - 1) ||
             finder.isNonNegative(-range.high - 1);
    AffineExpr entries = size->getResult(0);
    return finder.isNonNegative(entries - 1 - range.high) &&
           finder.isNonNegative(check.getFromEnd() ? range.low + entries
                                                   : range.low);
  }

  ConstantRange constants;
};

} // namespace

std::unique_ptr<Pass> createRelaxChecks(RelaxChecksOptions options,
                                        ConstantRange constants) {
  return std::make_unique<RelaxChecks>(std::move(options),
                                       std::move(constants));
}

} // namespace aitune
