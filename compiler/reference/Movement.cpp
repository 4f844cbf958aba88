// Operations that choose by position or by data which element they read.
#include "compiler/dialect/Ait.h"
#include "compiler/reference/Builder.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace aitune::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class MovementNode : public Node {
public:
  MovementNode(const Site &site)
      : Node(site.format, site.sizes, site.effort), operands(site.operands) {}

protected:
  const llvm::SmallVector<Node *> operands;
};

class ConcatNode : public MovementNode {
public:
  ConcatNode(const Site &site, ait::ConcatOp op)
      : MovementNode(site), axis(op.getDim()) {}

protected:
  Element compute(const int64_t *index) override {
    Sizes place(index, index + rank());
    for (Node *operand : operands) {
      if (place[axis] < operand->sizes[axis])
        return operand->at(place.data());
      place[axis] -= operand->sizes[axis];
    }
    return {0, 0, kInfinity};
  }

private:
  const int64_t axis;
};

class PadNode : public MovementNode {
public:
  PadNode(const Site &site, ait::PadOp op)
      : MovementNode(site), low(op.getLow()) {
    const double value = op.getValue().convertToDouble();
    if (format.isFloat) {
      filler.number = format.round(value);
      // Arithmetic may be done, and the filler be, in a wider type.
      filler.error = std::abs(filler.number - value);
    } else {
      filler.integer = format.wrap(static_cast<int64_t>(value));
    }
  }

protected:
  Element compute(const int64_t *index) override {
    const Sizes &from = operands[0]->sizes;
    Sizes place(index, index + rank());
    for (size_t axis = 0; axis < place.size(); ++axis) {
      place[axis] -= low[axis];
      if (place[axis] < 0 || place[axis] >= from[axis])
        return filler;
    }
    return operands[0]->at(place.data());
  }

private:
  const Sizes low;
  Element filler;
};

class SliceScatterNode : public MovementNode {
public:
  SliceScatterNode(const Site &site, ait::SliceScatterOp op)
      : MovementNode(site), starts(op.getStarts()), steps(op.getSteps()) {}

protected:
  Element compute(const int64_t *index) override {
    Sizes place(rank());
    for (size_t axis = 0; axis < place.size(); ++axis) {
      const int64_t offset = index[axis] - starts[axis];
      place[axis] = offset / steps[axis];
      if (offset < 0 || offset % steps[axis] != 0 ||
          place[axis] >= operands[1]->sizes[axis])
        return operands[0]->at(index);
    }
    return operands[1]->at(place.data());
  }

private:
  const Sizes starts, steps;
};

class EmbeddingNode : public MovementNode {
public:
  using MovementNode::MovementNode;

protected:
  Element compute(const int64_t *index) override {
    Node &weight = *operands[0];
    if (weight.sizes[0] == 0)
      return {};
    const std::optional<int64_t> row =
        readIndex(*operands[1], index, weight.sizes[0], /*wraps=*/false);
    if (!row)
      return {0, 0, kInfinity};
    const int64_t place[] = {*row, index[rank() - 1]};
    return weight.at(place);
  }
};

/// Picks along one axis: by an index of rank 1 (index_select), or by one of the
/// result's sizes (gather).
class PickNode : public MovementNode {
public:
  PickNode(const Site &site, int64_t axis, bool isGather)
      : MovementNode(site), axis(axis), isGather(isGather) {}

protected:
  Element compute(const int64_t *index) override {
    Node &input = *operands[0];
    if (input.sizes[axis] == 0)
      return {};
    const std::optional<int64_t> picked =
        readIndex(*operands[1], isGather ? index : index + axis,
                  input.sizes[axis], /*wraps=*/true);
    if (!picked)
      return {0, 0, kInfinity};
    Sizes place(index, index + rank());
    place[axis] = *picked;
    return input.at(place.data());
  }

private:
  const int64_t axis;
  const bool isGather;
};

} // namespace

std::optional<int64_t> readIndex(Node &node, const int64_t *index, int64_t size,
                                 bool wraps) {
  const Element element = node.at(index);
  if (element.error > 0)
    return std::nullopt;
  int64_t place = element.integer;
  if (wraps && place < 0)
    place += size;
  return std::clamp<int64_t>(place, 0, size - 1);
}

std::unique_ptr<Node> makeMovement(const Site &site) {
  if (auto concat = dyn_cast<ait::ConcatOp>(site.op))
    return std::make_unique<ConcatNode>(site, concat);
  if (auto pad = dyn_cast<ait::PadOp>(site.op))
    return std::make_unique<PadNode>(site, pad);
  if (auto scatter = dyn_cast<ait::SliceScatterOp>(site.op))
    return std::make_unique<SliceScatterNode>(site, scatter);
  if (isa<ait::EmbeddingOp>(site.op))
    return std::make_unique<EmbeddingNode>(site);
  if (auto select = dyn_cast<ait::IndexSelectOp>(site.op))
    return std::make_unique<PickNode>(site, select.getDim(), false);
  if (auto gather = dyn_cast<ait::GatherOp>(site.op))
    return std::make_unique<PickNode>(site, gather.getDim(), true);
  return nullptr;
}

} // namespace aitune::reference
