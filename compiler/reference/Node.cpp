#include "compiler/reference/Node.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace aitune::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Elements of a tensor that a table has room for; of a larger one those that
/// were computed are looked up.
constexpr int64_t kMostRemembered = int64_t{1} << 22;
/// What an element costs, and a product of elements in memory, in sixteenths.
constexpr int64_t kElementEffort = 16, kProductEffort = 1;

struct BFloat16 {
  uint16_t bits;
  operator double() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float number;
    std::memcpy(&number, &wide, sizeof number);
    return number;
  }
};

struct Float8 {
  uint8_t code;
  operator double() const {
    static const auto *const numbers = [] {
      auto *made = new std::array<double, 256>;
      for (size_t i = 0; i < made->size(); ++i) {
        const auto byte = static_cast<uint8_t>(i);
        (*made)[i] =
            NumberFormat::read(&byte, DataType::kFloat8E4M3Fn, 0).number;
      }
      return made;
    }();
    return (*numbers)[code];
  }
};

/// Calls `use` with a pointer of the type of a float or of a code of 8 bits;
/// false for another type.
template <typename Use> bool withTyped(const StridedRead &read, Use use) {
  switch (read.dtype) {
  case DataType::kFloat64:
    use(static_cast<const double *>(read.data));
    return true;
  case DataType::kFloat32:
    use(static_cast<const float *>(read.data));
    return true;
  case DataType::kFloat16:
    use(static_cast<const _Float16 *>(read.data));
    return true;
  case DataType::kBFloat16:
    use(static_cast<const BFloat16 *>(read.data));
    return true;
  case DataType::kFloat8E4M3Fn:
    use(static_cast<const Float8 *>(read.data));
    return true;
  case DataType::kInt8:
    use(static_cast<const int8_t *>(read.data));
    return true;
  case DataType::kUInt8:
    use(static_cast<const uint8_t *>(read.data));
    return true;
  default:
    return false;
  }
}

int64_t placeOf(const StridedRead &read, const int64_t *index) {
  int64_t place = read.offset;
  for (size_t axis = 0; axis < read.strides.size(); ++axis)
    place += read.strides[axis] * index[axis];
  return place;
}

/// NumberFormat::alignedSize, of f16 alone: products of other types' subnormal
/// numbers are too small to matter.
template <typename Number> double alignedSize(Number number) {
  const double size = std::abs(static_cast<double>(number));
  if constexpr (std::is_same_v<Number, _Float16>)
    return size == 0 ? 0 : std::max(size, 0x1p-14);
  else
    return size;
}

template <typename Left, typename Right>
void addProducts(const Left *left, int64_t leftStride, const Right *right,
                 int64_t rightStride, int64_t count, Sum &sum) {
  if constexpr (std::is_integral_v<Left> && std::is_integral_v<Right>) {
    for (int64_t i = 0; i < count; ++i)
      sum.addIntegers(left[i * leftStride], right[i * rightStride]);
  } else {
    double total = 0, magnitude = 0, aligned = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Left l = left[i * leftStride];
      const Right r = right[i * rightStride];
      const double term = static_cast<double>(l) * static_cast<double>(r);
      total += term;
      magnitude += std::abs(term);
      aligned += alignedSize(l) * alignedSize(r);
    }
    sum.total += total;
    sum.magnitude += magnitude;
    sum.aligned += aligned;
    sum.terms += count;
  }
}

} // namespace

Node::Node(NumberFormat format, Sizes sizes, Effort &effort)
    : format(format), sizes(std::move(sizes)), effort(effort) {}

int64_t Node::count() const {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

int64_t Node::flatten(const int64_t *index) const {
  int64_t position = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    position = position * sizes[axis] + index[axis];
  return position;
}

void Node::unflatten(int64_t position, int64_t *index) const {
  for (size_t axis = sizes.size(); axis-- > 0;) {
    index[axis] = position % sizes[axis];
    position /= sizes[axis];
  }
}

void Node::remember() {
  const int64_t entries = count();
  if (remembers || entries <= 0)
    return;
  remembers = true;
  if (entries > kMostRemembered)
    return;
  elements.reset(static_cast<Element *>(std::calloc(entries, sizeof(Element))));
  known.reset(static_cast<bool *>(std::calloc(entries, sizeof(bool))));
  if (!elements || !known) {
    elements.reset();
    known.reset();
  }
}

Element Node::at(const int64_t *index) {
  if (!remembers) {
    effort.left -= kElementEffort;
    return effort.isSpent() ? Element{0, 0, kInfinity} : compute(index);
  }
  const int64_t position = flatten(index);
  if (known && known[position])
    return elements[position];
  if (!known)
    if (auto found = fewElements.find(position); found != fewElements.end())
      return found->second;
  effort.left -= kElementEffort;
  if (effort.isSpent())
    return {0, 0, kInfinity};
  const Element element = compute(index);
  if (effort.isSpent())
    return element;
  if (known) {
    elements[position] = element;
    known[position] = true;
  } else {
    fewElements.emplace(position, element);
  }
  return element;
}

double difference(double y, double moved) {
  if (y == moved || (std::isnan(y) && std::isnan(moved)))
    return 0;
  const double distance = std::abs(y - moved);
  return std::isnan(distance) ? kInfinity : distance;
}

Element Sum::result(const NumberFormat &format, double operandUnit) const {
  if (!format.isFloat)
    return {0, format.wrap(static_cast<int64_t>(integerTotal)), passedOn};
  double error = passedOn;
  // Infinite terms make the sum what it is, in any order.
  if (std::isfinite(total))
    error += format.sumError(static_cast<double>(terms), magnitude) +
             2 * operandUnit * magnitude;
  return {total, 0, std::isnan(error) ? kInfinity : error};
}

void addDotProduct(Node &lhs, int64_t *left, int64_t leftAxis, Node &rhs,
                   int64_t *right, int64_t rightAxis, int64_t count,
                   Effort &effort, Sum &sum) {
  const std::optional<StridedRead> leftRead = lhs.strided();
  const std::optional<StridedRead> rightRead = rhs.strided();
  if (leftRead && rightRead) {
    const int64_t leftPlace = placeOf(*leftRead, left),
                  rightPlace = placeOf(*rightRead, right);
    bool isDone = false;
    withTyped(*leftRead, [&](const auto *leftData) {
      isDone = withTyped(*rightRead, [&](const auto *rightData) {
        addProducts(leftData + leftPlace, leftRead->strides[leftAxis],
                    rightData + rightPlace, rightRead->strides[rightAxis],
                    count, sum);
      });
    });
    effort.left -= kProductEffort * count;
    if (isDone)
      return;
  }
  const int64_t leftStart = left[leftAxis], rightStart = right[rightAxis];
  for (int64_t i = 0; i < count && !effort.isSpent(); ++i) {
    left[leftAxis] = leftStart + i;
    right[rightAxis] = rightStart + i;
    const Element l = lhs.at(left), r = rhs.at(right);
    if (!lhs.format.isFloat && !rhs.format.isFloat) {
      sum.addIntegers(l.integer, r.integer);
      sum.passedOn += l.error * (std::abs(rhs.format.valueOf(r)) + r.error) +
                      r.error * std::abs(lhs.format.valueOf(l));
    } else {
      sum.addProduct(lhs.format, l, rhs.format, r);
    }
  }
  left[leftAxis] = leftStart;
  right[rightAxis] = rightStart;
}

bool next(llvm::ArrayRef<int64_t> sizes, int64_t *index) {
  for (size_t axis = sizes.size(); axis-- > 0;) {
    if (++index[axis] < sizes[axis])
      return true;
    index[axis] = 0;
  }
  return false;
}

} // namespace aitune::reference
