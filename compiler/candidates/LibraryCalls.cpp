#include "compiler/candidates/LibraryCalls.h"

#include "absl/strings/str_cat.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/fusion/KernelFunction.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
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

/// Moves the operations of `kernel` that are not in `matched` to a new
/// function, whose arguments are the kernel's arguments that they read, and
/// `chain`.
func::FuncOp splitRest(func::FuncOp kernel, Value chain,
                       const llvm::SmallPtrSetImpl<Operation *> &matched,
                       const std::string &suffix,
                       std::vector<int> &restArguments) {
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  SmallVector<Type> inputTypes{chain.getType()};
  SmallVector<Value> inputs{chain};
  restArguments.push_back(-1);
  for (BlockArgument argument : kernel.getArguments()) {
    if (llvm::none_of(argument.getUsers(),
                      [&](Operation *user) { return !matched.contains(user); }))
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
  for (Operation &op : kernel.getBody().front())
    if (!matched.contains(&op))
      builder.clone(op, mapping);
  return rest;
}

absl::Status fillCall(Operation *root, const LibraryRules &rules, Step &call) {
  for (Value value : root->getOperands())
    if (absl::Status accepted = rules.acceptElementType(
            cast<RankedTensorType>(value.getType()).getElementType());
        !accepted.ok())
      return accepted;
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
  for (int64_t value : convolution.getOutputPadding())
    conv.add_output_padding(value);
  conv.set_groups(convolution.getGroups());
  conv.set_transposed(convolution.getTransposed());
  return absl::OkStatus();
}

bool acceptsPostOps(const LibraryRules &rules,
                    const google::protobuf::RepeatedPtrField<PostOp> &postOps) {
  std::vector<const PostOp *> pointers;
  for (const PostOp &postOp : postOps)
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

absl::Status acceptFloatingPoint(Type type, const char *library) {
  if (type.isF32() || type.isBF16() || type.isF16())
    return absl::OkStatus();
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return absl::UnimplementedError(absl::StrCat(
      library, ": contractions of f32, bf16 and f16 only, not of '", name,
      "'"));
}

absl::StatusOr<LibraryMatch> matchLibraryCall(func::FuncOp kernel,
                                              const LibraryRules &rules) {
  Operation *root = nullptr;
  for (Operation &op : kernel.getBody().front())
    if (isa<ait::MatmulOp, ait::ConvolutionOp>(op)) {
      if (root)
        return absl::UnimplementedError("more than one contraction");
      root = &op;
    }
  if (!root)
    return absl::UnimplementedError("no matmul or convolution");
  LibraryMatch match;
  for (Value operand : root->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument)
      return absl::UnimplementedError(
          "an operand of the contraction is computed in the kernel");
    match.arguments.push_back(argument.getArgNumber());
  }
  if (absl::Status filled = fillCall(root, rules, match.call); !filled.ok())
    return filled;

  auto &postOps = isa<ait::MatmulOp>(root)
                      ? *match.call.mutable_matmul()->mutable_post_ops()
                      : *match.call.mutable_convolution()->mutable_post_ops();
  // The operations matched so far end at `chain`. The call can end there only
  // if `chain` has the type of the contraction's result.
  Value chain = root->getResult(0), end = chain;
  const Type type = chain.getType();
  SmallVector<Operation *> taken{root};
  size_t takenAtEnd = 1;
  int postOpsAtEnd = 0;
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
               !acceptsPostOps(rules, postOps)) {
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
  if (absl::Status accepted = rules.acceptCall(match, kernel); !accepted.ok())
    return accepted;
  auto returned =
      cast<func::ReturnOp>(kernel.getBody().front().getTerminator());
  if (returned.getNumOperands() != 1 || returned.getOperand(0) != chain)
    match.rest = splitRest(kernel, chain, matched, rules.restSuffix(),
                           match.restArguments);
  return match;
}

} // namespace aitune
