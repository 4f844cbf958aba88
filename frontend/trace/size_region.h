// The sizes that one trace is right for.
//
// A trace follows one path through the program: that of the anchor, which is
// one combination of sizes. Each decision that the program makes by a size
// restricts the region to sizes for which the decision is the same: to a
// shorter range of a symbol if a range describes them, otherwise by a
// constraint (what torch.compile calls a guard on symbols). A region only ever
// shrinks and always contains its anchor.
#ifndef AITUNE_FRONTEND_TRACE_SIZE_REGION_H_
#define AITUNE_FRONTEND_TRACE_SIZE_REGION_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/tensor/size_constraint.h"

namespace aitune::frontend {

// The range of a symbol in elements, both ends included.
struct SymbolRange {
  int64_t min = 1, max = 1;
};

// One size for each symbol.
using SizePoint = std::vector<int64_t>;

class SizeRegion {
 public:
  using Predicate = std::function<bool(absl::Span<const int64_t> point)>;

  // Of sizes of several symbols, Restrict looks at all if they have no more
  // combinations than this.
  static constexpr size_t kMostLookedAt = size_t{1} << 16;

  // The region of all combinations of sizes in `ranges`, one for each symbol.
  // Precondition: `anchor` is one of them.
  SizeRegion(std::vector<SymbolRange> ranges, SizePoint anchor);

  const std::vector<SymbolRange>& ranges() const { return ranges_; }
  const SizePoint& anchor() const { return anchor_; }
  const std::vector<SizeConstraint>& constraints() const {
    return constraints_;
  }
  // Why the region was restricted, one sentence for each restriction.
  const std::vector<std::string>& reasons() const { return reasons_; }

  // Whether the point is in the ranges and fulfils all constraints.
  bool Contains(absl::Span<const int64_t> point) const;

  // Adds a size at which a decision is likely to change, such as the bound of a
  // slice: Points includes it and its neighbours.
  void AddCriticalSize(int64_t size);

  // Adds sizes at which `formula`, which has few values, has one that it has at
  // few others: Points includes them where they are points of its. Of formulas
  // with more than kMostLookedAt points, none are known.
  void AddCriticalPointsOf(const SizeExpression& formula);

  // Points of the region that differ from the anchor in the sizes of `symbols`
  // only; constraints on other dynamic symbols are ignored. All such points if
  // there are at most `limit`, otherwise a sample of corners, critical sizes,
  // powers of two and random sizes, which is the same at each call. Sets
  // `complete`, if it is not null, to whether these are all points.
  std::vector<SizePoint> Points(absl::Span<const int> symbols, size_t limit,
                                bool* complete) const;

  // Removes the points where `holds` is false. `holds` depends on the sizes of
  // `symbols` alone, must be true for the anchor, and is asked once for each
  // point. `forms`, which may be empty, are constraints that together imply it.
  // Further points are removed if neither ranges nor constraints can separate
  // them. If the region shrinks, `reason` is added to reasons(). Returns
  // whether it shrank. Once all calls together have taken some seconds, only
  // the anchor's sizes of the symbols are left, and reasons() says so, too.
  bool Restrict(const std::vector<int>& symbols, const Predicate& holds,
                const std::vector<SizeConstraint>& forms,
                const std::string& reason);

  // Counts what Restrict of `other` has taken in all as taken here: it is a
  // part of this region, or the other way round.
  void ShareTime(const SizeRegion& other) {
    seconds_ = std::max(seconds_, other.seconds_);
  }

  // Whether Restrict looks at every point that differs from the anchor in the
  // sizes of `symbols` only. So it does for one symbol, of which no other sizes
  // are left.
  bool LooksAtAll(absl::Span<const int> symbols) const;

  // Shortens the ranges of `symbols`, the longest first, to sizes around the
  // anchor's, until they have at most `most` combinations. `reason`: as of
  // Restrict.
  void Shorten(absl::Span<const int> symbols, size_t most,
               const std::string& reason);

  // Restricts a symbol to the anchor's size.
  void Fix(int symbol, const std::string& reason);

  // Removes the sizes below 2 of each symbol whose size in the anchor is at
  // least 2. Returns whether there were any.
  bool ExcludeOnes(const std::string& reason);

  // Restricts a symbol to this range, which must contain the anchor's size,
  // less the sizes at its ends that constraints exclude.
  void Narrow(int symbol, SymbolRange range);
  // Adds a sentence to reasons().
  void AddReason(const std::string& reason);

  // Adds a constraint that is known to hold for the anchor. One on a constant
  // says nothing.
  void Add(SizeConstraint constraint);

 private:
  std::vector<int> Dynamic(absl::Span<const int> symbols) const;
  // How many combinations of sizes these ranges have; more than `limit` counts
  // as one more.
  size_t CountUpTo(absl::Span<const int> dynamic, size_t limit) const;
  // Removes the sizes at the ends of a symbol's range that constraints exclude.
  void Tighten(int symbol);
  // The constraints that read no dynamic symbols other than `symbols`.
  std::vector<const SizeConstraint*> ConstraintsOf(
      absl::Span<const int> symbols) const;
  // Whether the point is in the ranges and fulfils `constraints`.
  bool Allows(absl::Span<const int64_t> point,
              absl::Span<const SizeConstraint* const> constraints) const;
  // As Restrict, however long it takes. `dynamic`: of the symbols those with
  // several sizes.
  bool RestrictBy(const std::vector<int>& dynamic, const Predicate& predicate,
                  const std::vector<SizeConstraint>& forms,
                  const std::string& reason);
  void RestrictOne(int symbol, const Predicate& holds,
                   const std::vector<SizeConstraint>& forms,
                   const std::string& reason);

  std::vector<SymbolRange> ranges_;
  SizePoint anchor_;
  std::vector<SizeConstraint> constraints_;
  std::vector<int64_t> critical_sizes_;
  std::vector<SizePoint> critical_points_;
  std::set<std::string> seen_formulas_;  // that AddCriticalPointsOf has had
  std::vector<std::string> reasons_;
  double seconds_ = 0;  // of this thread that Restrict has taken
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_SIZE_REGION_H_
