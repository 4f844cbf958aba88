#include "compiler/candidates/LibraryCalls.h"

#include "absl/strings/str_cat.h"
#include "compiler/codegen/contraction/OperandFormat.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/fusion/KernelFunction.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "runtime/status/status_macros.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace aitune {
namespace {

std::optional<double> matchFull(Value value) {
  auto full = value.getDefiningOp<ait::FullOp>();
  if (!full)
    if (auto expand = value.getDefiningOp<ait::ExpandOp>())
      full = expand.getInput().getDefiningOp<ait::FullOp>();
  if (!full)
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(full.getValue()))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(full.getValue()))
    return static_cast<double>(number.getInt());
  return std::nullopt;
}

/// The argument number behind `value` when it is one number for each entry of
/// the last axis of `type`, repeated along all others.
std::optional<int> matchLastAxisArgument(Value value, RankedTensorType type) {
  auto expand = value.getDefiningOp<ait::ExpandOp>();
  if (!expand)
    return std::nullopt;
  Value source = expand.getInput();
  if (auto reshape = source.getDefiningOp<ait::ReshapeOp>())
    source = reshape.getInput();
  auto argument = dyn_cast<BlockArgument>(source);
  auto sizes = cast<RankedTensorType>(expand.getInput().getType()).getShape();
  if (!argument || sizes.empty() || sizes.back() == ShapedType::kDynamic ||
      sizes.back() != type.getShape().back())
    return std::nullopt;
  for (int64_t size : sizes.drop_back())
    if (size != 1)
      return std::nullopt;
  return argument.getArgNumber();
}

std::optional<int> matchFullSizeArgument(Value value, RankedTensorType type) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getType() != type)
    return std::nullopt;
  return argument.getArgNumber();
}

/// The argument number behind `value` when it is one number for each entry of
/// all axes of `type` but the last, repeated along that.
std::optional<int> matchRowsArgument(Value value, RankedTensorType type) {
  auto expand = value.getDefiningOp<ait::ExpandOp>();
  auto argument =
      expand ? dyn_cast<BlockArgument>(expand.getInput()) : BlockArgument();
  if (!argument)
    return std::nullopt;
  SmallVector<AffineExpr> sizes = ait::getSymbolicSizes(type);
  sizes.back() = getAffineConstantExpr(1, type.getContext());
  if (ait::getSymbolicSizes(cast<RankedTensorType>(argument.getType())) !=
      sizes)
    return std::nullopt;
  return argument.getArgNumber();
}

/// The operand of the product `op` that is not `chain`; null if `op` is none.
Value otherFactor(Operation *op, Value chain) {
  if (!isa<ait::MulOp>(op) || op->getOperand(0) == op->getOperand(1))
    return {};
  return op->getOperand(op->getOperand(0) == chain ? 1 : 0);
}

/// Appends the post-operation that computes `op` from its operand `chain`, and
/// the argument it reads, if any.
bool appendPostOp(Operation *op, Value chain, const LibraryRules &rules,
                  google::protobuf::RepeatedPtrField<PostOp> &postOps,
                  std::vector<int> &arguments) {
  auto append = [&](PostOp::Kind kind, float alpha = 0, float beta = 0) {
    PostOp &postOp = *postOps.Add();
    postOp.set_kind(kind);
    postOp.set_operand(-1);
    postOp.set_alpha(alpha);
    postOp.set_beta(beta);
    return true;
  };
  auto appendWithOperand = [&](PostOp::Kind kind, int argument) {
    append(kind);
    postOps.rbegin()->set_operand(arguments.size());
    arguments.push_back(argument);
    return true;
  };
  auto type = cast<RankedTensorType>(chain.getType());
  if (op->getNumOperands() == 2) {
    if (op->getOperand(0) == op->getOperand(1))
      return false;
    Value other =
        op->getOperand(0) == chain ? op->getOperand(1) : op->getOperand(0);
    if (isa<ait::AddOp>(op)) {
      if (auto argument = matchLastAxisArgument(other, type))
        return appendWithOperand(PostOp::BIAS, *argument);
      if (auto argument = matchFullSizeArgument(other, type))
        return appendWithOperand(PostOp::ADD, *argument);
      return false;
    }
    if (isa<ait::MulOp>(op)) {
      if (auto factor = matchFull(other))
        return append(PostOp::SCALE, *factor);
      if (rules.widensPostOps())
        if (auto argument = matchLastAxisArgument(other, type))
          return appendWithOperand(PostOp::MULTIPLY, *argument);
      if (auto argument = matchFullSizeArgument(other, type))
        return appendWithOperand(PostOp::MULTIPLY, *argument);
    }
    return false;
  }
  if (auto clamp = dyn_cast<ait::ClampOp>(op);
      clamp && rules.clampsKeepNan() && clamp.getMin() && clamp.getMax())
    return append(PostOp::CLAMP, clamp.getMin()->convertToDouble(),
                  clamp.getMax()->convertToDouble());
  if (isa<ait::ReluOp>(op) && rules.clampsKeepNan())
    return append(PostOp::RELU);
  // Not hardsigmoid: libraries turn NaN into a bound there, where eager keeps
  // it.
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](ait::GeluOp gelu) {
        return append(gelu.getTanhApproximation() ? PostOp::GELU_TANH
                                                  : PostOp::GELU_ERF);
      })
      .Case([&](ait::SiluOp) { return append(PostOp::SILU); })
      .Case([&](ait::SigmoidOp) { return append(PostOp::SIGMOID); })
      .Case([&](ait::TanhOp) { return append(PostOp::TANH); })
      .Case([&](ait::HardswishOp) { return append(PostOp::HARDSWISH); })
      .Case([&](ait::LeakyReluOp leaky) {
        return append(PostOp::LEAKY_RELU,
                      leaky.getNegativeSlope().convertToDouble());
      })
      .Default([](Operation *) { return false; });
}

/// Moves the operations of `kernel` that its results need beside those in
/// `matched` to a new function, whose arguments are the kernel's arguments that
/// they read, and `chain`.
func::FuncOp splitRest(func::FuncOp kernel, Value chain,
                       const llvm::SmallPtrSetImpl<Operation *> &matched,
                       const std::string &suffix,
                       std::vector<int> &restArguments) {
  Block &block = kernel.getBody().front();
  llvm::SmallPtrSet<Operation *, 8> needed{block.getTerminator()};
  for (Operation &op : llvm::reverse(block))
    if (!matched.contains(&op) &&
        llvm::any_of(op.getUsers(),
                     [&](Operation *user) { return needed.contains(user); }))
      needed.insert(&op);
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  SmallVector<Type> inputTypes{chain.getType()};
  SmallVector<Value> inputs{chain};
  restArguments.push_back(-1);
  for (BlockArgument argument : kernel.getArguments()) {
    if (llvm::none_of(argument.getUsers(),
                      [&](Operation *user) { return needed.contains(user); }))
      continue;
    inputs.push_back(argument);
    inputTypes.push_back(argument.getType());
    restArguments.push_back(argument.getArgNumber());
  }
  func::FuncOp rest = createKernelFunction(
      builder, kernel.getLoc(), (kernel.getSymName() + suffix).str(),
      builder.getFunctionType(inputTypes, kernel.getResultTypes()),
      ait::KernelKind::Loop);
  Block *body = rest.addEntryBlock();
  IRMapping mapping;
  for (auto [input, argument] : llvm::zip_equal(inputs, body->getArguments()))
    mapping.map(input, argument);
  builder.setInsertionPointToStart(body);
  for (Operation &op : block)
    if (needed.contains(&op))
      builder.clone(op, mapping);
  return rest;
}

/// Operands of which at least one has scales: the sums times them, rounded to
/// the type of 16 bits that follows. Appends the scales to `match`, these
/// operations to `taken`, and moves `chain` behind them.
absl::Status matchScales(const OperandFormat &format, Value &chain,
                         LibraryMatch &match,
                         SmallVectorImpl<Operation *> &taken) {
  for (ScaleAxis axis : {format.lhsScale, format.rhsScale}) {
    if (axis == ScaleAxis::None)
      continue;
    const bool isRow = axis == ScaleAxis::Row;
    auto *matchArgument = isRow ? matchRowsArgument : matchLastAxisArgument;
    Operation *user = chain.hasOneUse() ? *chain.user_begin() : nullptr;
    Value factor = user ? otherFactor(user, chain) : Value();
    const std::optional<int> argument =
        factor ? matchArgument(factor, cast<RankedTensorType>(chain.getType()))
               : std::nullopt;
    if (!argument)
      return absl::UnimplementedError(absl::StrCat(
          "the sums of codes are not followed by a scale for each ",
          isRow ? "row" : "column"));
    PostOp &postOp = *match.call.mutable_matmul()->add_post_ops();
    postOp.set_kind(PostOp::MULTIPLY);
    postOp.set_operand(static_cast<int>(match.arguments.size()));
    match.arguments.push_back(*argument);
    taken.push_back(user);
    chain = user->getResult(0);
  }
  if (auto convert = chain.hasOneUse()
                         ? dyn_cast<ait::ConvertOp>(*chain.user_begin())
                         : ait::ConvertOp();
      convert && (getElementTypeOrSelf(convert.getType()).isBF16() ||
                  getElementTypeOrSelf(convert.getType()).isF16())) {
    taken.push_back(convert);
    chain = convert.getResult();
  }
  return absl::OkStatus();
}

absl::Status fillCall(Operation *root, const LibraryRules &rules, Step &call) {
  AITUNE_RETURN_IF_ERROR(
      rules.acceptElementTypes(getElementTypeOrSelf(root->getOperand(0)),
                               getElementTypeOrSelf(root->getOperand(1))));
  if (auto matmul = dyn_cast<ait::MatmulOp>(root)) {
    call.mutable_matmul()->set_transpose_lhs(matmul.getTransposeLhs());
    call.mutable_matmul()->set_transpose_rhs(matmul.getTransposeRhs());
    return absl::OkStatus();
  }
  auto convolution = cast<ait::ConvolutionOp>(root);
  if (!convolution.getChannelsLast())
    return absl::UnimplementedError("the convolution is not channels_last");
  ConvolutionCall &conv = *call.mutable_convolution();
  for (int64_t value : convolution.getStride())
    conv.add_stride(value);
  for (int64_t value : convolution.getPadding()) {
    conv.add_padding_low(value);
    conv.add_padding_high(value);
  }
  for (int64_t value : convolution.getDilation())
    conv.add_dilation(value);
  conv.set_groups(convolution.getGroups());
  return absl::OkStatus();
}

/// Whether `rules` take these post-operations but the first `scales`.
bool acceptsPostOps(const LibraryRules &rules,
                    const google::protobuf::RepeatedPtrField<PostOp> &postOps,
                    int scales) {
  std::vector<const PostOp *> pointers;
  for (const PostOp &postOp : llvm::drop_begin(postOps, scales))
    pointers.push_back(&postOp);
  return rules.acceptPostOps(pointers).ok();
}

/// A conversion from `type`, a half-precision tensor, to f32 or back.
bool isWidening(Operation *op, Type type) {
  auto convert = dyn_cast<ait::ConvertOp>(op);
  if (!convert)
    return false;
  auto from = cast<RankedTensorType>(convert.getInput().getType());
  auto to = cast<RankedTensorType>(convert.getType());
  return (from == type && to.getElementType().isF32()) ||
         (to == type && from.getElementType().isF32());
}

} // namespace

absl::Status acceptFloatingPoint(Type lhs, Type rhs, const char *library) {
  for (Type type : {lhs, rhs}) {
    if (type.isF32() || type.isBF16() || type.isF16())
      continue;
    std::string name;
    llvm::raw_string_ostream(name) << type;
    return absl::UnimplementedError(absl::StrCat(
        library, ": contractions of f32, bf16 and f16 only, not of '", name,
        "'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<LibraryMatch> matchLibraryCall(func::FuncOp kernel,
                                              const LibraryRules &rules) {
  Operation *root = nullptr;
  for (Operation &op : kernel.getBody().front())
    if (ait::isContraction(&op)) {
      if (root)
        return absl::UnimplementedError("more than one contraction");
      root = &op;
    }
  if (!isa_and_nonnull<ait::MatmulOp, ait::ConvolutionOp>(root))
    return absl::UnimplementedError("no matmul or convolution");
  LibraryMatch match;
  for (Value operand : root->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument)
      return absl::UnimplementedError(
          "an operand of the contraction is computed in the kernel");
    match.arguments.push_back(argument.getArgNumber());
  }
  AITUNE_RETURN_IF_ERROR(fillCall(root, rules, match.call));

  auto &postOps = isa<ait::MatmulOp>(root)
                      ? *match.call.mutable_matmul()->mutable_post_ops()
                      : *match.call.mutable_convolution()->mutable_post_ops();
  // The operations matched so far end at `chain`. The call can end there only
  // if `chain` has the type of the contraction's result, or, of codes, of what
  // their scaled sums are rounded to.
  Value chain = root->getResult(0);
  SmallVector<Operation *> taken{root};
  std::string reason;
  const FailureOr<OperandFormat> format =
      getOperandFormat(getElementTypeOrSelf(root->getOperand(0)),
                       getElementTypeOrSelf(root->getOperand(1)),
                       getElementTypeOrSelf(chain), reason);
  if (failed(format))
    return absl::UnimplementedError(reason);
  if (format->lhsScale != ScaleAxis::None ||
      format->rhsScale != ScaleAxis::None)
    AITUNE_RETURN_IF_ERROR(matchScales(*format, chain, match, taken));
  Value end = chain;
  const Type type = chain.getType();
  const int scales = postOps.size();
  size_t takenAtEnd = taken.size();
  int postOpsAtEnd = scales;
  size_t argumentsAtEnd = match.arguments.size();
  while (chain.hasOneUse()) {
    Operation *user = *chain.user_begin();
    if (user->getNumResults() != 1)
      break;
    if (rules.widensPostOps() && isWidening(user, type)) {
      // Nothing to do.
    } else if (isa<func::ReturnOp>(user) ||
               user->getResult(0).getType() != chain.getType() ||
               !appendPostOp(user, chain, rules, postOps, match.arguments) ||
               !acceptsPostOps(rules, postOps, scales)) {
      break;
    }
    taken.push_back(user);
    chain = user->getResult(0);
    if (chain.getType() != type)
      continue;
    end = chain;
    takenAtEnd = taken.size();
    postOpsAtEnd = postOps.size();
    argumentsAtEnd = match.arguments.size();
  }
  chain = end;
  postOps.DeleteSubrange(postOpsAtEnd, postOps.size() - postOpsAtEnd);
  match.arguments.resize(argumentsAtEnd);
  llvm::SmallPtrSet<Operation *, 8> matched(taken.begin(),
                                            taken.begin() + takenAtEnd);
  match.resultType = cast<RankedTensorType>(chain.getType());
  AITUNE_RETURN_IF_ERROR(rules.acceptCall(match, kernel));
  auto returned =
      cast<func::ReturnOp>(kernel.getBody().front().getTerminator());
  if (returned.getNumOperands() != 1 || returned.getOperand(0) != chain)
    match.rest = splitRest(kernel, chain, matched, rules.restSuffix(),
                           match.restArguments);
  return match;
}

} // namespace aitune
