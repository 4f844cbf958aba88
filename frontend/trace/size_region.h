// The sizes that one trace is right for.
//
// A trace follows one way through the program: that of the anchor, one
// combination of sizes. Whatever the program decides by a size narrows the
// region to sizes that decide alike: to a shorter range of a symbol where that
// says it, else by a constraint (constraints are what torch.compile calls
// guards on symbols). A region only ever shrinks and always holds its anchor.
#ifndef AITUNE_FRONTEND_TRACE_SIZE_REGION_H_
#define AITUNE_FRONTEND_TRACE_SIZE_REGION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/tensor/size_constraint.h"

namespace aitune::frontend {

// The inclusive range of a symbol.
struct SymbolRange {
  int64_t min = 1, max = 1;
};

// One size for each symbol.
using SizePoint = std::vector<int64_t>;

class SizeRegion {
 public:
  using Predicate = std::function<bool(absl::Span<const int64_t> point)>;

  // All combinations of sizes in `ranges`. Precondition: `anchor` is one.
  SizeRegion(std::vector<SymbolRange> ranges, SizePoint anchor);

  const std::vector<SymbolRange>& ranges() const { return ranges_; }
  const SizePoint& anchor() const { return anchor_; }
  const std::vector<SizeConstraint>& constraints() const {
    return constraints_;
  }
  // Why it is smaller than its ranges were, one sentence each.
  const std::vector<std::string>& reasons() const { return reasons_; }

  bool Contains(absl::Span<const int64_t> point) const;

  // Sizes at which something is likely to change, such as the bound of a slice:
  // Points gives them and their neighbours.
  void AddCriticalSize(int64_t size);

  // What the region allows for `symbols`, with the anchor's sizes for the
  // others, whose constraints do not count: all points if there are at most
  // `limit`, otherwise a sample with corners, critical sizes, powers of two and
  // random ones, the same at each call. `complete` (may be null) tells which of
  // both.
  std::vector<SizePoint> Points(absl::Span<const int> symbols, size_t limit,
                                bool* complete) const;

  // Leaves out points where `holds` is false; it depends on the sizes of
  // `symbols` alone, and must hold for the anchor. `forms` are constraints that
  // all hold only where it does, if there are such. Other points may have to go
  // too where neither ranges nor constraints separate them. `reason` is the
  // sentence kept when the region shrinks. Returns whether it did.
  bool Restrict(const std::vector<int>& symbols, const Predicate& holds,
                const std::vector<SizeConstraint>& forms,
                const std::string& reason);

  // Leaves the anchor's size alone of this symbol.
  void Fix(int symbol, const std::string& reason);

  // Leaves sizes below 2 out where the anchor has none of them. Returns whether
  // there were any.
  bool ExcludeOnes(const std::string& reason);

  // Leaves this range of a symbol, which holds the anchor's size.
  void Narrow(int symbol, SymbolRange range);
  void AddReason(const std::string& reason);

  // Adds a constraint that is known to hold for the anchor.
  void Add(SizeConstraint constraint);

 private:
  std::vector<int> Dynamic(absl::Span<const int> symbols) const;
  // Contains, but for constraints that read other dynamic symbols.
  bool Allows(absl::Span<const int64_t> point,
              absl::Span<const int> symbols) const;
  void RestrictOne(int symbol, const Predicate& holds,
                   const std::vector<SizeConstraint>& forms,
                   const std::string& reason);

  std::vector<SymbolRange> ranges_;
  SizePoint anchor_;
  std::vector<SizeConstraint> constraints_;
  std::vector<int64_t> critical_sizes_;
  std::vector<std::string> reasons_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_SIZE_REGION_H_
