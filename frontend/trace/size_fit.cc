#include "frontend/trace/size_fit.h"

#include <algorithm>
#include <cmath>

namespace aitune::frontend {
namespace {

using Kind = SizeExpression::Kind;

// What sizes are divided by when nothing says by what.
constexpr int64_t kDivisors[] = {2, 3, 4, 5, 6, 7, 8, 16, 32, 64};

// Sizes of one symbol that are tried where constraints leave some out.
constexpr int64_t kMaxSearch = 4096;
// Less is doubled by the steps from one probe to the next.
constexpr int64_t kLeastDoubled = 8;
// Points at which expressions are compared.
constexpr size_t kSamples = 4096;
// Points at which expressions that may differ anywhere are compared.
constexpr size_t kMostPoints = size_t{1} << 16;
// What a size is multiplied by, at most: more comes of equations that say
// little.
constexpr double kMostFactor = 1e12;

bool AllEqual(absl::Span<const int64_t> values) {
  return std::all_of(values.begin(), values.end(),
                     [&](int64_t value) { return value == values[0]; });
}

// The solution of the overdetermined system rows * x = values by Gaussian
// elimination, free unknowns 0. The caller checks it.
std::vector<double> Solve(std::vector<std::vector<double>> rows,
                          std::vector<double> values) {
  const size_t unknowns = rows.empty() ? 0 : rows[0].size();
  std::vector<double> solution(unknowns, 0.0);
  std::vector<std::pair<size_t, size_t>> pivots;  // row, column
  size_t row = 0;
  for (size_t column = 0; column < unknowns && row < rows.size(); ++column) {
    size_t best = row;
    for (size_t r = row; r < rows.size(); ++r) {
      if (std::fabs(rows[r][column]) > std::fabs(rows[best][column])) best = r;
    }
    if (std::fabs(rows[best][column]) < 1e-6) continue;
    std::swap(rows[row], rows[best]);
    std::swap(values[row], values[best]);
    for (size_t r = 0; r < rows.size(); ++r) {
      if (r == row) continue;
      const double factor = rows[r][column] / rows[row][column];
      if (factor == 0) continue;
      for (size_t c = column; c < unknowns; ++c)
        rows[r][c] -= factor * rows[row][c];
      values[r] -= factor * values[row];
    }
    pivots.emplace_back(row, column);
    ++row;
  }
  for (const auto& [r, c] : pivots) solution[c] = values[r] / rows[r][c];
  return solution;
}

bool HasDivision(const SizeExpression& expression) {
  switch (expression.kind()) {
    case Kind::kConstant:
    case Kind::kSymbol:
      return false;
    case Kind::kAdd:
    case Kind::kMultiply:
      return HasDivision(expression.lhs()) || HasDivision(expression.rhs());
    default:
      return true;
  }
}

// The smallest point of the region without sizes below 2, if it has one that
// can be found.
SizePoint SmallPoint(const SizeRegion& region) {
  std::vector<int> symbols;
  for (size_t s = 0; s < region.ranges().size(); ++s)
    symbols.push_back(static_cast<int>(s));
  const auto cost = [](const SizePoint& point) {
    int64_t sum = 0;
    for (const int64_t size : point) sum += size < 2 ? kMaxSearch : size;
    return sum;
  };
  SizePoint best = region.anchor();
  for (const SizePoint& point : region.Points(symbols, kSamples, nullptr)) {
    if (cost(point) < cost(best)) best = point;
  }
  return best;
}

}  // namespace

std::vector<SizePoint> ChooseProbes(const SizeRegion& region, int64_t lead) {
  const std::vector<SymbolRange>& ranges = region.ranges();
  SizePoint base, ones;
  for (const SymbolRange& range : ranges) {
    // The probes that follow are greater.
    const int64_t least =
        range.min + std::min(lead, (range.max - range.min) / 2);
    base.push_back(std::min(std::max<int64_t>(least, 2), range.max));
    ones.push_back(range.min > 1 ? base.back()
                                 : std::min<int64_t>(base.back(), 1));
  }
  if (!region.Contains(base)) base = SmallPoint(region);
  std::vector<SizePoint> probes = {base};
  const auto add = [&](const SizePoint& probe) {
    const bool added =
        region.Contains(probe) &&
        std::find(probes.begin(), probes.end(), probe) == probes.end();
    if (added) probes.push_back(probe);
    return added;
  };
  // Moves a symbol, and with it those of the same size where that is needed.
  const auto move = [&](SizePoint probe, size_t symbol, int64_t size) {
    const int64_t before = probe[symbol];
    probe[symbol] = size;
    if (region.Contains(probe)) return probe;
    for (int64_t& other : probe) {
      if (other == before) other = size;
    }
    return probe;
  };
  for (size_t s = 0; s < ranges.size(); ++s) {
    size_t wanted = probes.size();
    for (const int64_t step : {1, 2, 5, 12}) {
      ++wanted;
      if (base[s] + step <= ranges[s].max)
        add(move(base, s, base[s] + step));
      else
        add(move(base, s, ranges[s].max));
    }
    // Other sizes, if constraints exclude some of those above.
    const int64_t first = lead > 0 ? base[s] : ranges[s].min;
    for (int64_t size = first;
         size <= ranges[s].max && size < first + kMaxSearch &&
         probes.size() < wanted;
         ++size) {
      if (size > 1) add(move(base, s, size));
    }
  }
  // Products show only where two symbols move together.
  for (size_t a = 0; a < ranges.size(); ++a) {
    for (size_t b = a + 1; b < ranges.size(); ++b)
      add(move(move(base, a, std::min(base[a] + 1, ranges[a].max)), b,
               std::min(base[b] + 3, ranges[b].max)));
  }
  // Twice as much: what a network makes of its sizes, as of an image that it
  // pools, is 1 at all of those above if it is 1 at the least.
  SizePoint twice = base;
  for (size_t s = 0; s < ranges.size(); ++s) {
    if (base[s] >= kLeastDoubled)
      twice[s] = std::min(2 * base[s], ranges[s].max);
  }
  if (!add(twice)) {
    for (size_t s = 0; s < ranges.size(); ++s) add(move(base, s, twice[s]));
  }
  if (ranges.size() > 1) {
    SizePoint probe = base;
    for (size_t s = 0; s < ranges.size(); ++s)
      probe[s] = std::min(base[s] + static_cast<int64_t>(s) + 2, ranges[s].max);
    add(probe);
  }
  add(ones);
  return probes;
}

SizeFitter::SizeFitter(const SizeRegion& region, std::vector<SizePoint> probes)
    : symbol_count_(region.ranges().size()),
      probes_(std::move(probes)),
      region_(std::make_shared<const SizeRegion>(region)) {
  std::vector<int> symbols;
  for (size_t s = 0; s < symbol_count_; ++s)
    symbols.push_back(static_cast<int>(s));
  std::vector<SizePoint> samples = probes_;
  for (SizePoint& point : region.Points(symbols, kSamples, nullptr))
    samples.push_back(std::move(point));
  samples_ = std::make_shared<const std::vector<SizePoint>>(std::move(samples));
}

SizeFitter SizeFitter::WithProbes(std::vector<SizePoint> probes) const {
  SizeFitter other = *this;
  other.probes_ = std::move(probes);
  return other;
}

std::vector<int64_t> SizeFitter::Evaluate(
    const SizeExpression& expression) const {
  std::vector<int64_t> values;
  for (const std::vector<int64_t>& probe : probes_)
    values.push_back(expression.Evaluate(probe));
  return values;
}

bool SizeFitter::Matches(const SizeExpression& expression,
                         absl::Span<const int64_t> values) const {
  for (size_t p = 0; p < probes_.size(); ++p) {
    if (expression.Evaluate(probes_[p]) != values[p]) return false;
  }
  return true;
}

// Multiples of `terms`, of which the first is 1.
std::optional<SizeExpression> SizeFitter::FitCombination(
    absl::Span<const int64_t> values,
    absl::Span<const SizeExpression> terms) const {
  std::vector<std::vector<double>> rows;
  std::vector<double> right;
  for (size_t p = 0; p < probes_.size(); ++p) {
    std::vector<double>& row = rows.emplace_back();
    for (const SizeExpression& term : terms)
      row.push_back(static_cast<double>(term.Evaluate(probes_[p])));
    right.push_back(static_cast<double>(values[p]));
  }
  const std::vector<double> solution = Solve(std::move(rows), std::move(right));
  SizeExpression result;
  for (size_t t = 1; t <= terms.size(); ++t) {
    const size_t i = t % terms.size();  // the constant last
    if (std::fabs(solution[i]) > kMostFactor) return std::nullopt;
    result = result + terms[i] * SizeExpression(std::llround(solution[i]));
  }
  if (!Matches(result, values)) return std::nullopt;
  return result;
}

std::optional<SizeExpression> SizeFitter::FitPolynomial(
    absl::Span<const int64_t> values) const {
  if (AllEqual(values)) return SizeExpression(values[0]);
  // The monomials 1, s_i, s_i * s_j. Squares come last: they are rare, and a
  // linear fit must win.
  std::vector<SizeExpression> monomials = {SizeExpression(1)};
  const int count = static_cast<int>(symbol_count_);
  for (int a = 0; a < count; ++a)
    monomials.push_back(SizeExpression::Symbol(a));
  const auto attempt = [&] { return FitCombination(values, monomials); };
  if (std::optional<SizeExpression> linear = attempt()) return linear;
  for (int a = 0; a < count; ++a) {
    for (int b = a + 1; b < count; ++b)
      monomials.push_back(SizeExpression::Symbol(a) *
                          SizeExpression::Symbol(b));
  }
  if (count > 1) {
    if (std::optional<SizeExpression> bilinear = attempt()) return bilinear;
  }
  for (int a = 0; a < count; ++a)
    monomials.push_back(SizeExpression::Symbol(a) * SizeExpression::Symbol(a));
  // A parabola through three points proves nothing.
  if (monomials.size() >= probes_.size()) return std::nullopt;
  return attempt();
}

const SizePoint* SizeFitter::FindDifference(const SizeExpression& a,
                                            const SizeExpression& b) const {
  const auto found = std::find_if(
      samples_->begin(), samples_->end(), [&](const SizePoint& sample) {
        return a.Evaluate(sample) != b.Evaluate(sample);
      });
  return found == samples_->end() ? nullptr : &*found;
}

std::optional<SizeExpression> SizeFitter::FitQuotient(
    absl::Span<const int64_t> values, const SizeExpression& source,
    absl::Span<const int64_t> divisors, SizePoint* undecided) const {
  if (source.constant() || AllEqual(values)) return std::nullopt;
  const std::vector<int64_t> inputs = Evaluate(source);
  std::optional<SizeExpression> found;
  for (const int64_t divisor : divisors) {
    // values = (inputs + b) floordiv divisor, so b lies in an interval.
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (size_t p = 0; p < inputs.size(); ++p) {
      low = std::max(low, values[p] * divisor - inputs[p]);
      high = std::min(high, values[p] * divisor + divisor - 1 - inputs[p]);
    }
    if (low > high) continue;
    const auto with = [&](int64_t added) {
      return SizeExpression::Binary(Kind::kFloorDivide,
                                    source + SizeExpression(added), divisor);
    };
    const SizeExpression choice = with(low);
    // More than one choice, unless constraints on sizes make them the same.
    const SizePoint* difference =
        low == high ? nullptr : FindDifference(choice, with(high));
    if (difference != nullptr) {
      const int64_t middle = low + (high - low) / 2;
      const SizePoint* halves = FindDifference(with(middle), with(middle + 1));
      if (halves != nullptr) difference = halves;
    } else if (found && *found != choice) {
      difference = FindDifference(*found, choice);
    }
    if (difference != nullptr) {
      if (undecided != nullptr && undecided->empty()) *undecided = *difference;
      return std::nullopt;
    }
    if (!found) found = choice;
  }
  return found;
}

std::optional<SizeExpression> SizeFitter::FitAffine(
    absl::Span<const int64_t> values, const SizeExpression& source) const {
  const std::vector<int64_t> inputs = Evaluate(source);
  for (size_t p = 1; p < inputs.size(); ++p) {
    if (inputs[p] == inputs[0]) continue;
    const int64_t slope = (values[p] - values[0]) / (inputs[p] - inputs[0]);
    const SizeExpression affine =
        source * slope + SizeExpression(values[0] - slope * inputs[0]);
    if (Matches(affine, values)) return affine;
    return std::nullopt;
  }
  return std::nullopt;
}

// Multiples of a quotient, another source and a number: what is padded by half
// of a size. Or of a quotient and all symbols: what is put behind others.
std::optional<SizeExpression> SizeFitter::FitSum(
    absl::Span<const int64_t> values,
    absl::Span<const SizeExpression> sources) const {
  for (const SizeExpression& first : sources) {
    if (!HasDivision(first)) continue;
    for (const SizeExpression& second : sources) {
      if (second.constant() || second == first) continue;
      if (const auto sum =
              FitCombination(values, {SizeExpression(1), second, first}))
        return sum;
    }
  }
  for (const SizeExpression& quotient : sources) {
    if (!HasDivision(quotient)) continue;
    std::vector<SizeExpression> terms = {SizeExpression(1)};
    for (int s = 0; s < static_cast<int>(symbol_count_); ++s)
      terms.push_back(SizeExpression::Symbol(s));
    terms.push_back(quotient);
    // As many equations as unknowns prove nothing.
    if (terms.size() >= probes_.size()) break;
    if (const auto sum = FitCombination(values, terms)) return sum;
  }
  return std::nullopt;
}

std::optional<SizeExpression> SizeFitter::Fit(absl::Span<const int64_t> values,
                                              SizePoint* undecided) const {
  if (std::optional<SizeExpression> polynomial = FitPolynomial(values))
    return polynomial;
  for (int s = 0; s < static_cast<int>(symbol_count_); ++s) {
    if (std::optional<SizeExpression> quotient = FitQuotient(
            values, SizeExpression::Symbol(s), kDivisors, undecided)) {
      return quotient;
    }
  }
  // Pairs: n (n - 1) / 2.
  std::vector<int64_t> doubled;
  for (const int64_t value : values) doubled.push_back(2 * value);
  if (const std::optional<SizeExpression> polynomial = FitPolynomial(doubled))
    return SizeExpression::Binary(Kind::kFloorDivide, *polynomial, 2);
  return std::nullopt;
}

std::optional<SizeExpression> SizeFitter::Fit(
    absl::Span<const int64_t> values, absl::Span<const SizeExpression> sources,
    absl::Span<const int64_t> strides, SizePoint* undecided) const {
  for (const SizeExpression& source : sources) {
    if (std::optional<SizeExpression> window =
            FitQuotient(values, source, strides, undecided))
      return window;
  }
  for (const SizeExpression& source : sources) {
    if (!source.constant() && Matches(source, values)) return source;
  }
  // Padding to a multiple: a remainder is added to a size.
  for (const SizeExpression& first : sources) {
    if (!HasDivision(first)) continue;
    for (const SizeExpression& second : sources) {
      // A quotient is 0 at all small sizes.
      if (second.constant() && AllEqual(values)) continue;
      const SizeExpression sum = second + first;
      if (!sum.constant() && Matches(sum, values)) return Simplify(sum);
    }
  }
  if (std::optional<SizeExpression> polynomial = FitPolynomial(values))
    return polynomial;
  for (const SizeExpression& source : sources) {
    if (std::optional<SizeExpression> affine = FitAffine(values, source))
      return affine;
  }
  if (std::optional<SizeExpression> sum = FitSum(values, sources)) return sum;
  for (size_t first = 0; first < sources.size(); ++first) {
    SizeExpression product = sources[first];
    for (size_t next = first + 1; next < sources.size(); ++next) {
      product = product * sources[next];
      if (Matches(product, values)) return Simplify(product);
    }
  }
  for (const SizeExpression& source : sources) {
    if (std::optional<SizeExpression> quotient =
            FitQuotient(values, source, kDivisors, undecided))
      return quotient;
  }
  return Fit(values, undecided);
}

SizeExpression SizeFitter::Simplify(const SizeExpression& expression) const {
  if (expression.constant()) return expression;
  const std::optional<SizeExpression> polynomial =
      FitPolynomial(Evaluate(expression));
  if (!polynomial) return expression;
  for (const SizePoint& sample : *samples_) {
    if (polynomial->Evaluate(sample) != expression.Evaluate(sample))
      return expression;
  }
  return !HasDivision(expression) || AreEqual(*polynomial, expression)
             ? *polynomial
             : expression;
}

bool SizeFitter::AreEqual(const SizeExpression& a,
                          const SizeExpression& b) const {
  std::vector<int> symbols = SymbolsOf(a);
  for (const int symbol : SymbolsOf(b)) symbols.push_back(symbol);
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  bool complete = false;
  const std::vector<SizePoint> points =
      region_->Points(symbols, kMostPoints, &complete);
  return complete &&
         std::all_of(points.begin(), points.end(), [&](const SizePoint& point) {
           return a.Evaluate(point) == b.Evaluate(point);
         });
}

std::vector<int> SizeFitter::DependsOn(absl::Span<const int64_t> values) const {
  std::vector<int> symbols;
  for (size_t s = 0; s < symbol_count_; ++s) {
    bool varies = false;
    for (size_t p = 0; p < probes_.size(); ++p) {
      bool only_this = true;
      for (size_t o = 0; o < symbol_count_; ++o)
        only_this &= o == s || probes_[p][o] == probes_[0][o];
      varies |= only_this && values[p] != values[0];
    }
    if (varies) symbols.push_back(static_cast<int>(s));
  }
  return symbols;
}

}  // namespace aitune::frontend
