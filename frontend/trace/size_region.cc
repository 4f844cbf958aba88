#include "frontend/trace/size_region.h"

#include <time.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"

namespace aitune::frontend {
namespace {

using Kind = SizeExpression::Kind;
using Relation = SizeConstraint::Relation;

// How far from the anchor one symbol's sizes are looked at one by one.
constexpr int64_t kMaxReach = int64_t{1} << 16;
// Moduli that programs align sizes to.
constexpr int64_t kMaxModulus = 64;
// The most parts that halving a size makes of it, of networks that halve it and
// double it again.
constexpr int64_t kMostHalves = 32;
constexpr int kRandomPoints = 48;
constexpr size_t kMostCriticalPoints = 64;
// Values of a formula of which some may be exceptions, and the share of all
// sizes that one has at most: one in so many.
constexpr size_t kMostValues = 8;
constexpr size_t kFewPoints = 64;
constexpr size_t kRareShare = 20;
// A loop that compares sizes hundreds of times, as one that shortens the longer
// of two texts does, would take minutes to look at all of their sizes.
constexpr double kMostSeconds = 3;

// Seconds of this thread, which other processes don't lengthen.
double ThreadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

SizeExpression Modulo(const SizeExpression& size, int64_t modulus) {
  return SizeExpression::Binary(Kind::kModulo, size, modulus);
}

// The first constraint on remainders for which `fits` is true: what a program
// decides by that aligns sizes, the remainder of a size or of the size that an
// image has after it was halved some times.
std::optional<SizeConstraint> FindRemainder(
    int symbol, absl::FunctionRef<bool(const SizeConstraint&)> fits) {
  for (int64_t modulus = 2; modulus <= kMaxModulus; ++modulus) {
    for (int64_t remainder = 0; remainder < modulus; ++remainder) {
      for (const Relation relation : {Relation::kZero, Relation::kNonZero}) {
        const SizeConstraint constraint = {
            Modulo(SizeExpression::Symbol(symbol), modulus) +
                SizeExpression(-remainder),
            relation};
        if (fits(constraint)) return constraint;
      }
    }
  }
  for (int64_t parts = 2; parts <= kMostHalves; parts *= 2) {
    // Rounded down, as a pool does, or up, as a padded convolution does.
    for (const int64_t added : {int64_t{0}, parts - 1}) {
      const SizeExpression part = SizeExpression::Binary(
          Kind::kFloorDivide,
          SizeExpression::Symbol(symbol) + SizeExpression(added), parts);
      for (int64_t modulus = 2; modulus <= kMostHalves; modulus *= 2) {
        for (const Relation relation : {Relation::kZero, Relation::kNonZero}) {
          const SizeConstraint constraint = {Modulo(part, modulus), relation};
          if (fits(constraint)) return constraint;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

SizeRegion::SizeRegion(std::vector<SymbolRange> ranges, SizePoint anchor)
    : ranges_(std::move(ranges)), anchor_(std::move(anchor)) {}

bool SizeRegion::Contains(absl::Span<const int64_t> point) const {
  for (size_t s = 0; s < ranges_.size(); ++s) {
    if (point[s] < ranges_[s].min || point[s] > ranges_[s].max) return false;
  }
  return std::all_of(constraints_.begin(), constraints_.end(),
                     [&](const SizeConstraint& c) { return c.Holds(point); });
}

std::vector<const SizeConstraint*> SizeRegion::ConstraintsOf(
    absl::Span<const int> symbols) const {
  std::vector<const SizeConstraint*> found;
  for (const SizeConstraint& constraint : constraints_) {
    const std::vector<int> read = Dynamic(SymbolsOf(constraint.expression));
    if (std::all_of(read.begin(), read.end(), [&](int symbol) {
          return std::find(symbols.begin(), symbols.end(), symbol) !=
                 symbols.end();
        }))
      found.push_back(&constraint);
  }
  return found;
}

bool SizeRegion::Allows(
    absl::Span<const int64_t> point,
    absl::Span<const SizeConstraint* const> constraints) const {
  for (size_t s = 0; s < ranges_.size(); ++s) {
    if (point[s] < ranges_[s].min || point[s] > ranges_[s].max) return false;
  }
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const SizeConstraint* constraint) {
                       return constraint->Holds(point);
                     });
}

void SizeRegion::AddCriticalSize(int64_t size) {
  if (std::find(critical_sizes_.begin(), critical_sizes_.end(), size) ==
      critical_sizes_.end())
    critical_sizes_.push_back(size);
}

void SizeRegion::AddCriticalPointsOf(const SizeExpression& formula) {
  if (formula.constant() || !seen_formulas_.insert(formula.ToString()).second)
    return;
  std::map<int64_t, std::vector<size_t>> places;  // of each value
  std::vector<SizePoint> points;
  // Most formulas have many values, as few points show.
  for (const size_t limit : {kFewPoints, kMostLookedAt}) {
    bool complete = false;
    points = Points(SymbolsOf(formula), limit, &complete);
    places.clear();
    for (size_t i = 0; i < points.size(); ++i) {
      places[formula.Evaluate(points[i])].push_back(i);
      if (places.size() > kMostValues) return;
    }
    if (complete) break;
    if (limit == kMostLookedAt) return;
  }
  for (const auto& [value, of_value] : places) {
    if (of_value.size() > points.size() / kRareShare) continue;
    for (const size_t i : {of_value.front(), of_value.back()}) {
      if (critical_points_.size() < kMostCriticalPoints)
        critical_points_.push_back(points[i]);
    }
  }
}

std::vector<int> SizeRegion::Dynamic(absl::Span<const int> symbols) const {
  std::vector<int> dynamic;
  for (const int symbol : symbols) {
    const SymbolRange& range = ranges_[static_cast<size_t>(symbol)];
    if (range.min < range.max) dynamic.push_back(symbol);
  }
  return dynamic;
}

size_t SizeRegion::CountUpTo(absl::Span<const int> dynamic,
                             size_t limit) const {
  size_t count = 1;
  for (const int symbol : dynamic) {
    const SymbolRange& range = ranges_[static_cast<size_t>(symbol)];
    const auto length = static_cast<size_t>(range.max - range.min) + 1;
    count =
        length > limit || count * length > limit ? limit + 1 : count * length;
  }
  return count;
}

bool SizeRegion::LooksAtAll(absl::Span<const int> symbols) const {
  const std::vector<int> dynamic = Dynamic(symbols);
  return dynamic.size() < 2 ||
         CountUpTo(dynamic, kMostLookedAt) <= kMostLookedAt;
}

void SizeRegion::Shorten(absl::Span<const int> symbols, size_t most,
                         const std::string& reason) {
  const auto length = [&](int symbol) {
    const SymbolRange& range = ranges_[static_cast<size_t>(symbol)];
    return range.max - range.min;
  };
  while (CountUpTo(Dynamic(symbols), most) > most) {
    const int longest =
        *std::max_element(symbols.begin(), symbols.end(),
                          [&](int a, int b) { return length(a) < length(b); });
    const int64_t size = anchor_[static_cast<size_t>(longest)];
    const SymbolRange& range = ranges_[static_cast<size_t>(longest)];
    // Half as many sizes.
    const int64_t kept = (length(longest) + 1) / 2 - 1;
    const int64_t min =
        std::clamp(size - kept / 2, range.min, range.max - kept);
    Narrow(longest, {min, min + kept});
    AddReason(reason);
  }
}

std::vector<SizePoint> SizeRegion::Points(absl::Span<const int> symbols,
                                          size_t limit, bool* complete) const {
  const std::vector<int> dynamic = Dynamic(symbols);
  const size_t count = CountUpTo(dynamic, limit);
  if (complete != nullptr) *complete = count <= limit;
  std::set<SizePoint> points;
  const std::vector<const SizeConstraint*> constraints = ConstraintsOf(dynamic);
  const auto add = [&](const SizePoint& point) {
    if (Allows(point, constraints)) points.insert(point);
  };
  add(anchor_);
  if (count <= limit) {
    SizePoint point = anchor_;
    for (const int symbol : dynamic)
      point[static_cast<size_t>(symbol)] =
          ranges_[static_cast<size_t>(symbol)].min;
    for (size_t done = 0; done < count; ++done) {
      add(point);
      for (const int symbol : dynamic) {
        int64_t& size = point[static_cast<size_t>(symbol)];
        const SymbolRange& range = ranges_[static_cast<size_t>(symbol)];
        if (++size <= range.max) break;
        size = range.min;
      }
    }
    return {points.begin(), points.end()};
  }

  // One symbol at a time, the others as the anchor has them.
  for (const int symbol : dynamic) {
    const SymbolRange& range = ranges_[static_cast<size_t>(symbol)];
    std::vector<int64_t> sizes = {range.min, range.min + 1, range.min + 2,
                                  range.max - 1, range.max};
    for (const int64_t critical : critical_sizes_)
      sizes.insert(sizes.end(), {critical - 1, critical, critical + 1});
    for (int bit = 2; bit < 63 && int64_t{1} << bit <= range.max; ++bit) {
      const int64_t power = int64_t{1} << bit;
      sizes.insert(sizes.end(), {power - 1, power, power + 1});
    }
    for (const int64_t size : sizes) {
      SizePoint point = anchor_;
      point[static_cast<size_t>(symbol)] = size;
      add(point);
    }
  }
  for (const SizePoint& critical : critical_points_) {
    SizePoint point = anchor_;
    for (const int symbol : dynamic)
      point[static_cast<size_t>(symbol)] =
          critical[static_cast<size_t>(symbol)];
    if (point == critical) add(point);
  }
  // Corners, where they are few.
  for (size_t corner = 0;
       dynamic.size() <= 6 && corner < (size_t{1} << dynamic.size());
       ++corner) {
    SizePoint point = anchor_;
    for (size_t i = 0; i < dynamic.size(); ++i) {
      const SymbolRange& range = ranges_[static_cast<size_t>(dynamic[i])];
      point[static_cast<size_t>(dynamic[i])] =
          (corner >> i & 1) != 0 ? range.max : range.min;
    }
    add(point);
  }
  // Constraints may leave few of the random ones.
  std::mt19937_64 random(0);
  const size_t wanted = std::min(limit, points.size() + kRandomPoints);
  for (int tries = 0; tries < 64 * kRandomPoints && points.size() < wanted;
       ++tries) {
    SizePoint point = anchor_;
    for (const int symbol : dynamic) {
      const SymbolRange& range = ranges_[static_cast<size_t>(symbol)];
      point[static_cast<size_t>(symbol)] =
          std::uniform_int_distribution<int64_t>(range.min, range.max)(random);
    }
    // Sizes that must be equal rarely are by chance.
    if (tries % 2 == 1 && dynamic.size() > 1) {
      for (const int symbol : dynamic)
        point[static_cast<size_t>(symbol)] =
            point[static_cast<size_t>(dynamic[0])];
    }
    add(point);
  }
  return {points.begin(), points.end()};
}

void SizeRegion::Tighten(int symbol) {
  const auto s = static_cast<size_t>(symbol);
  SymbolRange& range = ranges_[s];
  SizePoint point = anchor_;
  const std::vector<const SizeConstraint*> constraints =
      ConstraintsOf({symbol});
  const auto is_excluded = [&](int64_t size) {
    point[s] = size;
    return !Allows(point, constraints);
  };
  for (int64_t i = 0;
       i < kMaxReach && range.min < anchor_[s] && is_excluded(range.min); ++i)
    ++range.min;
  for (int64_t i = 0;
       i < kMaxReach && range.max > anchor_[s] && is_excluded(range.max); ++i)
    --range.max;
}

void SizeRegion::Narrow(int symbol, SymbolRange range) {
  ranges_[static_cast<size_t>(symbol)] = range;
  Tighten(symbol);
  // Constraints that the shorter range implies need not be tested at each call.
  constraints_.erase(std::remove_if(constraints_.begin(), constraints_.end(),
                                    [&](const SizeConstraint& constraint) {
                                      const std::vector<int> symbols =
                                          SymbolsOf(constraint.expression);
                                      return Dynamic(symbols).empty();
                                    }),
                     constraints_.end());
}

void SizeRegion::AddReason(const std::string& reason) {
  if (std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end())
    reasons_.push_back(reason);
}

void SizeRegion::Fix(int symbol, const std::string& reason) {
  const int64_t size = anchor_[static_cast<size_t>(symbol)];
  Narrow(symbol, {size, size});
  AddReason(reason);
}

bool SizeRegion::ExcludeOnes(const std::string& reason) {
  bool excluded = false;
  for (size_t s = 0; s < ranges_.size(); ++s) {
    if (ranges_[s].min > 1 || ranges_[s].min == ranges_[s].max) continue;
    if (anchor_[s] < 2) {
      Fix(static_cast<int>(s), reason);
    } else {
      Narrow(static_cast<int>(s), {2, ranges_[s].max});
      AddReason(reason);
    }
    excluded = true;
  }
  return excluded;
}

void SizeRegion::Add(SizeConstraint constraint) {
  if (constraint.expression.constant()) return;
  if (std::find(constraints_.begin(), constraints_.end(), constraint) !=
      constraints_.end())
    return;
  const std::vector<int> symbols = Dynamic(SymbolsOf(constraint.expression));
  constraints_.push_back(std::move(constraint));
  if (symbols.size() == 1)
    Narrow(symbols[0], ranges_[static_cast<size_t>(symbols[0])]);
}

void SizeRegion::RestrictOne(int symbol, const Predicate& holds,
                             const std::vector<SizeConstraint>& forms,
                             const std::string& reason) {
  const auto s = static_cast<size_t>(symbol);
  SymbolRange range = ranges_[s];
  range.min = std::max(range.min, anchor_[s] - kMaxReach);
  range.max = std::min(range.max, anchor_[s] + kMaxReach);
  // For each size, whether the predicate holds; not set for points outside of
  // the region.
  std::vector<std::optional<bool>> known;
  SizePoint point = anchor_;
  const std::vector<const SizeConstraint*> constraints =
      ConstraintsOf({symbol});
  for (int64_t size = range.min; size <= range.max; ++size) {
    point[s] = size;
    known.push_back(Allows(point, constraints)
                        ? std::optional<bool>(holds(point))
                        : std::nullopt);
  }
  const auto at = [&](int64_t size) {
    return known[static_cast<size_t>(size - range.min)];
  };
  SymbolRange interval = {anchor_[s], anchor_[s]};
  while (interval.min > range.min && at(interval.min - 1).value_or(true))
    --interval.min;
  while (interval.max < range.max && at(interval.max + 1).value_or(true))
    ++interval.max;
  bool others = false;
  for (int64_t size = range.min; size <= range.max; ++size) {
    others |= (size < interval.min || size > interval.max) &&
              at(size).value_or(false);
  }
  if (!others) {
    Narrow(symbol, interval);
    AddReason(reason);
    return;
  }
  if (!forms.empty()) {
    for (const SizeConstraint& form : forms) Add(form);
    AddReason(reason);
    return;
  }
  const auto separates = [&](const SizeConstraint& constraint) {
    for (int64_t size = range.min; size <= range.max; ++size) {
      point[s] = size;
      if (at(size) && *at(size) != constraint.Holds(point)) return false;
    }
    return true;
  };
  if (range.min == ranges_[s].min && range.max == ranges_[s].max) {
    const std::optional<SizeConstraint> constraint =
        FindRemainder(symbol, [&](const SizeConstraint& remainder) {
          return remainder.Holds(anchor_) && separates(remainder);
        });
    if (constraint) {
      Add(*constraint);
      AddReason(reason);
      return;
    }
  }
  Narrow(symbol, interval);
  AddReason(reason);
}

bool SizeRegion::Restrict(const std::vector<int>& symbols,
                          const Predicate& holds,
                          const std::vector<SizeConstraint>& forms,
                          const std::string& reason) {
  const std::vector<int> dynamic = Dynamic(symbols);
  if (dynamic.empty()) return false;
  const double begun = ThreadSeconds();
  const auto is_late = [&] {
    return seconds_ + ThreadSeconds() - begun > kMostSeconds;
  };
  bool gave_up = is_late();
  const auto holds_in_time = [&](absl::Span<const int64_t> point) {
    gave_up |= is_late();
    return !gave_up && holds(point);
  };
  const bool shrank =
      !gave_up && RestrictBy(dynamic, holds_in_time, forms, reason);
  seconds_ += ThreadSeconds() - begun;
  if (!gave_up) return shrank;
  for (const int symbol : dynamic) Fix(symbol, reason);
  AddReason("other sizes were not looked at, as decisions on sizes take long");
  return true;
}

bool SizeRegion::RestrictBy(const std::vector<int>& dynamic,
                            const Predicate& predicate,
                            const std::vector<SizeConstraint>& forms,
                            const std::string& reason) {
  std::map<SizePoint, bool> seen;
  const auto holds = [&](absl::Span<const int64_t> point) {
    const auto [entry, is_new] =
        seen.try_emplace(SizePoint(point.begin(), point.end()), false);
    if (is_new) entry->second = predicate(point);
    return entry->second;
  };
  bool complete = false;
  const size_t limit =
      dynamic.size() == 1 ? 2 * static_cast<size_t>(kMaxReach) : kMostLookedAt;
  const std::vector<SizePoint> points = Points(dynamic, limit, &complete);
  const bool everywhere =
      std::all_of(points.begin(), points.end(),
                  [&](const SizePoint& point) { return holds(point); });
  if (everywhere && complete) return false;
  if (everywhere && !forms.empty()) {
    // Not proved by looking: the constraints are tested at each call.
    for (const SizeConstraint& form : forms) Add(form);
    return false;
  }
  if (dynamic.size() > 1 && !forms.empty()) {
    for (const SizeConstraint& form : forms) Add(form);
    AddReason(reason);
    return true;
  }
  // Two sizes that must be the same.
  for (size_t a = 0; a < dynamic.size(); ++a) {
    for (size_t b = a + 1; b < dynamic.size(); ++b) {
      const SizeConstraint equal = {SizeExpression::Symbol(dynamic[a]) +
                                        SizeExpression::Symbol(dynamic[b]) * -1,
                                    Relation::kZero};
      if (!equal.Holds(anchor_)) continue;
      size_t kept = 0;
      const bool suffices = std::all_of(points.begin(), points.end(),
                                        [&](const SizePoint& point) {
                                          if (!equal.Holds(point)) return true;
                                          ++kept;
                                          return holds(point);
                                        });
      if (!suffices || kept < 2) continue;
      Add(equal);
      AddReason(reason);
      return true;
    }
  }
  const auto decide = [&](absl::Span<const int> deciding) {
    SizeRegion narrowed = *this;
    for (const int symbol : deciding)
      narrowed.RestrictOne(symbol, holds, {}, reason);
    const std::vector<SizePoint> left =
        narrowed.Points(dynamic, kMostLookedAt, nullptr);
    if (!std::all_of(left.begin(), left.end(),
                     [&](const SizePoint& point) { return holds(point); }))
      return false;
    *this = std::move(narrowed);
    return true;
  };
  // One of the symbols alone may decide.
  for (const int symbol : dynamic)
    if (decide({symbol})) return true;
  // Or each for itself, as the height and the width of an image do.
  if (dynamic.size() > 1 && decide(dynamic)) return true;
  for (size_t i = 0; i + 1 < dynamic.size(); ++i) Fix(dynamic[i], reason);
  RestrictOne(dynamic.back(), holds, forms, reason);
  return true;
}

}  // namespace aitune::frontend
