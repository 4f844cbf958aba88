#include "frontend/importer/symbolic_sizes.h"

#include <algorithm>
#include <random>

#include "compiler/dialect/Ait.h"

namespace aitune::frontend {
namespace {

using mlir::AffineExpr;
using mlir::AffineExprKind;

// Ranges with up to this many combinations of sizes are tried in full.
constexpr int64_t kMostInFull = 1024;
constexpr size_t kSamplesOfOne = 256;
constexpr size_t kSamplesOfSeveral = 128;
// Random sizes of which constraints are to accept as many as are asked for.
constexpr int kMostDraws = 1 << 17;

int64_t Wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return Wrap(0 - static_cast<uint64_t>(a));
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

}  // namespace

SymbolicSizes::SymbolicSizes(
    const std::vector<std::pair<int64_t, int64_t>>& ranges,
    absl::Span<const SizeConstraint> constraints)
    : samples_(ranges.size()) {
  if (ranges.empty()) return;
  const auto add = [&](const std::vector<int64_t>& point) {
    for (size_t symbol = 0; symbol < ranges.size(); ++symbol)
      samples_[symbol].push_back(point[symbol]);
  };
  const auto is_accepted = [&](const std::vector<int64_t>& point) {
    return std::all_of(constraints.begin(), constraints.end(),
                       [&](const SizeConstraint& constraint) {
                         return constraint.Holds(point);
                       });
  };
  std::vector<int64_t> least, greatest;
  int64_t combinations = 1;
  for (const auto& [low, high] : ranges) {
    least.push_back(low);
    greatest.push_back(std::max(low, high));
    const int64_t length = greatest.back() - low;
    combinations = length < kMostInFull / combinations
                       ? combinations * (length + 1)
                       : kMostInFull + 1;
  }
  if (combinations <= kMostInFull) {
    std::vector<int64_t> point = least;
    for (int64_t done = 0; done < combinations; ++done) {
      if (is_accepted(point)) add(point);
      for (size_t symbol = 0; symbol < point.size(); ++symbol) {
        if (++point[symbol] <= greatest[symbol]) break;
        point[symbol] = least[symbol];
      }
    }
  }
  if (samples_[0].empty()) {
    const size_t count = ranges.size() == 1 ? kSamplesOfOne : kSamplesOfSeveral;
    // A fixed seed: the same model must always give the same types.
    std::mt19937_64 random(20240229);
    const auto draw = [&] {
      std::vector<int64_t> point;
      for (size_t symbol = 0; symbol < ranges.size(); ++symbol)
        point.push_back(std::uniform_int_distribution<int64_t>(
            least[symbol], greatest[symbol])(random));
      return point;
    };
    for (const std::vector<int64_t>& corner : {least, greatest})
      if (is_accepted(corner)) add(corner);
    for (int tried = 0; tried < kMostDraws && samples_[0].size() < count;
         ++tried) {
      const std::vector<int64_t> point = draw();
      if (is_accepted(point)) add(point);
    }
    // Few accepted ones would make sizes equal that are not.
    if (samples_[0].size() < count) {
      for (std::vector<int64_t>& of_symbol : samples_) of_symbol.clear();
      add(least);
      add(greatest);
      while (samples_[0].size() < count) add(draw());
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
  if (mlir::isa<mlir::AffineSymbolExpr>(size)) {
    // What its axis has in any case, whatever constraints make it equal to.
    by_values_.try_emplace(std::move(values), size);
  } else if (constant && values.size() > 1) {
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
