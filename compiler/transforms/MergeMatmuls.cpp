// Matmuls of one input with several weights as one: the query, key and value of
// attention.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/SizeExpressions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {
#define GEN_PASS_DEF_MERGEMATMULS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
/// Rows of which weights are streamed.
constexpr int64_t kFewRows = 2;

/// An operation after a matmul that treats columns apart: a conversion, or
/// arithmetic with one number for each column or for each row.
struct TailStep {
  Operation *op;
  unsigned chain;     ///< number of the operand that comes from the matmul
  ConstantOp columns; ///< a number for each column, or null
  Value rows; ///< a number for each row, the same in all branches, or null
};

/// A matmul with a weight, and what follows it: a bias; the scales of codes.
struct Branch {
  MatmulOp matmul;
  ConstantOp weight;
  SmallVector<TailStep> tail;

  Value result() {
    return tail.empty() ? Value(matmul) : Value(tail.back().op->getResult(0));
  }
};

/// Whether `value` is read as it is: nothing would be an epilogue of its
/// matmul, which merging would part from it.
bool isReadAsItIs(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    if (isa<ReshapeOp, PermuteOp, SliceOp>(use.getOwner()))
      return isReadAsItIs(use.getOwner()->getResult(0));
    auto contraction = dyn_cast<Contraction>(use.getOwner());
    return contraction && contraction.getOperandRead(use) != OperandRead::Dense;
  });
}

/// Whether reading the weight takes the time: nothing that follows saves as
/// much as an epilogue as one kernel less does, whose loads begin only once the
/// kernel before it has ended.
bool hasFewRows(MatmulOp matmul) {
  ArrayRef<int64_t> sizes = matmul.getType().getShape().drop_back();
  return !ShapedType::isDynamicShape(sizes) &&
         ShapedType::getNumElements(sizes) <= kFewRows;
}

/// Whether `value` is there before `matmul`.
bool isBefore(Value value, MatmulOp matmul) {
  Operation *op = value.getDefiningOp();
  return !op ||
         (op->getBlock() == matmul->getBlock() && op->isBeforeInBlock(matmul));
}

/// The step that `op` is, of the branch of `matmul`, if it is one.
std::optional<TailStep> matchStep(Operation *op, Value chain, MatmulOp matmul) {
  if (isa<ConvertOp>(op))
    return TailStep{op, 0, {}, {}};
  if (!isa<AddOp, SubOp, MulOp>(op))
    return std::nullopt;
  const unsigned position = op->getOperand(0) == chain ? 0 : 1;
  auto expand = op->getOperand(1 - position).getDefiningOp<ExpandOp>();
  if (!expand)
    return std::nullopt;
  Value source = expand.getInput();
  auto type = cast<RankedTensorType>(source.getType());
  if (type.getRank() == 0)
    return std::nullopt;
  const int64_t last = type.getShape().back();
  auto constant = source.getDefiningOp<ConstantOp>();
  if (constant && type.getRank() == 1 &&
      last == matmul.getType().getShape().back())
    return TailStep{op, position, constant, {}};
  if (last == 1 && isBefore(source, matmul))
    return TailStep{op, position, {}, source};
  return std::nullopt;
}

/// The branch of `matmul`, if it can be merged with others.
std::optional<Branch> matchBranch(MatmulOp matmul) {
  auto weight = matmul.getRhs().getDefiningOp<ConstantOp>();
  if (!weight || cast<RankedTensorType>(weight.getType()).getRank() != 2 ||
      matmul.getTransposeLhs())
    return std::nullopt;
  Branch branch{matmul, weight, {}};
  while (branch.result().hasOneUse()) {
    std::optional<TailStep> step =
        matchStep(*branch.result().user_begin(), branch.result(), matmul);
    if (!step)
      break;
    branch.tail.push_back(*step);
  }
  if (!isReadAsItIs(branch.result()) && !hasFewRows(matmul))
    return std::nullopt;
  return branch;
}

int64_t columns(Branch branch) {
  return branch.matmul.getType().getShape().back();
}

/// The constants joined along `axis`, made before any of their uses.
Value join(OpBuilder &builder, Location location,
           ArrayRef<ConstantOp> constants, int64_t axis) {
  ConstantOp first = constants.front();
  SmallVector<Value> values;
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(first.getType()).getShape());
  shape[axis] = 0;
  for (ConstantOp constant : constants) {
    auto type = cast<RankedTensorType>(constant.getType());
    shape[axis] += type.getDimSize(axis);
    values.push_back(builder.clone(*constant)->getResult(0));
  }
  auto type = RankedTensorType::get(
      shape, cast<RankedTensorType>(values.front().getType()).getElementType());
  return ConcatOp::create(builder, location, type, values, axis);
}

/// The step that is number `step` of all branches, of their joined columns.
Value mergeStep(OpBuilder &builder, Location location,
                ArrayRef<Branch> branches, size_t step, Value chain) {
  const TailStep &first = branches.front().tail[step];
  auto widened = [&](Type type) {
    SmallVector<AffineExpr> sizes =
        getSymbolicSizes(cast<RankedTensorType>(chain.getType()));
    return getTensorType(sizes, cast<RankedTensorType>(type).getElementType());
  };
  IRMapping mapping;
  mapping.map(first.op->getOperand(first.chain), chain);
  if (first.op->getNumOperands() > 1) {
    Value numbers = first.rows;
    if (first.columns) {
      SmallVector<ConstantOp> columns;
      for (const Branch &branch : branches)
        columns.push_back(branch.tail[step].columns);
      numbers = join(builder, location, columns, 0);
    }
    Value other = first.op->getOperand(1 - first.chain);
    mapping.map(other, ExpandOp::create(builder, location,
                                        widened(other.getType()), numbers));
  }
  Operation *merged = builder.clone(*first.op, mapping);
  merged->setLoc(location);
  merged->getResult(0).setType(widened(first.op->getResult(0).getType()));
  return merged->getResult(0);
}

void merge(ArrayRef<Branch> branches) {
  MatmulOp first = branches.front().matmul;
  OpBuilder builder(first);
  SmallVector<Location> locations;
  SmallVector<ConstantOp> weights;
  int64_t width = 0;
  for (Branch branch : branches) {
    locations.push_back(branch.matmul.getLoc());
    weights.push_back(branch.weight);
    width += columns(branch);
  }
  Location location = builder.getFusedLoc(locations);
  Value weight =
      join(builder, location, weights, first.getTransposeRhs() ? 0 : 1);
  SmallVector<AffineExpr> sizes = getSymbolicSizes(first.getType());
  sizes.back() = builder.getAffineConstantExpr(width);
  Value result = MatmulOp::create(
      builder, location, getTensorType(sizes, first.getType().getElementType()),
      first.getLhs(), weight, false, first.getTransposeRhs());
  for (size_t step = 0; step < branches.front().tail.size(); ++step)
    result = mergeStep(builder, location, branches, step, result);
  SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  for (Branch branch : branches) {
    Value old = branch.result();
    old.replaceAllUsesWith(SliceOp::create(builder, location, old.getType(),
                                           result, starts, steps));
    starts.back() += columns(branch);
  }
  for (Branch branch : branches) {
    for (const TailStep &step : llvm::reverse(branch.tail))
      step.op->erase();
    branch.matmul.erase();
  }
}

/// What matmuls have in common that can be one.
using StepKey = std::tuple<OperationName, Type, unsigned, Type, Value>;
using Key =
    std::tuple<Block *, Value, Type, Type, int64_t, bool, std::vector<StepKey>>;

Key keyOf(Branch branch) {
  auto weight = cast<RankedTensorType>(branch.weight.getType());
  const bool transposed = branch.matmul.getTransposeRhs();
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  std::vector<StepKey> steps;
  for (TailStep &step : branch.tail)
    steps.emplace_back(step.op->getName(), elementOf(step.op->getResult(0)),
                       isa<SubOp>(step.op) ? step.chain : 0,
                       step.columns ? elementOf(step.columns) : Type(),
                       step.rows);
  return {branch.matmul->getBlock(),
          branch.matmul.getLhs(),
          weight.getElementType(),
          elementOf(branch.matmul),
          weight.getDimSize(transposed ? 1 : 0),
          transposed,
          std::move(steps)};
}

struct MergeMatmulsPass
    : public aitune::impl::MergeMatmulsBase<MergeMatmulsPass> {
  void runOnOperation() override {
    while (mergeOne()) {
    }
  }

private:
  /// Merges the first group of matmuls that can be one; false if there is none.
  /// What other groups have in common may be a result of this one's.
  bool mergeOne() {
    std::vector<std::pair<Key, SmallVector<Branch>>> groups;
    getOperation().walk([&](MatmulOp matmul) {
      std::optional<Branch> branch = matchBranch(matmul);
      if (!branch)
        return;
      auto group = llvm::find_if(groups, [&](const auto &entry) {
        return entry.first == keyOf(*branch);
      });
      if (group == groups.end())
        group = groups.insert(group, {keyOf(*branch), {}});
      group->second.push_back(*branch);
    });
    for (const auto &[key, group] : groups) {
      if (group.size() < 2)
        continue;
      merge(group);
      return true;
    }
    return false;
  }
};
} // namespace
