// Reductions, which keep the reduced axes with size 1, and running sums.
#include "compiler/dialect/Ait.h"
#include "compiler/reference/Builder.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

using namespace mlir;

namespace aitune::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ReductionNode : public Node {
public:
  ReductionNode(const Site &site)
      : Node(site.format, site.sizes, site.effort), input(*site.operands[0]) {
    auto dims = site.op->getAttrOfType<DenseI64ArrayAttr>("dims").asArrayRef();
    axes.assign(dims.begin(), dims.end());
    for (int64_t axis : axes)
      reduced.push_back(input.sizes[axis]);
  }

protected:
  /// Calls `take` for each element that is reduced to the one at `index`, in
  /// row-major order.
  template <typename Take> void forEach(const int64_t *index, Take take) {
    if (llvm::is_contained(reduced, 0))
      return;
    Sizes place(index, index + rank()), counter(axes.size(), 0);
    do {
      for (size_t i = 0; i < axes.size(); ++i)
        place[axes[i]] = counter[i];
      take(input.at(place.data()));
    } while (!effort.isSpent() && next(reduced, counter.data()));
  }

  /// A float as it stands in the sum, an integer of any type too.
  void addTo(Sum &sum, const Element &element) const {
    if (input.format.isFloat)
      return sum.add(element.number, element.error);
    sum.addIntegers(element.integer, 1);
    sum.passedOn += element.error;
  }

  Node &input;
  Sizes axes, reduced;
};

class SumNode : public ReductionNode {
public:
  SumNode(const Site &site, bool isMean)
      : ReductionNode(site), isMean(isMean) {}

protected:
  Element compute(const int64_t *index) override {
    Sum sum;
    forEach(index, [&](const Element &element) { addTo(sum, element); });
    if (!format.isFloat)
      return sum.result(format);
    const Element total = sum.result(format);
    if (!isMean)
      return format.rounded(total.number, total.error, 0);
    double count = 1;
    for (int64_t size : reduced)
      count *= static_cast<double>(size);
    return format.rounded(total.number / count,
                          count > 0 ? total.error / count : 0, 2);
  }

private:
  const bool isMean;
};

class ProductNode : public ReductionNode {
public:
  using ReductionNode::ReductionNode;

protected:
  Element compute(const int64_t *index) override {
    double number = 1, error = 0, greatest = 0, terms = 0;
    uint64_t integer = 1;
    bool isTiny = false;
    forEach(index, [&](const Element &element) {
      integer *= static_cast<uint64_t>(element.integer);
      const double size = std::abs(element.number);
      // Where either is 0 an infinite partner would make NaN of it.
      error = (element.error > 0 ? std::abs(number) * element.error : 0) +
              (error > 0 ? error * (size + element.error) : 0);
      number *= element.number;
      greatest = std::max(greatest, std::abs(number));
      isTiny |= number != 0 && std::abs(number) < format.tiny;
      ++terms;
    });
    if (!format.isFloat)
      return {0, format.wrap(static_cast<int64_t>(integer)), 0};
    // In another order it may overflow or vanish on the way.
    if (isTiny || (std::isfinite(number) && greatest > format.greatest))
      return {number, 0, kInfinity};
    return format.rounded(number, error, terms);
  }
};

class ExtremeNode : public ReductionNode {
public:
  ExtremeNode(const Site &site, bool isMaximum)
      : ReductionNode(site), isMaximum(isMaximum) {}

protected:
  Element compute(const int64_t *index) override {
    Element best;
    double low = -kInfinity, high = -kInfinity;
    bool isFirst = true;
    forEach(index, [&](const Element &element) {
      if (!format.isFloat) {
        const bool isBetter = isMaximum ? element.integer > best.integer
                                        : element.integer < best.integer;
        const double error = std::max(best.error, element.error);
        if (isFirst || isBetter)
          best = element;
        best.error = isFirst ? element.error : error;
        isFirst = false;
        return;
      }
      const double sign = isMaximum ? 1 : -1, value = sign * element.number;
      if (isFirst || std::isnan(element.number) ||
          (!std::isnan(best.number) && value > sign * best.number))
        best = element;
      low = std::max(low, value - element.error);
      high = std::max(high, value + element.error);
      isFirst = false;
    });
    if (!format.isFloat || std::isnan(best.number))
      return best;
    const double value = isMaximum ? best.number : -best.number;
    best.error = std::max(difference(value, low), difference(value, high));
    return best;
  }

private:
  const bool isMaximum;
};

class AnyAllNode : public ReductionNode {
public:
  AnyAllNode(const Site &site, bool isAny)
      : ReductionNode(site), isAny(isAny) {}

protected:
  Element compute(const int64_t *index) override {
    bool isDecided = false, isUncertain = false;
    forEach(index, [&](const Element &element) {
      const Truth truth = truthOf(input.format, element);
      isUncertain |= truth.isUncertain;
      isDecided |= !truth.isUncertain && truth.holds == isAny;
    });
    return {0, isDecided ? isAny : !isAny,
            !isDecided && isUncertain ? 1.0 : 0.0};
  }

private:
  const bool isAny;
};

/// The position of the first greatest or least along one axis; the first NaN
/// is greater and less than all numbers.
class ArgNode : public ReductionNode {
public:
  ArgNode(const Site &site, bool isMaximum)
      : ReductionNode(site), isMaximum(isMaximum) {}

protected:
  Element compute(const int64_t *index) override {
    int64_t position = 0, found = 0;
    Element best;
    double greatestError = 0;
    std::vector<double> values;
    forEach(index, [&](const Element &element) {
      const bool isNan = input.format.isFloat && std::isnan(element.number);
      const bool bestIsNan = input.format.isFloat && std::isnan(best.number);
      const bool isBetter =
          position == 0 || (isNan && !bestIsNan) ||
          (!bestIsNan &&
           (isMaximum ? isGreater(element, best) : isGreater(best, element)));
      if (isBetter) {
        best = element;
        found = position;
      }
      greatestError = std::max(greatestError, element.error);
      values.push_back(input.format.valueOf(element));
      ++position;
    });
    Element result{0, found, 0};
    if (greatestError > 0) {
      const double value = input.format.valueOf(best);
      for (size_t i = 0; i < values.size(); ++i)
        if (static_cast<int64_t>(i) != found &&
            !(std::abs(values[i] - value) > 2 * greatestError))
          result.error = kInfinity;
    }
    return result;
  }

private:
  bool isGreater(const Element &a, const Element &b) const {
    return input.format.isFloat ? a.number > b.number : a.integer > b.integer;
  }

  const bool isMaximum;
};

class CumsumNode : public Node {
public:
  CumsumNode(const Site &site, ait::CumsumOp op)
      : Node(site.format, site.sizes, site.effort), input(*site.operands[0]),
        axis(op.getDim()) {}

protected:
  Element compute(const int64_t *index) override {
    Sizes place(index, index + rank());
    place[axis] = 0;
    std::vector<Element> &row = rows[flatten(place.data())];
    if (row.empty()) {
      Sum sum;
      for (int64_t i = 0; i < sizes[axis] && !effort.isSpent(); ++i) {
        place[axis] = i;
        const Element element = input.at(place.data());
        if (input.format.isFloat) {
          sum.add(element.number, element.error);
        } else {
          sum.add(static_cast<double>(element.integer), element.error);
          sum.addIntegers(element.integer, 1);
        }
        const Element total = sum.result(format);
        row.push_back(format.isFloat
                          ? format.rounded(total.number, total.error, 1)
                          : total);
      }
    }
    const size_t position = static_cast<size_t>(index[axis]);
    return position < row.size() ? row[position] : Element{0, 0, kInfinity};
  }

private:
  Node &input;
  const int64_t axis;
  /// The whole sums along the axis, by the position of their start.
  std::unordered_map<int64_t, std::vector<Element>> rows;
};

} // namespace

Truth truthOf(const NumberFormat &format, const Element &element) {
  if (!format.isFloat)
    return {element.integer != 0, element.error > 0};
  return {element.number != 0,
          element.error > 0 && !(std::abs(element.number) > element.error)};
}

std::unique_ptr<Node> makeReduction(const Site &site) {
  Operation *op = site.op;
  if (auto cumsum = dyn_cast<ait::CumsumOp>(op))
    return std::make_unique<CumsumNode>(site, cumsum);
  if (isa<ait::SumOp, ait::MeanOp>(op))
    return std::make_unique<SumNode>(site, isa<ait::MeanOp>(op));
  if (isa<ait::ProdOp>(op))
    return std::make_unique<ProductNode>(site);
  if (isa<ait::AmaxOp, ait::AminOp>(op))
    return std::make_unique<ExtremeNode>(site, isa<ait::AmaxOp>(op));
  if (isa<ait::AnyOp, ait::AllOp>(op))
    return std::make_unique<AnyAllNode>(site, isa<ait::AnyOp>(op));
  if (isa<ait::ArgmaxOp, ait::ArgminOp>(op))
    return std::make_unique<ArgNode>(site, isa<ait::ArgmaxOp>(op));
  return nullptr;
}

} // namespace aitune::reference
