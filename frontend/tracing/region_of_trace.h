// Between the sizes that were asked for and the symbols of one trace.
//
// A region has a symbol for each dynamic axis that was asked for. Those that
// have come down to one size are no symbols of the trace, which numbers the
// others anew.
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

  // What is left of the whole, in the trace's symbols.
  SizeRegion& region() { return region_; }

  // The trace's symbols with the ranges that region() has now.
  std::vector<TraceSymbol> Symbols() const;

  // The trace's symbol for each of `axes`, symbols of the whole; -1: fixed.
  std::vector<int> Numbers(const std::vector<int>& axes) const;

  // The sizes of all symbols of the whole at a point of region().
  SizePoint Whole(const SizePoint& point) const;

  // Takes from the whole what region() has lost.
  void Merge();

 private:
  SizeRegion& whole_;
  std::vector<int> number_;  // of each symbol of the whole; -1: fixed
  std::vector<size_t> of_;   // the whole's symbol of each of the trace's
  std::vector<TraceSymbol> symbols_;
  SizeRegion region_;
};

// Adds a note of what `trace` is right for and why, where `region`, which it
// was made for, is less than was asked for.
void DescribeRegion(const SizeRegion& region,
                    const std::vector<SymbolSpec>& asked, Trace& trace);

// Sizes to trace around where the caller names none: the largest, then others
// that a model may take which raises for these.
std::vector<SizePoint> Anchors(const std::vector<SymbolSpec>& symbols);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_REGION_OF_TRACE_H_
