// Matmuls of one input with several weights as one: the query, key and value of
// attention.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/SizeExpressions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {
#define GEN_PASS_DEF_MERGEMATMULS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
/// A matmul with a weight, and the addition of a bias after it.
struct Branch {
  MatmulOp matmul;
  ConstantOp weight;
  AddOp addition; // null: none
  ConstantOp bias;

  Value result() { return addition ? addition.getResult() : matmul; }
};

/// Whether `value` is read as it is: nothing would be an epilogue of its
/// matmul, which merging would part from it.
bool isReadAsItIs(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (isa<ReshapeOp, PermuteOp, SliceOp>(user))
      return isReadAsItIs(user->getResult(0));
    return isa<MatmulOp, AttentionOp>(user);
  });
}

ConstantOp biasOf(Value operand) {
  auto expand = operand.getDefiningOp<ExpandOp>();
  auto bias =
      expand ? expand.getInput().getDefiningOp<ConstantOp>() : ConstantOp();
  return bias && cast<RankedTensorType>(bias.getType()).getRank() == 1
             ? bias
             : ConstantOp();
}

/// The branch of `matmul`, if it can be merged with others.
std::optional<Branch> matchBranch(MatmulOp matmul) {
  auto weight = matmul.getRhs().getDefiningOp<ConstantOp>();
  if (!weight || cast<RankedTensorType>(weight.getType()).getRank() != 2 ||
      matmul.getTransposeLhs())
    return std::nullopt;
  Branch branch{matmul, weight, {}, {}};
  if (matmul->hasOneUse())
    if (auto addition = dyn_cast<AddOp>(*matmul->user_begin())) {
      branch.bias = biasOf(addition.getLhs() == matmul ? addition.getRhs()
                                                       : addition.getLhs());
      if (branch.bias &&
          cast<RankedTensorType>(branch.bias.getType()).getElementType() ==
              matmul.getType().getElementType())
        branch.addition = addition;
    }
  if (!isReadAsItIs(branch.result()))
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

void merge(ArrayRef<Branch> branches) {
  MatmulOp first = branches.front().matmul;
  OpBuilder builder(first);
  SmallVector<Location> locations;
  SmallVector<ConstantOp> weights, biases;
  int64_t width = 0;
  for (Branch branch : branches) {
    locations.push_back(branch.matmul.getLoc());
    weights.push_back(branch.weight);
    biases.push_back(branch.bias);
    width += columns(branch);
  }
  Location location = builder.getFusedLoc(locations);
  Value weight =
      join(builder, location, weights, first.getTransposeRhs() ? 0 : 1);
  Type element = first.getType().getElementType();
  SmallVector<AffineExpr> sizes = getSymbolicSizes(first.getType());
  sizes.back() = builder.getAffineConstantExpr(width);
  RankedTensorType type = getTensorType(sizes, element);
  Value result = MatmulOp::create(builder, location, type, first.getLhs(),
                                  weight, false, first.getTransposeRhs());
  if (branches.front().addition) {
    Value bias = join(builder, location, biases, 0);
    bias = ExpandOp::create(builder, location, type, bias);
    result = AddOp::create(builder, location, result, bias);
  }
  SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  for (Branch branch : branches) {
    Value old = branch.result();
    old.replaceAllUsesWith(SliceOp::create(builder, location, old.getType(),
                                           result, starts, steps));
    starts.back() += columns(branch);
  }
  for (Branch branch : branches) {
    if (branch.addition)
      branch.addition.erase();
    branch.matmul.erase();
  }
}

/// What matmuls have in common that can be one.
using Key = std::tuple<Block *, Value, Type, int64_t, bool, bool>;

Key keyOf(Branch branch) {
  auto weight = cast<RankedTensorType>(branch.weight.getType());
  const bool transposed = branch.matmul.getTransposeRhs();
  return {branch.matmul->getBlock(),
          branch.matmul.getLhs(),
          weight.getElementType(),
          weight.getDimSize(transposed ? 1 : 0),
          transposed,
          static_cast<bool>(branch.addition)};
}

struct MergeMatmulsPass
    : public aitune::impl::MergeMatmulsBase<MergeMatmulsPass> {
  void runOnOperation() override {
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
    for (const auto &[key, group] : groups)
      if (group.size() > 1)
        merge(group);
  }
};
} // namespace
