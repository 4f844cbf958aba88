#include "frontend/tracing/region_of_trace.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace aitune::frontend {
namespace {

std::string RangeText(const SymbolRange& range) {
  return range.min == range.max ? absl::StrCat(range.min)
                                : absl::StrCat(range.min, "..", range.max);
}

}  // namespace

RegionOfTrace::RegionOfTrace(SizeRegion* whole,
                             const SymbolAssignment& assignment)
    : whole_(*whole), number_(whole->ranges().size(), -1), region_({}, {}) {
  const std::vector<SymbolRange>& ranges = whole_.ranges();
  std::vector<SizeExpression> in_trace;  // the symbols of the whole
  std::vector<SymbolRange> dynamic;
  SizePoint anchor;
  for (size_t s = 0; s < ranges.size(); ++s) {
    in_trace.push_back(SizeExpression(whole_.anchor()[s]));
    if (ranges[s].min == ranges[s].max) continue;
    number_[s] = static_cast<int>(of_.size());
    in_trace.back() = SizeExpression::Symbol(number_[s]);
    of_.push_back(s);
    dynamic.push_back(ranges[s]);
    anchor.push_back(whole_.anchor()[s]);
    TraceSymbol symbol;
    symbol.name = absl::StrCat("s", number_[s]);
    symbol.input = assignment.symbols[s].input;
    symbol.axis = assignment.symbols[s].axis;
    symbols_.push_back(std::move(symbol));
  }
  region_ = SizeRegion(std::move(dynamic), std::move(anchor));
  region_.ShareTime(whole_);
  for (const SizeConstraint& constraint : whole_.constraints())
    region_.Add(
        {Substitute(constraint.expression, in_trace), constraint.relation});
}

std::vector<TraceSymbol> RegionOfTrace::Symbols() const {
  std::vector<TraceSymbol> symbols = symbols_;
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].min = region_.ranges()[i].min;
    symbols[i].max = region_.ranges()[i].max;
    symbols[i].typical = region_.anchor()[i];
  }
  return symbols;
}

std::vector<int> RegionOfTrace::Numbers(const std::vector<int>& axes) const {
  std::vector<int> numbers;
  for (const int symbol : axes)
    numbers.push_back(symbol < 0 ? -1 : number_[static_cast<size_t>(symbol)]);
  return numbers;
}

SizePoint RegionOfTrace::Whole(const SizePoint& point) const {
  SizePoint sizes = whole_.anchor();
  for (size_t i = 0; i < of_.size(); ++i) sizes[of_[i]] = point[i];
  return sizes;
}

void RegionOfTrace::Merge() {
  whole_.ShareTime(region_);
  std::vector<SizeExpression> in_whole;  // the symbols of the trace
  for (const size_t symbol : of_)
    in_whole.push_back(SizeExpression::Symbol(static_cast<int>(symbol)));
  for (size_t i = 0; i < of_.size(); ++i)
    whole_.Narrow(static_cast<int>(of_[i]), region_.ranges()[i]);
  for (const SizeConstraint& constraint : region_.constraints())
    whole_.Add(
        {Substitute(constraint.expression, in_whole), constraint.relation});
  for (const std::string& reason : region_.reasons()) whole_.AddReason(reason);
}

void DescribeRegion(const SizeRegion& region,
                    const std::vector<SymbolSpec>& asked, Trace& trace) {
  std::vector<std::string> texts;
  for (size_t s = 0; s < asked.size(); ++s) {
    const SymbolRange& left = region.ranges()[s];
    if (left.min == asked[s].min && left.max == asked[s].max) continue;
    texts.push_back(absl::StrCat("axis ", asked[s].axis, " of input ",
                                 asked[s].input, " is ", RangeText(left)));
  }
  for (const SizeConstraint& constraint : trace.constraints)
    texts.push_back(constraint.ToString());
  if (texts.empty()) return;
  trace.notes.push_back(absl::StrCat("right for sizes where ",
                                     absl::StrJoin(texts, " and "), ": ",
                                     absl::StrJoin(region.reasons(), "; ")));
}

std::vector<SizePoint> Anchors(const std::vector<SymbolSpec>& symbols) {
  std::vector<SizePoint> anchors(4);
  for (const SymbolSpec& symbol : symbols) {
    anchors[0].push_back(symbol.max);
    anchors[1].push_back(symbol.min + (symbol.max - symbol.min) / 2);
    anchors[2].push_back(std::clamp<int64_t>(2, symbol.min, symbol.max));
    anchors[3].push_back(symbol.min);
  }
  anchors.erase(std::unique(anchors.begin(), anchors.end()), anchors.end());
  return anchors;
}

}  // namespace aitune::frontend
