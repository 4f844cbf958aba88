#include "frontend/importer/size_comparison.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "compiler/dialect/SizeExpressions.h"

namespace aitune::frontend {
namespace {

using mlir::AffineExpr;
using mlir::AffineExprKind;

// Ranges with up to this many combinations of sizes are the samples.
constexpr size_t kMostInFull = 1024;
constexpr size_t kSamplesOfOne = 256;
constexpr size_t kSamplesOfSeveral = 128;
// Sizes at which two expressions are compared: some milliseconds.
constexpr int64_t kMostCompared = int64_t{1} << 18;
constexpr size_t kManySamples = size_t{1} << 14;
// Random sizes of which constraints are to accept as many as are asked for.
constexpr size_t kMostDraws = size_t{1} << 17;

int64_t Wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return Wrap(0 - static_cast<uint64_t>(a));
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

std::vector<int64_t> Evaluate(AffineExpr size, const SizePoints& points) {
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(size))
    return std::vector<int64_t>(points.count, constant.getValue());
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(size))
    return points.of_symbol[symbol.getPosition()];
  auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(size);
  std::vector<int64_t> values = Evaluate(binary.getLHS(), points);
  const std::vector<int64_t> rhs = Evaluate(binary.getRHS(), points);
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

// The symbols that the expressions read, of `count`.
std::vector<bool> SymbolsOfAll(absl::Span<const AffineExpr> sizes,
                               size_t count) {
  std::vector<bool> symbols(count);
  for (AffineExpr size : sizes) {
    size.walk([&](AffineExpr part) {
      if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(part))
        symbols[symbol.getPosition()] = true;
    });
  }
  return symbols;
}

}  // namespace

SizeComparison::SizeComparison(
    const std::vector<std::pair<int64_t, int64_t>>& ranges,
    absl::Span<const SizeConstraint> constraints)
    : ranges_(ranges), constraints_(constraints.begin(), constraints.end()) {
  if (ranges.empty()) {
    samples_.count = 1;
    samples_are_all_ = true;
    return;
  }
  for (auto& [low, high] : ranges_) high = std::max(low, high);
  int64_t count = 1;
  std::vector<int64_t> lengths;
  for (const auto& [low, high] : ranges_) {
    lengths.push_back(std::min<int64_t>(high - low, kMostInFull) + 1);
    count = std::min<int64_t>(count * lengths.back(), kMostInFull + 1);
  }
  if (count <= static_cast<int64_t>(kMostInFull)) {
    const std::optional<SizePoints> all =
        Combinations(std::vector<bool>(ranges_.size(), true), lengths, {});
    samples_are_all_ = all.has_value() && all->count > 0;
    if (samples_are_all_) samples_ = *all;
  }
  if (!samples_are_all_)
    samples_ = Draw(ranges_.size() == 1 ? kSamplesOfOne : kSamplesOfSeveral);
}

bool SizeComparison::IsAccepted(absl::Span<const int64_t> point,
                                const std::vector<bool>& symbols) const {
  return std::all_of(
      constraints_.begin(), constraints_.end(),
      [&](const SizeConstraint& constraint) {
        const std::vector<int> read = SymbolsOf(constraint.expression);
        return std::any_of(read.begin(), read.end(),
                           [&](int symbol) {
                             return !symbols[static_cast<size_t>(symbol)];
                           }) ||
               constraint.Holds(point);
      });
}

SizePoints SizeComparison::Draw(size_t count) const {
  SizePoints drawn;
  drawn.of_symbol.resize(ranges_.size());
  const auto add = [&](const std::vector<int64_t>& point) {
    for (size_t symbol = 0; symbol < ranges_.size(); ++symbol)
      drawn.of_symbol[symbol].push_back(point[symbol]);
    ++drawn.count;
  };
  // A fixed seed: the same model must always give the same types.
  std::mt19937_64 random(20240229);
  const auto draw = [&] {
    std::vector<int64_t> point;
    for (const auto& [low, high] : ranges_)
      point.push_back(
          std::uniform_int_distribution<int64_t>(low, high)(random));
    return point;
  };
  std::vector<int64_t> least, greatest;
  for (const auto& [low, high] : ranges_) {
    least.push_back(low);
    greatest.push_back(high);
  }
  const std::vector<bool> all(ranges_.size(), true);
  for (const std::vector<int64_t>& corner : {least, greatest})
    if (IsAccepted(corner, all)) add(corner);
  for (size_t tried = 0; tried < kMostDraws && drawn.count < count; ++tried) {
    std::vector<int64_t> point = draw();
    // Sizes that must be equal rarely are by chance.
    for (size_t symbol = 0;
         !constraints_.empty() && tried % 2 == 1 && symbol < ranges_.size();
         ++symbol)
      point[symbol] = std::clamp(point[0], least[symbol], greatest[symbol]);
    if (IsAccepted(point, all)) add(point);
  }
  if (drawn.count >= std::min(count, kSamplesOfSeveral)) return drawn;
  // Few accepted ones would make sizes equal that are not.
  drawn = SizePoints();
  drawn.of_symbol.resize(ranges_.size());
  add(least);
  add(greatest);
  while (drawn.count < count) add(draw());
  return drawn;
}

std::vector<int64_t> SizeComparison::ValuesAtSamples(AffineExpr size) const {
  return Evaluate(size, samples_);
}

std::optional<std::vector<SizeComparison::Dependence>>
SizeComparison::DependenceOf(AffineExpr size) const {
  std::vector<Dependence> found(ranges_.size());
  if (mlir::isa<mlir::AffineConstantExpr>(size)) return found;
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(size)) {
    found[symbol.getPosition()].degree = 1;
    return found;
  }
  auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(size);
  const auto lhs = DependenceOf(binary.getLHS());
  if (!lhs) return std::nullopt;
  if (size.getKind() == AffineExprKind::Add ||
      size.getKind() == AffineExprKind::Mul) {
    const auto rhs = DependenceOf(binary.getRHS());
    if (!rhs) return std::nullopt;
    for (size_t s = 0; s < found.size(); ++s) {
      const Dependence &a = (*lhs)[s], &b = (*rhs)[s];
      found[s].period = std::lcm(a.period, b.period);
      found[s].degree = size.getKind() == AffineExprKind::Add
                            ? std::max(a.degree, b.degree)
                            : a.degree + b.degree;
      if (found[s].period > kMostCompared) return std::nullopt;
    }
    return found;
  }
  auto divisor = mlir::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
  if (!divisor || divisor.getValue() <= 0 || divisor.getValue() > kMostCompared)
    return std::nullopt;
  found = *lhs;
  for (Dependence& dependence : found) {
    if (dependence.degree == 0) continue;
    dependence.period *= divisor.getValue();
    // A polynomial whose values are integers, such as n * (n - 1) / 2, has
    // these over as many, for n - 1 and so on.
    for (int64_t factor = 2; factor <= dependence.degree; ++factor) {
      if (dependence.period > kMostCompared) return std::nullopt;
      dependence.period *= factor;
    }
    if (dependence.period > kMostCompared) return std::nullopt;
    if (size.getKind() == AffineExprKind::Mod) dependence.degree = 0;
  }
  return found;
}

std::vector<bool> SizeComparison::Related(std::vector<bool> symbols) const {
  for (bool grows = true; grows;) {
    grows = false;
    for (const SizeConstraint& constraint : constraints_) {
      const std::vector<int> read = SymbolsOf(constraint.expression);
      const auto is_in = [&](int s) { return symbols[static_cast<size_t>(s)]; };
      if (std::none_of(read.begin(), read.end(), is_in) ||
          std::all_of(read.begin(), read.end(), is_in))
        continue;
      for (const int symbol : read) symbols[static_cast<size_t>(symbol)] = true;
      grows = true;
    }
  }
  return symbols;
}

std::optional<SizePoints> SizeComparison::Combinations(
    const std::vector<bool>& symbols, absl::Span<const int64_t> firsts,
    absl::Span<const int64_t> lasts) const {
  std::vector<std::vector<int64_t>> sizes(ranges_.size());
  int64_t count = 1;
  for (size_t s = 0; s < ranges_.size(); ++s) {
    const auto& [low, high] = ranges_[s];
    if (!symbols[s]) {
      sizes[s] = {low};
      continue;
    }
    // As differences: a range may end at the greatest integer.
    const int64_t length = high - low, last = lasts.empty() ? 0 : lasts[s];
    if (std::min(length, firsts[s] + last) >= kMostCompared)
      return std::nullopt;
    for (int64_t i = 0; i <= length; ++i) {
      if (i == firsts[s] && length - i >= last) i = length - last + 1;
      if (i <= length) sizes[s].push_back(low + i);
    }
    count *= static_cast<int64_t>(sizes[s].size());
    if (count > kMostCompared) return std::nullopt;
  }
  SizePoints points;
  points.of_symbol.resize(ranges_.size());
  std::vector<size_t> place(ranges_.size());
  std::vector<int64_t> point(ranges_.size());
  for (int64_t done = 0; done < count; ++done) {
    for (size_t s = 0; s < point.size(); ++s) point[s] = sizes[s][place[s]];
    if (IsAccepted(point, symbols)) {
      for (size_t s = 0; s < point.size(); ++s)
        points.of_symbol[s].push_back(point[s]);
      ++points.count;
    }
    for (size_t s = 0; s < point.size(); ++s) {
      if (++place[s] < sizes[s].size()) break;
      place[s] = 0;
    }
  }
  return points;
}

std::vector<SizePoints> SizeComparison::TellingPoints(
    absl::Span<const AffineExpr> sizes, bool of_ends) {
  if (samples_are_all_) return {samples_};
  const std::vector<bool> symbols =
      Related(SymbolsOfAll(sizes, ranges_.size()));
  std::vector<Dependence> dependence(ranges_.size());
  bool is_known = true, is_linear = true;
  for (AffineExpr size : sizes) {
    const auto of_size = DependenceOf(size);
    is_known = is_known && of_size;
    for (size_t s = 0; s < ranges_.size() && of_size; ++s) {
      dependence[s].period = std::min(
          std::lcm(dependence[s].period, (*of_size)[s].period), kMostCompared);
      dependence[s].degree =
          std::max(dependence[s].degree, (*of_size)[s].degree);
      is_linear = is_linear && dependence[s].degree <= 1;
    }
  }
  std::vector<int64_t> firsts, lasts;
  for (const Dependence& of_symbol : dependence) {
    firsts.push_back(of_symbol.period * (of_ends ? 1 : of_symbol.degree + 1));
    lasts.push_back(of_ends ? of_symbol.period : 0);
  }
  const bool suffices = is_known && (is_linear || !of_ends);
  std::optional<SizePoints> part;
  if (is_known) part = Combinations(symbols, firsts, lasts);
  if (part && suffices && constraints_.empty()) return {*std::move(part)};
  const std::vector<int64_t> all(ranges_.size(), kMostCompared);
  std::optional<SizePoints> whole = Combinations(symbols, all, {});
  if (whole && whole->count > 0) return {*std::move(whole)};
  // Constraints may leave few sizes of a part.
  if (!many_samples_) many_samples_ = Draw(kManySamples);
  std::vector<SizePoints> points = {*many_samples_};
  if (part && part->count > 0) points.push_back(*std::move(part));
  return points;
}

bool SizeComparison::AreEqual(AffineExpr a, AffineExpr b) {
  const std::vector<SizePoints> points = TellingPoints({a, b}, false);
  return std::all_of(points.begin(), points.end(), [&](const SizePoints& p) {
    return Evaluate(a, p) == Evaluate(b, p);
  });
}

std::pair<int64_t, int64_t> SizeComparison::Bounds(AffineExpr size) {
  std::pair<int64_t, int64_t> bounds = {INT64_MAX, INT64_MIN};
  for (const SizePoints& points : TellingPoints({size}, true)) {
    const std::vector<int64_t> values = Evaluate(size, points);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    bounds.first = std::min(bounds.first, *low);
    bounds.second = std::max(bounds.second, *high);
  }
  return bounds;
}

}  // namespace aitune::frontend
