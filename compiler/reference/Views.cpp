// Constants, and operations that read their operand at another index.
#include "compiler/dialect/Ait.h"
#include "compiler/reference/Builder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace aitune::reference {
namespace {

class ArgumentNode : public Node {
public:
  ArgumentNode(NumberFormat format, Sizes sizes, Effort &effort,
               const TensorView &view)
      : Node(format, std::move(sizes), effort), data(view.data) {}

  std::optional<StridedRead> strided() override {
    StridedRead read{data, format.dtype, 0, Sizes(sizes.size(), 1)};
    for (size_t axis = sizes.size(); axis-- > 1;)
      read.strides[axis - 1] = read.strides[axis] * sizes[axis];
    return read;
  }

protected:
  Element compute(const int64_t *index) override {
    return NumberFormat::read(data, format.dtype, flatten(index));
  }

private:
  const void *data;
};

class FullNode : public Node {
public:
  FullNode(const Site &site, Element element)
      : Node(site.format, site.sizes, site.effort), element(element) {}

  bool isWorthRemembering() const override { return false; }

protected:
  Element compute(const int64_t *) override { return element; }

private:
  const Element element;
};

/// start + step * i in float64 or int64, rounded to the result's type.
class IotaNode : public Node {
public:
  IotaNode(const Site &site, ait::IotaOp op)
      : Node(site.format, site.sizes, site.effort), axis(op.getDim()),
        start(op.getStart().convertToDouble()),
        step(op.getStep().convertToDouble()) {}

  bool isWorthRemembering() const override { return false; }

protected:
  Element compute(const int64_t *index) override {
    const double i = static_cast<double>(index[axis]);
    if (!format.isFloat)
      return {0,
              format.wrap(static_cast<int64_t>(start) +
                          index[axis] * static_cast<int64_t>(step)),
              0};
    // Rounded once, from float64.
    const double exact = start + step * i, number = format.round(exact);
    if (number == exact && std::trunc(exact) == exact)
      return {number, 0, 0};
    return {number, 0, format.storeUnit * std::abs(number) + format.tiny};
  }

private:
  const int64_t axis;
  const double start, step;
};

/// Reads the operand at an index that is computed from the own one.
class ViewNode : public Node {
public:
  ViewNode(const Site &site)
      : Node(site.format, site.sizes, site.effort), input(*site.operands[0]) {}

  bool isWorthRemembering() const override { return false; }
  std::optional<StridedRead> strided() override {
    if (!isLookedFor) {
      isLookedFor = true;
      if (std::optional<StridedRead> read = input.strided())
        found = through(*read);
    }
    return found;
  }

protected:
  Element compute(const int64_t *index) override {
    Sizes place(input.sizes.size());
    map(index, place.data());
    return input.at(place.data());
  }
  virtual void map(const int64_t *index, int64_t *place) const = 0;
  /// The same read with this node's axes; nothing if strides cannot say it.
  virtual std::optional<StridedRead> through(const StridedRead &read) const = 0;

  Node &input;

private:
  bool isLookedFor = false;
  std::optional<StridedRead> found;
};

/// Axis i of the operand is read at offset[i] + factor[i] * index[axis[i]].
class AffineView : public ViewNode {
public:
  AffineView(const Site &site)
      : ViewNode(site), axes(input.sizes.size()),
        offsets(input.sizes.size(), 0), factors(input.sizes.size(), 1) {
    for (size_t i = 0; i < axes.size(); ++i)
      axes[i] = static_cast<int64_t>(i);
  }

  Sizes axes, offsets, factors;

protected:
  void map(const int64_t *index, int64_t *place) const override {
    for (size_t i = 0; i < axes.size(); ++i)
      place[i] = factors[i] == 0 ? offsets[i]
                                 : offsets[i] + factors[i] * index[axes[i]];
  }
  std::optional<StridedRead> through(const StridedRead &read) const override {
    StridedRead result{read.data, read.dtype, read.offset,
                       Sizes(sizes.size(), 0)};
    for (size_t i = 0; i < axes.size(); ++i) {
      result.offset += offsets[i] * read.strides[i];
      if (factors[i] != 0)
        result.strides[axes[i]] += factors[i] * read.strides[i];
    }
    return result;
  }
};

class ReshapeNode : public ViewNode {
public:
  using ViewNode::ViewNode;

protected:
  void map(const int64_t *index, int64_t *place) const override {
    input.unflatten(flatten(index), place);
  }

  /// Blocks of axes with equal products, of which each lies evenly in memory.
  std::optional<StridedRead> through(const StridedRead &read) const override {
    StridedRead result{read.data, read.dtype, read.offset,
                       Sizes(sizes.size(), 0)};
    size_t from = 0, to = 0;
    while (from < input.sizes.size() || to < sizes.size()) {
      const size_t fromBegin = from, toBegin = to;
      int64_t fromProduct = 1, toProduct = 1;
      if (from < input.sizes.size())
        fromProduct *= input.sizes[from++];
      if (to < sizes.size())
        toProduct *= sizes[to++];
      while (fromProduct != toProduct) {
        if (fromProduct < toProduct && from < input.sizes.size())
          fromProduct *= input.sizes[from++];
        else if (to < sizes.size())
          toProduct *= sizes[to++];
        else
          return std::nullopt;
      }
      int64_t stride = 0, expected = 0;
      bool isFirst = true;
      for (size_t axis = from; axis-- > fromBegin;) {
        if (input.sizes[axis] == 1)
          continue;
        if (isFirst)
          stride = read.strides[axis];
        else if (read.strides[axis] != expected)
          return std::nullopt;
        isFirst = false;
        expected = read.strides[axis] * input.sizes[axis];
      }
      for (size_t axis = to; axis-- > toBegin;) {
        result.strides[axis] = stride;
        stride *= sizes[axis];
      }
    }
    return result;
  }
};

Element elementOf(TypedAttr value, const NumberFormat &format) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return {number.getValueAsDouble(), 0, 0};
  const APInt integer = cast<IntegerAttr>(value).getValue();
  return {0,
          format.wrap(format.isUnsigned
                          ? static_cast<int64_t>(integer.getZExtValue())
                          : integer.getSExtValue()),
          0};
}

} // namespace

std::unique_ptr<Node> makeArgument(NumberFormat format, Sizes sizes,
                                   Effort &effort, const TensorView &view) {
  return std::make_unique<ArgumentNode>(format, std::move(sizes), effort, view);
}

std::unique_ptr<Node> makeSource(const Site &site) {
  if (auto full = dyn_cast<ait::FullOp>(site.op))
    return std::make_unique<FullNode>(site,
                                      elementOf(full.getValue(), site.format));
  if (auto iota = dyn_cast<ait::IotaOp>(site.op))
    return std::make_unique<IotaNode>(site, iota);
  return nullptr;
}

std::unique_ptr<Node> makeView(const Site &site) {
  if (isa<ait::ReshapeOp>(site.op))
    return std::make_unique<ReshapeNode>(site);
  if (!isa<ait::PermuteOp, ait::ExpandOp, ait::SliceOp, ait::FlipOp>(site.op))
    return nullptr;
  auto view = std::make_unique<AffineView>(site);
  const Sizes &from = site.operands[0]->sizes;
  if (auto permute = dyn_cast<ait::PermuteOp>(site.op)) {
    for (auto [axis, source] : llvm::enumerate(permute.getPermutation()))
      view->axes[source] = static_cast<int64_t>(axis);
  } else if (isa<ait::ExpandOp>(site.op)) {
    const size_t added = site.sizes.size() - from.size();
    for (size_t i = 0; i < from.size(); ++i) {
      view->axes[i] = static_cast<int64_t>(i + added);
      if (from[i] == 1)
        view->factors[i] = 0;
    }
  } else if (auto slice = dyn_cast<ait::SliceOp>(site.op)) {
    view->offsets.assign(slice.getStarts().begin(), slice.getStarts().end());
    view->factors.assign(slice.getSteps().begin(), slice.getSteps().end());
  } else {
    for (int64_t axis : cast<ait::FlipOp>(site.op).getDims()) {
      view->offsets[axis] = from[axis] - 1;
      view->factors[axis] = -1;
    }
  }
  return view;
}

} // namespace aitune::reference
