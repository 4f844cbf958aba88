#include "frontend/importer/size_comparison.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "compiler/dialect/SizeExpressions.h"
#include "llvm/ADT/DenseSet.h"

namespace aitune::frontend {
namespace {

using mlir::AffineExpr;
using mlir::AffineExprKind;

// Ranges with up to this many combinations of sizes are the samples.
constexpr size_t kMostInFull = 1024;
constexpr size_t kSamplesOfOne = 256;
constexpr size_t kSamplesOfSeveral = 128;
// Sizes at which two expressions are compared: a millisecond.
constexpr int64_t kMostCompared = int64_t{1} << 16;
constexpr size_t kManySamples = size_t{1} << 14;
// Random sizes of which constraints are to accept as many as are asked for.
constexpr size_t kMostDraws = size_t{1} << 17;

int64_t Wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return Wrap(0 - static_cast<uint64_t>(a));
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// The value of an operator of two numbers; a division by 0 gives 0.
int64_t Apply(AffineExprKind kind, int64_t a, int64_t b) {
  if (kind == AffineExprKind::Add)
    return Wrap(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  if (kind == AffineExprKind::Mul)
    return Wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  if (b == 0) return 0;
  if (kind == AffineExprKind::FloorDiv) return FloorDivide(a, b);
  if (kind == AffineExprKind::CeilDiv)
    return Wrap(0 - static_cast<uint64_t>(
                        FloorDivide(Wrap(0 - static_cast<uint64_t>(a)), b)));
  return b == -1 ? 0 : a - FloorDivide(a, b) * b;
}

bool Holds(SizeConstraint::Relation relation, int64_t value) {
  switch (relation) {
    case SizeConstraint::Relation::kZero:
      return value == 0;
    case SizeConstraint::Relation::kNonZero:
      return value != 0;
    case SizeConstraint::Relation::kNonNegative:
      break;
  }
  return value >= 0;
}

// The values of expressions at some sizes. A part that several of them have, or
// one has several times, is evaluated once: where a network pads its length
// before each stride, the length after it has that before twice.
class Evaluation {
 public:
  explicit Evaluation(const SizePoints& points) : points_(points) {}

  const std::vector<int64_t>& Of(AffineExpr size) {
    if (const auto known = values_.find(size); known != values_.end())
      return *known->second;
    auto values = std::make_unique<std::vector<int64_t>>();
    if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(size)) {
      values->assign(points_.count, constant.getValue());
    } else if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(size)) {
      *values = points_.of_symbol[symbol.getPosition()];
    } else {
      auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(size);
      const std::vector<int64_t>& lhs = Of(binary.getLHS());
      const std::vector<int64_t>& rhs = Of(binary.getRHS());
      values->reserve(points_.count);
      for (size_t i = 0; i < points_.count; ++i)
        values->push_back(Apply(size.getKind(), lhs[i], rhs[i]));
    }
    return *values_.try_emplace(size, std::move(values)).first->second;
  }

 private:
  const SizePoints& points_;
  llvm::DenseMap<AffineExpr, std::unique_ptr<std::vector<int64_t>>> values_;
};

// Adds the symbols that `size` reads; `seen` are the parts that were looked at.
void AddSymbols(AffineExpr size, llvm::DenseSet<AffineExpr>& seen,
                std::vector<bool>& symbols) {
  if (!seen.insert(size).second) return;
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(size))
    symbols[symbol.getPosition()] = true;
  if (auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(size)) {
    AddSymbols(binary.getLHS(), seen, symbols);
    AddSymbols(binary.getRHS(), seen, symbols);
  }
}

}  // namespace

SizeComparison::SizeComparison(
    mlir::MLIRContext* context,
    const std::vector<std::pair<int64_t, int64_t>>& ranges,
    absl::Span<const SizeConstraint> constraints)
    : ranges_(ranges) {
  for (const SizeConstraint& constraint : constraints)
    constraints_.push_back(
        {mlir::ait::toAffineExpr(constraint.expression, context),
         constraint.relation, SymbolsOf(constraint.expression)});
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

SizePoints SizeComparison::Accepted(SizePoints points,
                                    const std::vector<bool>& symbols) const {
  std::vector<bool> holds(points.count, true);
  Evaluation evaluation(points);
  for (const Relation& relation : constraints_) {
    if (std::any_of(relation.symbols.begin(), relation.symbols.end(),
                    [&](int s) { return !symbols[static_cast<size_t>(s)]; }))
      continue;
    const std::vector<int64_t>& values = evaluation.Of(relation.expression);
    for (size_t i = 0; i < points.count; ++i)
      holds[i] = holds[i] && Holds(relation.relation, values[i]);
  }
  SizePoints accepted;
  for (const std::vector<int64_t>& sizes : points.of_symbol) {
    std::vector<int64_t>& kept = accepted.of_symbol.emplace_back();
    for (size_t i = 0; i < points.count; ++i)
      if (holds[i]) kept.push_back(sizes[i]);
  }
  accepted.count = accepted.of_symbol[0].size();
  return accepted;
}

SizePoints SizeComparison::Draw(size_t count) const {
  // A fixed seed: the same model must always give the same types.
  std::mt19937_64 random(20240229);
  SizePoints drawn;
  drawn.of_symbol.resize(ranges_.size());
  const auto add = [&](const std::vector<int64_t>& point) {
    for (size_t symbol = 0; symbol < ranges_.size(); ++symbol)
      drawn.of_symbol[symbol].push_back(point[symbol]);
    ++drawn.count;
  };
  std::vector<int64_t> least, greatest;
  for (const auto& [low, high] : ranges_) {
    least.push_back(low);
    greatest.push_back(high);
  }
  add(least);
  add(greatest);
  const auto draw = [&] {
    std::vector<int64_t> point;
    for (const auto& [low, high] : ranges_)
      point.push_back(
          std::uniform_int_distribution<int64_t>(low, high)(random));
    // Sizes that must be equal rarely are by chance.
    if (!constraints_.empty() && drawn.count % 2 == 1) {
      const int64_t equal = point[drawn.count / 2 % point.size()];
      for (size_t symbol = 0; symbol < point.size(); ++symbol)
        point[symbol] = std::clamp(equal, least[symbol], greatest[symbol]);
    }
    add(point);
  };
  SizePoints accepted;
  // More of them as long as constraints leave too few.
  for (size_t draws = count;; draws = std::min(draws * 8, kMostDraws)) {
    while (drawn.count < draws) draw();
    accepted = Accepted(drawn, std::vector<bool>(ranges_.size(), true));
    if (accepted.count >= count || draws == kMostDraws) break;
  }
  // Few accepted ones would make sizes equal that are not.
  const bool suffices = accepted.count >= std::min(count, kSamplesOfSeveral);
  SizePoints& chosen = suffices ? accepted : drawn;
  chosen.count = std::min(chosen.count, count);
  for (std::vector<int64_t>& sizes : chosen.of_symbol)
    sizes.resize(chosen.count);
  return std::move(chosen);
}

std::vector<int64_t> SizeComparison::ValuesAtSamples(AffineExpr size) const {
  return Evaluation(samples_).Of(size);
}

std::optional<std::vector<SizeComparison::Dependence>>
SizeComparison::DependenceOf(AffineExpr size) {
  const auto known = dependences_.find(size);
  if (known != dependences_.end()) return known->second;
  auto found = FindDependence(size);
  dependences_.try_emplace(size, found);
  return found;
}

std::optional<std::vector<SizeComparison::Dependence>>
SizeComparison::FindDependence(AffineExpr size) {
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
    for (const Relation& relation : constraints_) {
      const std::vector<int>& read = relation.symbols;
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
  points.count = static_cast<size_t>(count);
  std::vector<size_t> place(ranges_.size());
  for (int64_t done = 0; done < count; ++done) {
    for (size_t s = 0; s < sizes.size(); ++s)
      points.of_symbol[s].push_back(sizes[s][place[s]]);
    for (size_t s = 0; s < sizes.size(); ++s) {
      if (++place[s] < sizes[s].size()) break;
      place[s] = 0;
    }
  }
  return constraints_.empty() ? points : Accepted(std::move(points), symbols);
}

std::vector<SizePoints> SizeComparison::TellingPoints(
    absl::Span<const AffineExpr> sizes, bool of_ends) {
  if (samples_are_all_) return {samples_};
  std::vector<bool> read(ranges_.size());
  llvm::DenseSet<AffineExpr> seen;
  for (AffineExpr size : sizes) AddSymbols(size, seen, read);
  const std::vector<bool> symbols = Related(std::move(read));
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
  // Constraints make one polynomial of those of several symbols.
  Dependence common;
  for (const Relation& relation : constraints_) {
    const auto of_constraint = DependenceOf(relation.expression);
    for (size_t s = 0; s < ranges_.size() && of_constraint; ++s)
      dependence[s].period =
          std::min(std::lcm(dependence[s].period, (*of_constraint)[s].period),
                   kMostCompared);
  }
  for (size_t s = 0; s < ranges_.size() && !constraints_.empty(); ++s) {
    if (!symbols[s]) continue;
    common.period =
        std::min(std::lcm(common.period, dependence[s].period), kMostCompared);
    common.degree += dependence[s].degree;
  }
  std::vector<int64_t> firsts, lasts;
  for (const Dependence& own : dependence) {
    const Dependence& used = constraints_.empty() ? own : common;
    firsts.push_back(used.period * (of_ends ? 1 : used.degree + 1));
    lasts.push_back(of_ends ? used.period : 0);
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
    Evaluation evaluation(p);
    return evaluation.Of(a) == evaluation.Of(b);
  });
}

std::pair<int64_t, int64_t> SizeComparison::Bounds(AffineExpr size) {
  std::pair<int64_t, int64_t> bounds = {INT64_MAX, INT64_MIN};
  for (const SizePoints& points : TellingPoints({size}, true)) {
    const std::vector<int64_t> values = Evaluation(points).Of(size);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    bounds.first = std::min(bounds.first, *low);
    bounds.second = std::max(bounds.second, *high);
  }
  return bounds;
}

}  // namespace aitune::frontend
