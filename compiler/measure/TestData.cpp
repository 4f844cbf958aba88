#include "compiler/measure/TestData.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "absl/strings/str_format.h"

namespace aitune {
namespace {

/// A bfloat16 is the upper half of a float.
uint16_t toBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits >> 16;
}

float fromBFloat16(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof bits);
  return result;
}

/// Sets element `i` of an array of floating-point numbers.
void store(void *data, DataType dtype, int64_t i, double value) {
  switch (dtype) {
  case DataType::kFloat32:
    static_cast<float *>(data)[i] = static_cast<float>(value);
    break;
  case DataType::kFloat64:
    static_cast<double *>(data)[i] = value;
    break;
  case DataType::kFloat16:
    static_cast<_Float16 *>(data)[i] = static_cast<_Float16>(value);
    break;
  default:
    static_cast<uint16_t *>(data)[i] = toBFloat16(static_cast<float>(value));
  }
}

/// A number that code for usual ones may treat wrong.
double extremeNumber(std::mt19937 &generator) {
  std::normal_distribution<double> normal;
  switch (generator() % 12) {
  case 0:
  case 1:
    return 0;
  case 2:
    return 1000 * normal(generator);
  case 3:
    return 1e-3 * normal(generator);
  case 4:
    return 1e-6 * normal(generator);
  case 5:
    return generator() % 2 ? 1 : -1;
  case 6: // halfway between integers
    return static_cast<double>(generator() % 8) - 3.5;
  default:
    return normal(generator);
  }
}

/// The number of elements that are made; longer tensors repeat them. A prime,
/// so that rows differ.
constexpr int64_t kNumbers = 65521;

/// Random numbers take far longer to make than to copy: models of hundreds of
/// kernels spent seconds on it. So they are made once.
std::vector<double>
makeNumbers(const std::function<double(std::mt19937 &)> &make) {
  std::mt19937 generator(20261123);
  std::vector<double> numbers(kNumbers);
  for (double &number : numbers)
    number = make(generator);
  return numbers;
}

/// Those of a tensor like `shape`, of which `made` elements are to be made.
TestNumbers numbersOf(const TensorView &shape, int64_t made) {
  TestNumbers result{shape.dtype, ElementCount(shape.sizes), "", {}};
  result.run.resize(made * SizeInBytes(shape.dtype));
  return result;
}

/// `numbers`, from a random one on.
TestNumbers takeFrom(const std::vector<double> &numbers,
                     const TensorView &shape, std::mt19937 &generator) {
  const int64_t made = std::min(ElementCount(shape.sizes), kNumbers);
  TestNumbers result = numbersOf(shape, made);
  const int64_t first = generator() % kNumbers;
  for (int64_t i = 0; i < made; ++i)
    store(result.run.data(), shape.dtype, i, numbers[(first + i) % kNumbers]);
  return result;
}

int64_t extremeInteger(DataType dtype, std::mt19937 &generator) {
  switch (dtype) {
  case DataType::kBool:
    return generator() % 2;
  case DataType::kUInt8:
    return generator() % 256;
  case DataType::kInt8:
    return static_cast<int64_t>(generator() % 256) - 128;
  default:
    return static_cast<int64_t>(generator() % 17) - 4;
  }
}

/// Any code but NaN.
uint8_t finiteFloat8(std::mt19937 &generator) {
  const uint32_t bits = generator();
  return static_cast<uint8_t>(bits % 0x7f | (bits >> 24 & 0x80));
}

double elementOf(const TensorView &view, int64_t i) {
  switch (view.dtype) {
  case DataType::kFloat32:
    return static_cast<const float *>(view.data)[i];
  case DataType::kFloat64:
    return static_cast<const double *>(view.data)[i];
  case DataType::kFloat16:
    return static_cast<float>(static_cast<const _Float16 *>(view.data)[i]);
  case DataType::kBFloat16:
    return fromBFloat16(static_cast<const uint16_t *>(view.data)[i]);
  default:
    return 0;
  }
}

/// How far `actual` is from `expected`: the greatest difference of two elements
/// over the expected one or, where that is greater, the root mean square of
/// all. Infinite when only one of a pair is NaN.
double relativeDifference(const TensorView &expected,
                          const TensorView &actual) {
  const int64_t count = ElementCount(expected.sizes);
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double e = elementOf(expected, i);
    if (std::isnan(e) != std::isnan(elementOf(actual, i)))
      return std::numeric_limits<double>::infinity();
    if (std::isfinite(e))
      squares += e * e;
  }
  const double scale =
      std::max(std::sqrt(squares / std::max<int64_t>(count, 1)), 1e-6);
  double greatest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double e = elementOf(expected, i), a = elementOf(actual, i);
    // The few largest of many elements are rounded most.
    if (!std::isnan(e) && e != a)
      greatest = std::max(greatest,
                          std::isinf(e)
                              ? std::numeric_limits<double>::infinity()
                              : std::abs(e - a) / std::max(scale, std::abs(e)));
  }
  return greatest;
}

double tolerance(DataType dtype) {
  switch (dtype) {
  case DataType::kFloat64:
    return 1e-9;
  case DataType::kFloat32:
    return 1e-3;
  default:
    return 0.1;
  }
}

} // namespace

TestNumbers randomNumbers(const TensorView &shape, std::mt19937 &generator) {
  if (IsFloatingPoint(shape.dtype)) {
    static const std::vector<double> numbers =
        makeNumbers([](std::mt19937 &made) {
          return static_cast<double>(std::normal_distribution<float>()(made));
        });
    return takeFrom(numbers, shape, generator);
  }
  const int64_t count = ElementCount(shape.sizes);
  TestNumbers result = numbersOf(shape, count);
  char *data = result.run.data();
  const int64_t width = SizeInBytes(shape.dtype);
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = 0;
    if (shape.dtype == DataType::kInt8) // codes of a weight, of any size
      value = extremeInteger(shape.dtype, generator);
    else if (shape.dtype == DataType::kFloat8E4M3Fn)
      value = finiteFloat8(generator);
    else
      value = generator() & 1;
    std::memcpy(data + i * width, &value, width);
  }
  return result;
}

TestNumbers extremeNumbers(const TensorView &shape, bool nonFinite,
                           std::mt19937 &generator) {
  const int64_t count = ElementCount(shape.sizes);
  if (!IsFloatingPoint(shape.dtype)) {
    const int64_t width = SizeInBytes(shape.dtype),
                  made = std::min(count, kNumbers);
    TestNumbers result = numbersOf(shape, made);
    for (int64_t i = 0; i < made; ++i) {
      const int64_t value = shape.dtype == DataType::kFloat8E4M3Fn
                                ? finiteFloat8(generator)
                                : extremeInteger(shape.dtype, generator);
      std::memcpy(result.run.data() + i * width, &value, width);
    }
    return result;
  }
  static const std::vector<double> numbers = makeNumbers(extremeNumber);
  TestNumbers result = takeFrom(numbers, shape, generator);
  // Few, since each may be all that is left of a row.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (nonFinite && count >= 64)
    result.others = {{count / 3, std::numeric_limits<double>::quiet_NaN()},
                     {count / 2, kInfinity},
                     {2 * count / 3, -kInfinity}};
  return result;
}

void putNan(TestNumbers &numbers) {
  if (IsFloatingPoint(numbers.dtype) && numbers.count > 0)
    numbers.others.emplace_back(0, std::numeric_limits<double>::quiet_NaN());
}

std::string elementBytes(DataType dtype, double value) {
  std::string bytes(SizeInBytes(dtype), '\0');
  store(bytes.data(), dtype, 0, value);
  return bytes;
}

void writeNumbers(const TestNumbers &numbers, const TensorView &view) {
  const int64_t bytes = BytesOf(view),
                made = static_cast<int64_t>(numbers.run.size());
  for (int64_t done = 0; done < bytes; done += made)
    std::memcpy(static_cast<char *>(view.data) + done, numbers.run.data(),
                std::min(made, bytes - done));
  for (const auto &[position, value] : numbers.others)
    store(view.data, view.dtype, position, value);
}

void fillRandom(TensorView &view, std::mt19937 &generator) {
  writeNumbers(randomNumbers(view, generator), view);
}

void fillExtreme(TensorView &view, bool nonFinite, std::mt19937 &generator) {
  writeNumbers(extremeNumbers(view, nonFinite, generator), view);
}

void putNan(TensorView &view) {
  if (IsFloatingPoint(view.dtype) && ElementCount(view.sizes) > 0)
    store(view.data, view.dtype, 0, std::numeric_limits<double>::quiet_NaN());
}

std::string compareResults(absl::Span<const TensorView> expected,
                           absl::Span<const TensorView> actual) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = relativeDifference(expected[i], actual[i]);
    if (difference > tolerance(expected[i].dtype))
      return absl::StrFormat(
          "result %d differs from the first candidate's by %.2g of its scale",
          i, difference);
  }
  return "";
}

} // namespace aitune
