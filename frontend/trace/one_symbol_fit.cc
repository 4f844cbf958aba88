#include "frontend/trace/one_symbol_fit.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace aitune::frontend {
namespace {

// Fewer sizes have a formula by chance.
constexpr size_t kLeastSizes = 8;

// (a * symbol + b) floordiv d with these values at these sizes, if there is one
// with a small d: what the program computes in floating point, such as
// int(n * 0.3).
std::optional<SizeExpression> FitRational(int symbol,
                                          const std::vector<int64_t>& sizes,
                                          const std::vector<int64_t>& values) {
  constexpr int64_t kMaxDivisor = 128;
  const int64_t length = sizes.back() - sizes.front();
  if (sizes.size() < kLeastSizes || length == 0) return std::nullopt;
  const double slope = static_cast<double>(values.back() - values.front()) /
                       static_cast<double>(length);
  for (int64_t divisor = 1; divisor <= kMaxDivisor; ++divisor) {
    const int64_t near =
        static_cast<int64_t>(slope * static_cast<double>(divisor));
    for (int64_t factor = near - 1; factor <= near + 1; ++factor) {
      if (factor == 0) continue;
      int64_t low = INT64_MIN, high = INT64_MAX;
      for (size_t i = 0; i < sizes.size() && low <= high; ++i) {
        const int64_t rest = values[i] * divisor - factor * sizes[i];
        low = std::max(low, rest);
        high = std::min(high, rest + divisor - 1);
      }
      if (low > high) continue;
      return SizeExpression::Binary(
          SizeExpression::Kind::kFloorDivide,
          SizeExpression::Symbol(symbol) * factor + SizeExpression(low),
          divisor);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<SizeExpression> FitRemainder(int symbol,
                                           const std::vector<int64_t>& sizes,
                                           const std::vector<int64_t>& values) {
  for (const int64_t multiple : {0, 1, -1, 2, -2}) {
    std::vector<int64_t> rest;
    int64_t step = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      rest.push_back(values[i] + multiple * sizes[i]);
      step = std::gcd(step, rest[i] - rest[0]);
    }
    if (step == 0) continue;
    const int64_t first = rest[0];
    for (int64_t& value : rest) value = (value - first) / step;
    if (const auto fitted = FitRational(symbol, sizes, rest))
      return *fitted * step + SizeExpression(first) +
             SizeExpression::Symbol(symbol) * -multiple;
  }
  return std::nullopt;
}

std::optional<SizeExpression> FitAround(int symbol,
                                        const std::vector<int64_t>& sizes,
                                        const std::vector<int64_t>& values,
                                        size_t place) {
  const auto fit = [&](size_t first, size_t last) {
    const auto part = [&](const std::vector<int64_t>& all) {
      return std::vector<int64_t>(
          all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    };
    return FitRemainder(symbol, part(sizes), part(values));
  };
  for (size_t length = sizes.size(); length >= kLeastSizes; length /= 2) {
    const size_t first = place > length ? place - length : 0,
                 last = std::min(place + length, sizes.size() - 1);
    for (const auto& [from, to] :
         {std::pair(first, last), std::pair(place, last),
          std::pair(first, place)}) {
      if (to - from + 1 < kLeastSizes) continue;
      if (const auto formula = fit(from, to)) return formula;
    }
  }
  return std::nullopt;
}

std::optional<SizeExpression> FitOneSymbol(const std::vector<int>& symbols,
                                           const std::vector<SizePoint>& points,
                                           const std::vector<int64_t>& values) {
  for (const int symbol : symbols) {
    std::map<int64_t, int64_t> known;
    bool is_one = true;
    for (size_t i = 0; i < points.size() && is_one; ++i)
      is_one = known.emplace(points[i][static_cast<size_t>(symbol)], values[i])
                   .first->second == values[i];
    if (!is_one) continue;
    std::vector<int64_t> sizes, there;
    for (const auto& [size, value] : known) {
      sizes.push_back(size);
      there.push_back(value);
    }
    return FitRemainder(symbol, sizes, there);
  }
  return std::nullopt;
}

}  // namespace aitune::frontend
