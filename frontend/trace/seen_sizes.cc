#include "frontend/trace/seen_sizes.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

namespace aitune::frontend {
namespace {

// How far beyond the sizes that were seen a range reaches.
constexpr int64_t kReach = 4;
constexpr int64_t kLeastReach = 256;   // elements of an axis
constexpr int64_t kLeastCount = 1024;  // of integers, mostly loops' counters

// Elements of an input, above which ranges reach no farther than what was seen.
constexpr int64_t kMostElements = int64_t{1} << 20;

// Symbols of a program. Each has tracing try more combinations.
constexpr size_t kMostSymbols = 4;

// One symbol: an axis, and others that always had its size.
struct Range {
  std::string name;
  int64_t least = 0, greatest = 0;  // elements seen
  int64_t max = 0;                  // elements to compile for
};

int64_t ElementsAtMost(const std::vector<int64_t>& sizes,
                       const std::vector<Range*>& ranges) {
  double elements = 1;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    elements *= static_cast<double>(
        ranges[axis] == nullptr ? sizes[axis] : ranges[axis]->max);
  return elements > 1e18 ? INT64_MAX : static_cast<int64_t>(elements);
}

}  // namespace

std::vector<InputSpec> SizesToCompile::SpecsAround(
    const SeenSizes& around, const std::vector<DataType>& dtypes) const {
  std::map<std::vector<int64_t>, Range> ranges;  // by the sizes seen
  // By input and axis; null for a fixed one.
  std::vector<std::vector<Range*>> of(around.size());
  for (size_t i = 0; i < around.size(); ++i) {
    for (size_t axis = 0; axis < around[i].size(); ++axis) {
      std::vector<int64_t> seen;
      for (const SeenSizes& sizes : seen_) seen.push_back(sizes[i][axis]);
      const auto [least, greatest] =
          std::minmax_element(seen.begin(), seen.end());
      const bool is_integer = integers_.count(i) > 0;
      const bool differs = *least != *greatest;
      Range* range = nullptr;
      // One integer that was seen once may be any.
      const std::vector<int64_t> key =
          differs ? seen : std::vector<int64_t>{-1, static_cast<int64_t>(i)};
      if ((differs || is_integer) &&
          (ranges.count(key) > 0 || ranges.size() < kMostSymbols)) {
        range = &ranges[key];
        if (range->name.empty()) range->name = absl::StrCat("n", ranges.size());
        range->least = *least;
        range->greatest = *greatest;
        range->max =
            std::min(kGreatestInteger + 1,
                     std::max({range->max, kReach * *greatest,
                               is_integer ? kLeastCount : kLeastReach}));
      }
      of[i].push_back(range);
    }
  }
  for (size_t i = 0; i < around.size(); ++i) {
    if (integers_.count(i) > 0) continue;
    while (ElementsAtMost(around[i], of[i]) > kMostElements) {
      Range* widest = nullptr;
      for (Range* range : of[i]) {
        if (range != nullptr && range->max > range->greatest &&
            (widest == nullptr ||
             range->max * widest->greatest > widest->max * range->greatest))
          widest = range;
      }
      if (widest == nullptr) break;
      widest->max = std::max(widest->greatest, widest->max / 2);
    }
  }
  std::vector<InputSpec> specs;
  for (size_t i = 0; i < around.size(); ++i) {
    InputSpec& spec = specs.emplace_back();
    spec.dtype = dtypes[i];
    for (size_t axis = 0; axis < around[i].size(); ++axis) {
      AxisSpec& bounds = spec.axes.emplace_back();
      bounds.min = bounds.max = around[i][axis];
      const Range* const range = of[i][axis];
      if (range == nullptr || range->max <= 1) continue;
      bounds.min = std::min<int64_t>(range->least, 1);
      bounds.max = range->max;
      bounds.name = range->name;
    }
  }
  return specs;
}

}  // namespace aitune::frontend
