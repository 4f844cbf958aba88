#include "compiler/codegen/cpu/contraction/MicrokernelEpilogue.h"

#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace aitune {

struct Epilogue::Planner {
  func::FuncOp kernel;
  Value root;
  std::string &reason;
  Epilogue &plan;
  /// Two values are one node when they and the views applied to them are.
  SmallVector<std::tuple<Value, Layout, unsigned>> known;

  /// Whether `value` depends on the contraction, and the operations on the
  /// (first) way to it.
  bool findRoot(Value value, SmallVectorImpl<Operation *> &path) {
    if (value == root)
      return true;
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    for (Value operand : op->getOperands())
      if (findRoot(operand, path)) {
        path.push_back(op);
        return true;
      }
    return false;
  }

  FailureOr<Layout> applyAll(Layout layout, ArrayRef<ViewStep> views) {
    for (const ViewStep &view : views) {
      FailureOr<Layout> next = applyView(layout, view, reason);
      if (failed(next))
        return failure();
      layout = std::move(*next);
    }
    return layout;
  }

  void setLayout(Node &node, const Layout &layout) {
    unsigned rank = layout.axes.size();
    node.rowAxis = layout.collapse(0, rank - 1);
    node.columnAxis = layout.axes[rank - 1];
    node.offset = layout.offset;
  }

  /// The node of `value` seen through `views`, first to last, which lead to the
  /// shape of the root.
  FailureOr<unsigned> visit(Value value, ArrayRef<ViewStep> views) {
    auto type = cast<RankedTensorType>(value.getType());
    // The layout that the views would give a dense tensor. It shows whether the
    // views are the identity, and whether two values have equal views.
    FailureOr<Layout> seen = applyAll(getDenseLayout(type), views);
    if (failed(seen))
      return failure();
    for (const auto &[knownValue, knownLayout, index] : known)
      if (knownValue == value && knownLayout == *seen)
        return index;

    Node node;
    node.elementType = type.getElementType();
    Operation *op = value.getDefiningOp();
    if (value == root) {
      node.kind = Node::Kind::Sums;
      if (!(*seen == getDenseLayout(type))) {
        reason = "values of different places of the contraction's result are "
                 "combined";
        return failure();
      }
    } else if (!op) {
      node.kind = Node::Kind::Argument;
      node.argument = cast<BlockArgument>(value).getArgNumber();
      setLayout(node, *seen);
    } else if (isa<ait::FullOp>(op)) {
      node.kind = Node::Kind::Constant;
      node.op = op;
    } else if (auto view = getViewStep(op)) {
      SmallVector<ViewStep> longer{*view};
      longer.append(views.begin(), views.end());
      return visit(op->getOperand(0), longer);
    } else if (ait::isPointwise(op)) {
      node.kind = Node::Kind::Pointwise;
      node.op = op;
      for (Value operand : op->getOperands()) {
        FailureOr<unsigned> index = visit(operand, views);
        if (failed(index))
          return failure();
        node.operands.push_back(*index);
      }
    } else {
      reason = ("no code for " + op->getName().getStringRef() +
                " after a contraction")
                   .str();
      return failure();
    }
    plan.nodes.push_back(std::move(node));
    known.emplace_back(value, *seen, plan.nodes.size() - 1);
    return static_cast<unsigned>(plan.nodes.size() - 1);
  }

  LogicalResult run() {
    auto yield = cast<func::ReturnOp>(kernel.getBody().front().getTerminator());
    for (auto [index, value] : llvm::enumerate(yield.getOperands())) {
      SmallVector<Operation *> path;
      if (!findRoot(value, path)) {
        reason = "a result of the kernel does not depend on its contraction";
        return failure();
      }
      SmallVector<ViewStep> views;
      for (Operation *op : llvm::reverse(path)) {
        if (ait::isPointwise(op))
          continue;
        std::optional<ViewStep> inverse = getInverseViewStep(op);
        if (!inverse) {
          reason = ("no code for " + op->getName().getStringRef() +
                    " after a contraction")
                       .str();
          return failure();
        }
        views.push_back(std::move(*inverse));
      }
      FailureOr<unsigned> node = visit(value, views);
      auto type = cast<RankedTensorType>(value.getType());
      FailureOr<Layout> layout = applyAll(getDenseLayout(type), views);
      if (failed(node) || failed(layout))
        return failure();
      Output output;
      output.node = *node;
      output.target.kind = Node::Kind::Argument;
      output.target.argument = kernel.getNumArguments() + index;
      output.target.elementType = type.getElementType();
      setLayout(output.target, *layout);
      plan.outputs.push_back(std::move(output));
    }
    return success();
  }
};

FailureOr<Epilogue> Epilogue::create(func::FuncOp kernel, Value root,
                                     std::string &reason) {
  Epilogue plan;
  Planner planner{kernel, root, reason, plan, {}};
  if (failed(planner.run()))
    return failure();
  return plan;
}

static Value getStart(KernelBuilder &builder, unsigned argument,
                      Type elementType, AffineExpr offset,
                      const LayoutAxis &rowAxis, Value row) {
  Value base =
      builder.add(builder.evaluate(offset), builder.offset(rowAxis, row));
  return builder.advance(builder.buffer(argument), elementType, base);
}

LogicalResult Epilogue::emit(KernelBuilder &builder, Value row, Value column,
                             Value sums, Value mask) const {
  int64_t lanes = cast<VectorType>(sums.getType()).getDimSize(0);
  SmallVector<Value> values;
  for (const Node &node : nodes) {
    switch (node.kind) {
    case Node::Kind::Sums:
      values.push_back(getElementTypeOrSelf(sums.getType()) == node.elementType
                           ? sums
                           : emitConvert(builder.ops(), builder.loc(), sums,
                                         node.elementType));
      break;
    case Node::Kind::Argument:
      values.push_back(
          builder.loadAlong(node.columnAxis, node.elementType,
                            getStart(builder, node.argument, node.elementType,
                                     node.offset, node.rowAxis, row),
                            column, lanes, mask));
      break;
    case Node::Kind::Constant: {
      auto number = cast<TypedAttr>(cast<ait::FullOp>(node.op).getValue());
      Type type = builder.vectorType(getRegisterType(node.elementType), lanes);
      double value = 0;
      if (auto real = dyn_cast<FloatAttr>(number))
        value = real.getValueAsDouble();
      else if (auto integer = dyn_cast<IntegerAttr>(number))
        value = number.getType().isInteger(1)
                    ? integer.getValue().getBoolValue()
                    : static_cast<double>(integer.getValue().getSExtValue());
      values.push_back(emitConstant(builder.ops(), builder.loc(), type, value));
      break;
    }
    case Node::Kind::Pointwise: {
      SmallVector<Value> operands;
      for (unsigned operand : node.operands)
        operands.push_back(values[operand]);
      FailureOr<Value> value = emitPointwise(builder.ops(), node.op, operands);
      if (failed(value))
        return failure();
      values.push_back(*value);
      break;
    }
    }
  }
  for (const Output &output : outputs) {
    const Node &target = output.target;
    Value start = getStart(builder, target.argument, target.elementType,
                           target.offset, target.rowAxis, row);
    builder.storeAlong(target.columnAxis, values[output.node], start, column,
                       mask);
  }
  return success();
}

LogicalResult Epilogue::emitBlock(KernelBuilder &builder, Value firstRow,
                                  Value rows, Value firstColumn, Value columns,
                                  bool wholeVectors, Type accumulatorType,
                                  int64_t lanes, Value pointer,
                                  int64_t rowStride) const {
  LogicalResult result = success();
  builder.loop(builder.constant(0), rows, 1, [&](Value row) {
    Value rowPointer =
        builder.advance(pointer, accumulatorType,
                        builder.mul(row, builder.constant(rowStride)));
    builder.loop(builder.constant(0), columns, lanes, [&](Value column) {
      Value sums = builder.loadVector(
          accumulatorType, lanes,
          builder.advance(rowPointer, accumulatorType, column));
      Value mask = !wholeVectors
                       ? builder.maskBelow(builder.sub(columns, column), lanes)
                       : Value();
      result = emit(builder, builder.add(firstRow, row),
                    builder.add(firstColumn, column), sums, mask);
    });
  });
  return result;
}

bool Epilogue::splitsColumns() const {
  auto splits = [](const Node &node) { return node.columnAxis.size() > 1; };
  return llvm::any_of(nodes, splits) ||
         llvm::any_of(outputs, [&](const Output &output) {
           return splits(output.target);
         });
}

LogicalResult Epilogue::emitTile(KernelBuilder &builder, const TileShape &tile,
                                 ValueRange sums, Value firstRow,
                                 Value firstColumn,
                                 ArrayRef<Value> masks) const {
  for (int64_t row = 0; row < tile.rows; ++row)
    for (int64_t vector = 0; vector < tile.vectors; ++vector)
      if (failed(emit(
              builder, builder.add(firstRow, builder.constant(row)),
              builder.add(firstColumn, builder.constant(vector * tile.lanes)),
              sums[row * tile.vectors + vector],
              masks.empty() ? Value() : masks[vector])))
        return failure();
  return success();
}

bool Epilogue::isCheap() const {
  auto isSimple = [](const Node &node) {
    return node.kind != Node::Kind::Pointwise ||
           isa<ait::AddOp, ait::SubOp, ait::MulOp, ait::ReluOp, ait::ClampOp,
               ait::MaximumOp, ait::MinimumOp, ait::ConvertOp, ait::NegOp>(
               node.op);
  };
  return nodes.size() <= 10 && llvm::all_of(nodes, isSimple);
}

} // namespace aitune
