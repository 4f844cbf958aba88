#include "tests/operators/values.h"

#include <ATen/ATen.h>

#include <limits>

namespace aitune {
namespace {

struct FloatLimits {
  double largest, smallest_normal, smallest, epsilon;
};

FloatLimits LimitsOf(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return {65504, 0x1p-14, 0x1p-24, 0x1p-10};
    case at::kBFloat16:
      return {0x1.FEp127, 0x1p-126, 0x1p-133, 0x1p-7};
    case at::kFloat:
      return {std::numeric_limits<float>::max(), 0x1p-126, 0x1p-149, 0x1p-23};
    default:
      return {std::numeric_limits<double>::max(), 0x1p-1022, 0x1p-1074,
              0x1p-52};
  }
}

// Bits of an integer without its sign.
int BitsOf(at::ScalarType dtype) {
  const int bits = 8 * static_cast<int>(c10::elementSize(dtype));
  return dtype == at::kByte ? bits : bits - 1;
}

std::vector<double> FloatValues(at::ScalarType dtype, const std::string& set) {
  std::vector<double> values = {0.75, -1.5, 2, -0.25, 1, 0.1, -3, 0.5, 1.25};
  if (set == "plain") {
    values.insert(values.end(), {0.0, -0.0, -2.5, 3.5, -1});
  } else if (set == "nan") {
    values.insert(values.begin() + 3, std::numeric_limits<double>::quiet_NaN());
  } else if (set == "infinite") {
    const double infinity = std::numeric_limits<double>::infinity();
    values.insert(values.begin() + 2, infinity);
    values.insert(values.begin() + 6, -infinity);
    values.push_back(0);
  } else {
    const FloatLimits limits = LimitsOf(dtype);
    values = {
        limits.largest,  -limits.smallest,       -0.0,  1 + limits.epsilon,
        -limits.largest, limits.smallest_normal, -20.5, 0,
        limits.smallest, limits.largest / 4,     -1,    89,
        limits.epsilon};
  }
  return values;
}

std::vector<int64_t> IntegerValues(at::ScalarType dtype,
                                   const std::string& set) {
  if (set == "plain") {
    if (dtype == at::kByte) return {3, 1, 7, 2, 5, 1, 4, 0, 6};
    return {3, -1, 7, -2, 5, 1, -4, 0, -6, 2};
  }
  const int bits = BitsOf(dtype);
  if (dtype == at::kByte) return {255, 1, 128, 3, 254, 0, 127, 8};
  const int64_t greatest = bits == 63 ? std::numeric_limits<int64_t>::max()
                                      : (int64_t{1} << bits) - 1;
  return {-greatest - 1, 1, greatest, -1, 2, -greatest, 0, bits, -3, bits + 1};
}

// Elements `first`, `first + step`, ... of the values, again and again.
at::Tensor Cycle(const Combination& combination, const std::string& set,
                 at::IntArrayRef sizes, int64_t first, int64_t step,
                 bool is_divisor) {
  const at::ScalarType dtype = combination.dtype;
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  at::Tensor result;
  const auto fill = [&](const auto& values, at::ScalarType wide) {
    using Number = typename std::decay_t<decltype(values)>::value_type;
    result = at::empty({count}, at::TensorOptions().dtype(wide));
    Number* elements = result.mutable_data_ptr<Number>();
    const auto length = static_cast<int64_t>(values.size());
    for (int64_t i = 0; i < count; ++i) {
      Number value = values[(first + i * step) % length];
      // Integers divided by 0 raise, which would end the whole call.
      if (is_divisor && value == 0 && (set == "plain" || wide == at::kLong))
        value = 1;
      elements[i] = value;
    }
  };
  if (dtype == at::kBool) {
    fill(std::vector<int64_t>{1, 0, 0, 1, 1}, at::kLong);
    result = result.ne(0);
  } else if (at::isFloatingType(dtype)) {
    fill(FloatValues(dtype, set), at::kDouble);
  } else {
    fill(IntegerValues(dtype, set), at::kLong);
  }
  return result.to(dtype).view(sizes);
}

}  // namespace

std::vector<std::string> SetsOf(at::ScalarType dtype) {
  if (at::isFloatingType(dtype)) return {"plain", "nan", "infinite", "extreme"};
  if (dtype == at::kBool) return {"plain"};
  return {"plain", "extreme"};
}

std::vector<c10::IValue> MakeValues(const Combination& combination,
                                    const std::string& set) {
  const int64_t n = combination.size;
  const auto cycle = [&](at::IntArrayRef sizes, int64_t first, int64_t step,
                         bool is_divisor = false) {
    return Cycle(combination, set, sizes, first, step, is_divisor);
  };
  const at::Tensor indices =
      n == 0 ? at::empty({0}, at::kLong)
             : at::arange(n, at::kLong).mul(5).add(3).remainder(n);
  return {cycle({n}, 0, 1),
          cycle({n}, 3, 7, /*is_divisor=*/true),
          cycle({n}, 1, 3, /*is_divisor=*/true),
          cycle({3, n}, 2, 1),
          cycle({n, n}, 0, 3),
          cycle({1, 4, n, n}, 1, 1),
          at::arange(n, at::kLong).remainder(3).ne(1),
          indices};
}

}  // namespace aitune
