#include "frontend/importer/import_state.h"

#include <cstring>

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/ElementTypes.h"
#include "compiler/dialect/SizeExpressions.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;

std::vector<std::pair<int64_t, int64_t>> Ranges(const Trace& trace) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const TraceSymbol& symbol : trace.symbols)
    ranges.emplace_back(symbol.min, symbol.max);
  return ranges;
}

Scalar ReadNumber(const TensorView& view, mlir::MLIRContext* context) {
  const auto bytes = static_cast<size_t>(SizeInBytes(view.dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, view.data, bytes);
  if (view.dtype == DataType::kBool) return bits != 0;
  const llvm::APInt number(static_cast<unsigned>(8 * bytes), bits);
  const mlir::Type type = ait::toElementType(view.dtype, context);
  if (const auto real = mlir::dyn_cast<mlir::FloatType>(type))
    return llvm::APFloat(real.getFloatSemantics(), number).convertToDouble();
  return type.isUnsignedInteger() ? static_cast<int64_t>(number.getZExtValue())
                                  : number.getSExtValue();
}

}  // namespace

ImportState::ImportState(const Trace& trace, mlir::Block& block,
                         bool is_for_gpu)
    : trace_(trace),
      is_for_gpu_(is_for_gpu),
      block_(block),
      builder_(mlir::OpBuilder::atBlockEnd(&block)),
      sizes_(builder_.getContext(), Ranges(trace), trace.constraints),
      values_(trace.values.size()),
      use_counts_(trace.values.size()) {
  // Canonical forms of the inputs' sizes first: they read best.
  for (ValueId id : trace.inputs) Type(id);
  for (const TraceOp& op : trace.ops) {
    for (const Argument& argument : op.arguments)
      ForEachValue(argument, [&](ValueId id) { ++use_counts_[id]; });
  }
  for (ValueId id : trace.outputs) ++use_counts_[id];
}

mlir::Value ImportState::Value(ValueId id) {
  const TraceValue& value = trace_.values[id];
  if (values_[id] || value.kind != TraceValue::Kind::kConstant)
    return values_[id];
  mlir::OpBuilder::InsertionGuard guard(builder_);
  if (last_constant_) {
    builder_.setInsertionPointAfter(last_constant_);
  } else {
    builder_.setInsertionPointToStart(&block_);
  }
  const ConstantTensor& constant = trace_.constants[value.constant];
  auto type = mlir::cast<mlir::RankedTensorType>(Type(id));
  mlir::Location location = mlir::NameLoc::get(builder_.getStringAttr(
      constant.name.empty() ? "constant" : constant.name));
  std::optional<Scalar> number;
  if (value.type.sizes.size() <= 1) number = ConstantNumber(id);
  if (number) {
    values_[id] = ait::FullOp::create(
        builder_, location, type, number->ToAttribute(type.getElementType()));
  } else {
    values_[id] = ait::ConstantOp::create(builder_, location, type,
                                          value.constant, constant.name);
  }
  last_constant_ = values_[id].getDefiningOp();
  return values_[id];
}

std::optional<Scalar> ImportState::ConstantNumber(ValueId id) const {
  const TraceValue& value = trace_.values[id];
  if (value.kind != TraceValue::Kind::kConstant) return std::nullopt;
  const TensorView& view = trace_.constants[value.constant].view;
  if (!view.data || view.dtype != value.type.dtype ||
      ElementCount(view.sizes) != 1)
    return std::nullopt;
  for (const SizeExpression& size : value.type.sizes) {
    if (size.constant() != 1) return std::nullopt;
  }
  return ReadNumber(view, builder_.getContext());
}

mlir::Type ImportState::Type(ValueId id) {
  const TraceValue& value = trace_.values[id];
  if (value.kind == TraceValue::Kind::kOpaque)
    return ait::OpaqueType::get(context());
  return TensorType(ToSizes(value.type.sizes),
                    ait::toElementType(value.type.dtype, context()));
}

mlir::AffineExpr ImportState::ToSize(const SizeExpression& size) {
  return sizes_.Canonical(ait::toAffineExpr(size, context()));
}

Sizes ImportState::ToSizes(const std::vector<SizeExpression>& sizes) {
  Sizes result;
  for (const SizeExpression& size : sizes) result.push_back(ToSize(size));
  return result;
}

mlir::RankedTensorType ImportState::TensorType(
    llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type element_type) {
  Sizes canonical;
  for (mlir::AffineExpr size : sizes)
    canonical.push_back(sizes_.Canonical(size));
  return ait::getTensorType(canonical, element_type);
}

void ImportState::EraseUnusedConstants() {
  for (mlir::Operation& op : llvm::make_early_inc_range(block_)) {
    if (mlir::isa<ait::ConstantOp, ait::FullOp>(op) && op.use_empty())
      op.erase();
  }
}

}  // namespace aitune::frontend
