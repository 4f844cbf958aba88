#include "frontend/importer/symbolic_sizes.h"

#include <algorithm>
#include <random>

#include "compiler/dialect/Ait.h"

namespace aitune::frontend {
namespace {

using mlir::AffineExpr;
using mlir::AffineExprKind;

// A range of one symbol up to this many values is tried in full.
constexpr int64_t kSamplesOfOne = 256;
constexpr int64_t kSamplesOfSeveral = 128;

int64_t Wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return Wrap(0 - static_cast<uint64_t>(a));
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

}  // namespace

SymbolicSizes::SymbolicSizes(std::vector<std::pair<int64_t, int64_t>> ranges)
    : samples_(ranges.size()) {
  if (ranges.empty()) return;
  if (ranges.size() == 1 &&
      ranges[0].second - ranges[0].first < kSamplesOfOne) {
    for (int64_t value = ranges[0].first; value <= ranges[0].second; ++value)
      samples_[0].push_back(value);
    if (samples_[0].empty()) samples_[0].push_back(ranges[0].first);
  } else {
    // A fixed seed: the same model must always give the same types.
    std::mt19937_64 random(20240229);
    const int64_t count =
        ranges.size() == 1 ? kSamplesOfOne : kSamplesOfSeveral;
    for (size_t symbol = 0; symbol < ranges.size(); ++symbol) {
      const auto [low, high] = ranges[symbol];
      std::uniform_int_distribution<int64_t> distribution(low,
                                                          std::max(low, high));
      // The corners first: all least, all greatest.
      samples_[symbol] = {low, std::max(low, high)};
      while (static_cast<int64_t>(samples_[symbol].size()) < count)
        samples_[symbol].push_back(distribution(random));
    }
  }
  sample_count_ = samples_[0].size();
}

std::vector<int64_t> SymbolicSizes::Evaluate(AffineExpr size) const {
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(size)) {
    return std::vector<int64_t>(sample_count_, constant.getValue());
  }
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(size))
    return samples_[symbol.getPosition()];
  auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(size);
  std::vector<int64_t> values = Evaluate(binary.getLHS());
  const std::vector<int64_t> rhs = Evaluate(binary.getRHS());
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t& value = values[i];
    const bool division = size.getKind() != AffineExprKind::Add &&
                          size.getKind() != AffineExprKind::Mul;
    if (division && rhs[i] == 0) {
      value = 0;
      continue;
    }
    switch (size.getKind()) {
      case AffineExprKind::Add:
        value =
            Wrap(static_cast<uint64_t>(value) + static_cast<uint64_t>(rhs[i]));
        break;
      case AffineExprKind::Mul:
        value =
            Wrap(static_cast<uint64_t>(value) * static_cast<uint64_t>(rhs[i]));
        break;
      case AffineExprKind::FloorDiv:
        value = FloorDivide(value, rhs[i]);
        break;
      case AffineExprKind::CeilDiv:
        value = Wrap(0 - static_cast<uint64_t>(FloorDivide(
                             Wrap(0 - static_cast<uint64_t>(value)), rhs[i])));
        break;
      default:
        value = rhs[i] == -1 ? 0 : value - FloorDivide(value, rhs[i]) * rhs[i];
        break;
    }
  }
  return values;
}

AffineExpr SymbolicSizes::Canonical(AffineExpr size) {
  if (mlir::isa<mlir::AffineConstantExpr>(size)) return size;
  auto [known, inserted] = canonical_.try_emplace(size, size);
  if (!inserted) return known->second;
  std::vector<int64_t> values = Evaluate(size);
  // A symbol of one value is still a symbol: its range is the caller's to say.
  AffineExpr representative = mlir::ait::canonicalizeSize(size);
  const bool constant = std::all_of(values.begin(), values.end(),
                                    [&](int64_t v) { return v == values[0]; });
  if (constant && values.size() > 1) {
    representative = mlir::getAffineConstantExpr(values[0], size.getContext());
  } else {
    representative =
        by_values_.try_emplace(std::move(values), representative).first->second;
  }
  canonical_[size] = representative;
  return representative;
}

std::pair<int64_t, int64_t> SymbolicSizes::Bounds(AffineExpr size) {
  const std::vector<int64_t> values = Evaluate(size);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

}  // namespace aitune::frontend
