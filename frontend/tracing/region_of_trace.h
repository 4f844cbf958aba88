// Relates the symbols of one trace to the symbols that the caller asked for.
//
// The whole region has a symbol for each dynamic axis that the caller asked
// for. Symbols that were restricted to one size are not symbols of the trace,
// and the trace numbers the remaining ones anew.
#ifndef AITUNE_FRONTEND_TRACING_REGION_OF_TRACE_H_
#define AITUNE_FRONTEND_TRACING_REGION_OF_TRACE_H_

#include <vector>

#include "frontend/torchscript/input_spec.h"
#include "frontend/trace/size_region.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

class RegionOfTrace {
 public:
  // `whole` has the symbols of `assignment` and must outlive this.
  RegionOfTrace(SizeRegion* whole, const SymbolAssignment& assignment);

  // The region in the trace's symbols.
  SizeRegion& region() { return region_; }

  // The trace's symbols with the ranges that region() has now.
  std::vector<TraceSymbol> Symbols() const;

  // The trace's symbol for each of `axes`, which are symbols of the whole
  // region; -1: it has one size.
  std::vector<int> Numbers(const std::vector<int>& axes) const;

  // The sizes of all symbols of the whole region at a point of region().
  SizePoint Whole(const SizePoint& point) const;

  // Restricts the whole region as region() was restricted.
  void Merge();

 private:
  SizeRegion& whole_;
  // For each symbol of the whole region, the trace's symbol; -1: one size.
  std::vector<int> number_;
  // For each symbol of the trace, that of the whole region.
  std::vector<size_t> of_;
  std::vector<TraceSymbol> symbols_;
  SizeRegion region_;
};

// If `region`, for which `trace` was made, is smaller than the caller asked
// for, adds a note to the trace that says for which sizes it is right, and why.
void DescribeRegion(const SizeRegion& region,
                    const std::vector<SymbolSpec>& asked, Trace& trace);

// The anchors to try when the caller names none: the largest sizes, then
// others, for models that raise for the largest.
std::vector<SizePoint> Anchors(const std::vector<SymbolSpec>& symbols);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_REGION_OF_TRACE_H_
