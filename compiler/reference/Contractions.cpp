// Matmul, convolution and attention, by their definitions.
#include "compiler/dialect/Ait.h"
#include "compiler/reference/Builder.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

using namespace mlir;

namespace aitune::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// What rounding to the 11 digits of tf32 changes a number by.
constexpr double kTf32Unit = 0x1p-11;

/// Products of 8-bit floats are aligned to the greatest of the 32 of a step and
/// the sum before it, of which the tensor cores of Hopper keep 13 bits behind
/// the point (DeepSeek-AI, DeepSeek-V3 Technical Report, section 3.3.2).
constexpr double kFloat8SumUnit = 0x1p-13;
/// Products that are added up in one step.
constexpr int64_t kFloat8Step = 32;
/// Units that a step and, for terms that cancel, all terms are wrong by at
/// most: an H200's cuBLASLt was by 4.8 for up to 16384 random numbers of one
/// sign, and by 2 for such of either sign.
constexpr double kFloat8UnitsOfStep = 6, kFloat8UnitsOfTerms = 4;

/// What tensor cores may change a sum of products of 8-bit floats by. They cut
/// off what they do not keep, so that a sum of one sign loses some in each
/// step.
double float8SumError(const Sum &sum) {
  const auto steps =
      static_cast<double>(llvm::divideCeil(sum.terms, kFloat8Step));
  return kFloat8SumUnit * (kFloat8UnitsOfStep * steps * std::abs(sum.total) +
                           kFloat8UnitsOfTerms * sum.magnitude);
}

/// The units (computeUnit of the sum of the terms' sizes) that a sum of
/// products of 16-bit floats loses for each of its terms. Tensor cores align
/// the products of a step, and the sum before it, to the greatest of them, and
/// cut off what is below: an H200's cuBLAS lost 0.29 units a term, up to 2048
/// terms, where the first was greater than all others together, and its
/// products of numbers that were all positive 0.1. Of terms of either sign it
/// is less, but where they cancel the loss shows.
constexpr double kTensorCoreLoss = 0.3125;

/// What tensor cores may change a sum of products of 16-bit floats by beyond
/// rounding. 0 for other types.
double tensorCoreError(const Sum &sum, const NumberFormat &left,
                       const NumberFormat &right, const NumberFormat &format) {
  if ((!left.isNarrow() && !right.isNarrow()) || !std::isfinite(sum.total))
    return 0;
  // Of subnormal numbers the leading zeros are aligned, too: an H200's sums of
  // 16 products, some of them of subnormal numbers in f16, were wrong by 15
  // units, others by 3.
  const auto terms = static_cast<double>(sum.terms);
  return format.sumError(terms, sum.aligned - sum.magnitude) +
         kTensorCoreLoss * terms * format.computeUnit * sum.aligned;
}

/// What operands are rounded by before they are multiplied.
double operandUnit(const Node &operand, bool allowsTf32) {
  return allowsTf32 && operand.format.dtype == DataType::kFloat32 ? kTf32Unit
                                                                  : 0;
}

class MatmulNode : public Node {
public:
  MatmulNode(const Site &site, ait::MatmulOp op)
      : Node(site.format, site.sizes, site.effort), lhs(*site.operands[0]),
        rhs(*site.operands[1]), transposesLeft(op.getTransposeLhs()),
        transposesRight(op.getTransposeRhs()),
        isOfFloat8(lhs.format.dtype == DataType::kFloat8E4M3Fn &&
                   rhs.format.dtype == DataType::kFloat8E4M3Fn),
        unit(operandUnit(lhs, site.options.tf32Matmul)) {}

protected:
  Element compute(const int64_t *index) override {
    const int64_t last = rank() - 1;
    const int64_t leftSum = last - (transposesLeft ? 1 : 0);
    Sizes left(index, index + rank());
    left[last] = left[last - 1] = index[last - 1];
    left[leftSum] = 0;
    // The leading axes are shared, or there are none.
    Sizes right(index, index + rhs.rank());
    const int64_t rightLast = rhs.rank() - 1;
    right[rightLast] = right[rightLast - 1] = index[last];
    const int64_t rightSum = rightLast - (transposesRight ? 0 : 1);
    right[rightSum] = 0;
    Sum sum;
    addDotProduct(lhs, left.data(), leftSum, rhs, right.data(), rightSum,
                  lhs.sizes[leftSum], effort, sum);
    Element total = sum.result(format, unit);
    if (isOfFloat8 && std::isfinite(total.number))
      total.error += float8SumError(sum);
    else
      total.error += tensorCoreError(sum, lhs.format, rhs.format, format);
    return format.isFloat ? format.rounded(total.number, total.error, 1)
                          : total;
  }

private:
  Node &lhs, &rhs;
  const bool transposesLeft, transposesRight;
  const bool isOfFloat8; ///< whether both operands are
  const double unit;
};

class ConvolutionNode : public Node {
public:
  ConvolutionNode(const Site &site, ait::ConvolutionOp op)
      : Node(site.format, site.sizes, site.effort), input(*site.operands[0]),
        filter(*site.operands[1]), op(op), groups(op.getGroups()),
        channel(op.getChannelsLast() ? sizes.size() - 1 : 1),
        first(op.getChannelsLast() ? 1 : 2),
        unit(operandUnit(input, site.options.tf32Convolution)),
        strides(op.getStride()), padding(op.getPadding()),
        dilation(op.getDilation()) {}

protected:
  Element compute(const int64_t *index) override;

private:
  /// The input's position along spatial axis `i` that tap `tap` reads for a
  /// result's; nothing if it reads none.
  std::optional<int64_t> source(size_t i, int64_t position, int64_t tap) const {
    const int64_t place =
        position * strides[i] - padding[i] + tap * dilation[i];
    return place >= 0 && place < input.sizes[first + i] ? std::optional(place)
                                                        : std::nullopt;
  }
  double transformError(int64_t output);
  double greatestInput();

  Node &input, &filter;
  ait::ConvolutionOp op;
  const int64_t groups;
  const int64_t channel, first; ///< axes: of channels, the first spatial one
  const double unit;
  const SmallVector<int64_t> strides, padding, dilation;
  double greatest = -1;
  std::unordered_map<int64_t, double> filterNorms;
};

/// The greatest size of an element of the input, as far as it is in memory.
double ConvolutionNode::greatestInput() {
  if (greatest >= 0)
    return greatest;
  greatest = 0;
  const std::optional<StridedRead> read = input.strided();
  if (!read || input.count() == 0)
    return greatest;
  Sizes index(input.rank(), 0);
  do {
    int64_t place = read->offset;
    for (size_t axis = 0; axis < index.size(); ++axis)
      place += index[axis] * read->strides[axis];
    const double size = std::abs(input.format.valueOf(
        NumberFormat::read(read->data, read->dtype, place)));
    if (std::isfinite(size))
      greatest = std::max(greatest, size);
  } while (next(input.sizes, index.data()));
  return greatest;
}

/// Algorithms that transform tiles (Winograd's, by FFT) round sums of elements
/// that the result does not depend on: their errors go with the size of the
/// whole input, not of the terms.
double ConvolutionNode::transformError(int64_t output) {
  const Sizes spatial(filter.sizes.begin() + 2, filter.sizes.end());
  const int64_t taps = llvm::product_of(spatial);
  if (taps == 1 || !format.isFloat)
    return 0;
  const auto [norm, isNew] = filterNorms.try_emplace(output, 0.0);
  if (isNew) {
    Sizes counts = filter.sizes;
    counts[0] = 1;
    Sizes counter(counts.size(), 0);
    double squares = 0;
    do {
      Sizes place = counter;
      place[0] = output;
      const double value = filter.valueAt(place.data());
      squares += value * value;
    } while (!effort.isSpent() && next(counts, counter.data()));
    norm->second = std::sqrt(squares);
  }
  // By how much the transforms of a tile of 6x6 enlarge what they round:
  // Barabasz, Anderson, Soodhalter and Gregg, Error Analysis and Improving the
  // Accuracy of Winograd Convolution, table 3, measure up to about 100.
  constexpr double kGrowth = 128;
  const double rounding =
      input.format.isNarrow() ? input.format.storeUnit / 4 : format.computeUnit;
  return kGrowth * std::max(rounding, unit / 4) * greatestInput() *
         norm->second;
}

Element ConvolutionNode::compute(const int64_t *index) {
  const int64_t output = index[channel], perGroup = sizes[channel] / groups,
                group = output / perGroup,
                inputs = input.sizes[channel] / groups;
  Sizes from(index, index + sizes.size()), tap(sizes.size(), 0);
  from[channel] = group * inputs;
  tap[0] = output;
  const Sizes taps(filter.sizes.begin() + 2, filter.sizes.end());
  Sizes counter(taps.size(), 0);
  Sum sum;
  do {
    bool isInside = !effort.isSpent();
    for (size_t i = 0; i < taps.size() && isInside; ++i) {
      const std::optional<int64_t> place =
          source(i, index[first + i], counter[i]);
      isInside = place.has_value();
      from[first + i] = place.value_or(0);
      tap[2 + i] = counter[i];
    }
    if (isInside)
      addDotProduct(input, from.data(), channel, filter, tap.data(), 1, inputs,
                    effort, sum);
  } while (next(taps, counter.data()));
  const Element total = sum.result(format, unit);
  if (!format.isFloat)
    return total;
  return format.rounded(
      total.number,
      total.error + tensorCoreError(sum, input.format, filter.format, format) +
          transformError(output),
      1);
}

class AttentionNode : public Node {
public:
  AttentionNode(const Site &site, ait::AttentionOp op)
      : Node(site.format, site.sizes, site.effort), query(*site.operands[0]),
        key(*site.operands[1]), value(*site.operands[2]),
        mask(op.getMask() ? site.operands[3] : nullptr),
        scale(op.getScale().convertToDouble()), isCausal(op.getIsCausal()),
        unit(operandUnit(query, site.options.tf32Matmul)) {
    if (std::optional<APFloat> score = op.getMaskedScore())
      maskedScore = score->convertToDouble();
  }

protected:
  Element compute(const int64_t *index) override;

private:
  /// A row of the softmax before it is divided by its sum.
  struct Row {
    std::vector<Element> weights;
    Element sum;
    bool isKnown = true;
  };
  Row makeRow(const int64_t *index);
  Element score(const int64_t *index, int64_t s);

  Node &query, &key, &value;
  Node *const mask;
  const double scale;
  std::optional<double> maskedScore;
  const bool isCausal;
  const double unit;
  std::unordered_map<int64_t, Row> rows;
};

Element AttentionNode::score(const int64_t *index, int64_t s) {
  const int64_t last = rank() - 1;
  if (isCausal && s > index[last - 1])
    return {-kInfinity, 0, 0};
  Element added;
  if (mask) {
    Sizes place(index, index + rank());
    place[last] = s;
    const int64_t missing = rank() - mask->rank();
    for (int64_t axis = 0; axis < mask->rank(); ++axis)
      place[axis] = mask->sizes[axis] == 1 ? 0 : place[axis + missing];
    added = mask->at(place.data());
    if (mask->format.isFloat ? maskedScore && added.number == ait::kMaskedPair
                             : added.integer == 0)
      return {maskedScore.value_or(-kInfinity), 0, 0};
    if (!mask->format.isFloat)
      added.number = 0;
    // Nothing else counts then, and its row need not be read.
    if (added.number == -kInfinity)
      return added;
  }
  Sizes left(index, index + rank()), right(index, index + rank());
  left[last] = right[last] = 0;
  right[last - 1] = s;
  Sum sum;
  addDotProduct(query, left.data(), last, key, right.data(), last,
                query.sizes[last], effort, sum);
  // Scores are of the type that is computed in.
  Element total = sum.result(format, unit);
  total.error += tensorCoreError(sum, query.format, key.format, format);
  total.number *= scale;
  total.error = total.error * std::abs(scale) +
                2 * format.computeUnit * std::abs(total.number);
  if (format.isNarrow())
    total.error += format.storeUnit * std::abs(total.number);
  total.number += added.number;
  total.error += added.error + format.computeUnit * std::abs(total.number);
  return total;
}

AttentionNode::Row AttentionNode::makeRow(const int64_t *index) {
  Row row;
  double greatest = -kInfinity;
  const int64_t entries = key.sizes[key.rank() - 2];
  for (int64_t s = 0; s < entries && !effort.isSpent(); ++s) {
    row.weights.push_back(score(index, s));
    greatest = std::max(greatest, row.weights.back().number);
  }
  // Of a row without any entry eager's result depends on its algorithm.
  row.isKnown = std::isfinite(greatest);
  Sum sum;
  for (Element &weight : row.weights) {
    const double distance = weight.number - greatest;
    // Any number in place of the greatest gives the same quotients.
    const double relative = std::expm1(std::min(weight.error, 700.0)) +
                            format.computeUnit * (8 + std::abs(distance)) +
                            (format.isNarrow() ? format.storeUnit : 0) + unit;
    // The weights are rounded to the type of the values before they are
    // multiplied with them. Below the normal numbers that is by an absolute
    // amount: in f16 a weight below 2^-25 becomes 0, which counts where the
    // values of greater weights are small. (On an H200 attention of LibTorch
    // and of cuDNN in f16, of numbers of all sizes, differed by up to 280 times
    // what the relative errors are, and by no more than this.)
    const double most = std::exp(distance + std::min(weight.error, 700.0));
    weight.number = std::exp(distance);
    weight.error = (weight.number > 0 ? weight.number * relative : 0) +
                   std::min(most, format.tiny);
    sum.add(weight.number, weight.error);
  }
  row.sum = sum.result(format);
  return row;
}

Element AttentionNode::compute(const int64_t *index) {
  const int64_t last = rank() - 1;
  Sizes place(index, index + rank());
  place[last] = 0;
  auto [found, isNew] = rows.try_emplace(flatten(place.data()));
  Row &row = found->second;
  if (isNew)
    row = makeRow(index);
  place[last] = index[last];
  Sum sum;
  for (size_t s = 0; s < row.weights.size() && !effort.isSpent(); ++s) {
    // What has no weight is not read by an algorithm that skips it.
    place[last - 1] = static_cast<int64_t>(s);
    const Element factor = value.at(place.data());
    sum.addProduct(format, row.weights[s], value.format, factor);
  }
  Element total = sum.result(format, unit);
  total.error += tensorCoreError(sum, format, value.format, format);
  const double quotient = total.number / row.sum.number;
  const double error =
      row.isKnown
          ? (total.error + std::abs(quotient) * row.sum.error) / row.sum.number
          : kInfinity;
  return format.rounded(quotient, error, 4);
}

} // namespace

std::unique_ptr<Node> makeContraction(const Site &site) {
  if (auto matmul = dyn_cast<ait::MatmulOp>(site.op))
    return std::make_unique<MatmulNode>(site, matmul);
  if (auto convolution = dyn_cast<ait::ConvolutionOp>(site.op))
    return std::make_unique<ConvolutionNode>(site, convolution);
  if (auto attention = dyn_cast<ait::AttentionOp>(site.op))
    return std::make_unique<AttentionNode>(site, attention);
  return nullptr;
}

} // namespace aitune::reference
