// Pooling and resampling of images.
#include "compiler/dialect/Ait.h"
#include "compiler/reference/Builder.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace aitune::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ImageNode : public Node {
public:
  ImageNode(const Site &site, bool channelsLast)
      : Node(site.format, site.sizes, site.effort), input(*site.operands[0]),
        height(channelsLast ? 1 : 2) {}

protected:
  /// The input at the row and column given, and else at `index`.
  Element read(const int64_t *index, int64_t row, int64_t column) {
    Sizes place(index, index + rank());
    place[height] = row;
    place[height + 1] = column;
    return input.at(place.data());
  }
  int64_t inputSize(int i) const { return input.sizes[height + i]; }

  Node &input;
  const int64_t height; ///< the axis of rows; columns are the next
};

struct Window {
  int64_t size[2], stride[2], padding[2], dilation[2];
};

template <typename Pool> Window windowOf(Pool op) {
  Window window;
  for (int i = 0; i < 2; ++i) {
    window.size[i] = op.getKernelSize()[i];
    window.stride[i] = op.getStride()[i];
    window.padding[i] = op.getPadding()[i];
    window.dilation[i] = 1;
  }
  return window;
}

class PoolNode : public ImageNode {
public:
  PoolNode(const Site &site, Window window, bool channelsLast)
      : ImageNode(site, channelsLast), window(window) {}

protected:
  int64_t start(const int64_t *index, int i) const {
    return index[height + i] * window.stride[i] - window.padding[i];
  }
  template <typename Take> void forEach(const int64_t *index, Take take) {
    for (int64_t y = 0; y < window.size[0]; ++y)
      for (int64_t x = 0; x < window.size[1]; ++x) {
        const int64_t row = start(index, 0) + y * window.dilation[0],
                      column = start(index, 1) + x * window.dilation[1];
        if (row >= 0 && row < inputSize(0) && column >= 0 &&
            column < inputSize(1) && !effort.isSpent())
          take(read(index, row, column));
      }
  }

  const Window window;
};

class MaxPoolNode : public PoolNode {
public:
  using PoolNode::PoolNode;

protected:
  Element compute(const int64_t *index) override {
    Element best{-kInfinity, std::numeric_limits<int64_t>::min(), 0};
    double error = 0;
    forEach(index, [&](const Element &element) {
      error = std::max(error, element.error);
      if (format.isFloat
              ? std::isnan(element.number) || element.number > best.number
              : element.integer > best.integer)
        if (!std::isnan(best.number))
          best = element;
    });
    best.error = error;
    return best;
  }
};

class AveragePoolNode : public PoolNode {
public:
  AveragePoolNode(const Site &site, ait::AvgPool2dOp op)
      : PoolNode(site, windowOf(op), op.getChannelsLast()),
        countsPadding(op.getCountIncludePad()),
        divisor(op.getDivisorOverride()) {}

protected:
  Element compute(const int64_t *index) override {
    Sum sum;
    forEach(index, [&](const Element &element) {
      sum.add(element.number, element.error);
    });
    double count = 1;
    for (int i = 0; i < 2; ++i) {
      // ceil_mode may end the last window beyond the padding.
      const int64_t first = start(index, i),
                    end = std::min(first + window.size[i],
                                   inputSize(i) +
                                       (countsPadding ? window.padding[i] : 0));
      count *= static_cast<double>(
          end - (countsPadding ? first : std::max<int64_t>(first, 0)));
    }
    if (divisor)
      count = static_cast<double>(*divisor);
    const Element total = sum.result(format);
    return format.rounded(total.number / count, total.error / std::abs(count),
                          2);
  }

private:
  const bool countsPadding;
  const std::optional<int64_t> divisor;
};

/// The source of a position is floor(position * scale), in float32.
class NearestNode : public ImageNode {
public:
  NearestNode(const Site &site, ait::UpsampleNearest2dOp op)
      : ImageNode(site, op.getChannelsLast()),
        scales{op.getScaleH().convertToDouble(),
               op.getScaleW().convertToDouble()} {}

protected:
  Element compute(const int64_t *index) override {
    int64_t place[2];
    for (int i = 0; i < 2; ++i) {
      const int64_t position = index[height + i];
      const double factor = std::round(1 / scales[i]);
      const float source =
          static_cast<float>(position) * static_cast<float>(scales[i]);
      // A whole factor leaves nothing to rounding.
      const bool isWhole = factor >= 1 && factor * scales[i] == 1;
      place[i] =
          std::clamp<int64_t>(isWhole ? position / static_cast<int64_t>(factor)
                                      : static_cast<int64_t>(source),
                              0, inputSize(i) - 1);
    }
    return read(index, place[0], place[1]);
  }

private:
  const double scales[2];
};

class BilinearNode : public ImageNode {
public:
  BilinearNode(const Site &site, ait::UpsampleBilinear2dOp op)
      : ImageNode(site, op.getChannelsLast()),
        scales{op.getScaleH().convertToDouble(),
               op.getScaleW().convertToDouble()},
        alignsCorners(op.getAlignCorners()) {}

protected:
  Element compute(const int64_t *index) override {
    int64_t low[2], high[2];
    double weight[2], weightError = 0;
    for (int i = 0; i < 2; ++i) {
      const double position = static_cast<double>(index[height + i]);
      const double source =
          alignsCorners ? position * scales[i]
                        : std::max((position + 0.5) * scales[i] - 0.5, 0.0);
      const double whole = std::floor(source);
      weight[i] = source - whole;
      weightError += 4 * format.computeUnit * (source + 1);
      const int64_t last = inputSize(i) - 1;
      low[i] = std::clamp<int64_t>(static_cast<int64_t>(whole), 0, last);
      high[i] = std::clamp<int64_t>(static_cast<int64_t>(whole) + 1, 0, last);
    }
    Sum sum;
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 2; ++x) {
        const Element corner =
            read(index, (y ? high : low)[0], (x ? high : low)[1]);
        const double share =
            (y ? weight[0] : 1 - weight[0]) * (x ? weight[1] : 1 - weight[1]);
        sum.add(share * input.format.valueOf(corner),
                share * corner.error +
                    weightError * std::abs(input.format.valueOf(corner)));
      }
    const Element total = sum.result(format);
    return format.rounded(total.number, total.error, 4);
  }

private:
  const double scales[2];
  const bool alignsCorners;
};

} // namespace

std::unique_ptr<Node> makeWindow(const Site &site) {
  if (auto pool = dyn_cast<ait::MaxPool2dOp>(site.op)) {
    Window window = windowOf(pool);
    for (int i = 0; i < 2; ++i)
      window.dilation[i] = pool.getDilation()[i];
    return std::make_unique<MaxPoolNode>(site, window, pool.getChannelsLast());
  }
  if (auto pool = dyn_cast<ait::AvgPool2dOp>(site.op))
    return site.format.isFloat ? std::make_unique<AveragePoolNode>(site, pool)
                               : nullptr;
  if (auto nearest = dyn_cast<ait::UpsampleNearest2dOp>(site.op))
    return std::make_unique<NearestNode>(site, nearest);
  if (auto bilinear = dyn_cast<ait::UpsampleBilinear2dOp>(site.op))
    return site.format.isFloat ? std::make_unique<BilinearNode>(site, bilinear)
                               : nullptr;
  return nullptr;
}

} // namespace aitune::reference
