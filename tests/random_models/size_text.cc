#include "tests/random_models/size_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/random_models/program.h"

namespace aitune::random_models {
namespace {

using absl::StrCat;

// Of the great ones one element is left of most sizes, and more of few.
const std::vector<int> kSteps = {2, 2, 3, 3, 7, 16};

// A bound of a slice; empty: none.
std::string Bound(Pool& pool, std::vector<int>& measures) {
  switch (pool.random().Number(0, 3)) {
    case 0:
      return "";
    case 1:
      return StrCat(pool.random().Number(0, 6));
    case 2:
      return StrCat("-", pool.random().Number(1, 5));
    default:
      return Size(pool, measures);
  }
}

}  // namespace

bool HasAxes(const LiveValue& value) { return value.rank() > 0; }

std::string Size(Pool& pool, std::vector<int>& measures) {
  Random& random = pool.random();
  int value = -1;
  if (random.Chance(80)) {
    value = pool.Find([](const LiveValue& v) {
      for (int axis = 0; axis < v.rank(); ++axis) {
        if (!v.IsStatic(axis)) return true;
      }
      return false;
    });
  }
  if (value < 0) value = pool.Find(HasAxes);
  if (value < 0) return "4";
  measures.push_back(value);
  std::vector<int> axes;
  const int rank = pool[value].rank();
  for (int axis = 0; axis < rank; ++axis) {
    if (!pool[value].IsStatic(axis)) axes.push_back(axis);
  }
  const int axis =
      axes.empty() ? random.Number(0, rank - 1) : random.Pick(axes);
  const std::string size = random.Chance(10) && axis == 0
                               ? StrCat("len(", Name(value), ")")
                               : StrCat(Name(value), ".size(", axis, ")");
  switch (random.Number(0, 11)) {
    case 0:
      return StrCat("(", size, " // ", random.Pick(kSteps), ")");
    case 1:
      return StrCat("min(", size, ", ", random.Number(1, 20), ")");
    case 2:
      return StrCat("max(", size, " - ", random.Number(1, 5), ", 0)");
    case 3:
      return StrCat("(", size, " % ", random.Number(2, 8), ")");
    case 4:
      return StrCat("((", size, " + 1) // 2)");
    case 5:
      return StrCat("(", size, " - ", random.Number(1, 3), ")");
    case 6:
      return StrCat("int(", size, " * 0.", random.Number(2, 8), ")");
    case 7:
      return StrCat("(", size, " * 2)");
    default:
      return size;
  }
}

std::string Slice(Pool& pool, int axis, std::vector<int>& measures) {
  std::string text = "[";
  for (int i = 0; i < axis; ++i) absl::StrAppend(&text, ":, ");
  absl::StrAppend(&text, Bound(pool, measures), ":", Bound(pool, measures));
  if (pool.random().Chance(25))
    absl::StrAppend(&text, ":", pool.random().Pick(kSteps));
  return text + "]";
}

std::string Condition(Pool& pool, std::vector<int>& measures) {
  Random& random = pool.random();
  const std::string size = Size(pool, measures);
  switch (random.Number(0, 5)) {
    case 0:
      return StrCat(size, " % ", random.Number(2, 4), " == 0");
    case 1:
      return StrCat(size, " <= ", Size(pool, measures));
    case 2:
      return StrCat(size, " == ", random.Number(0, 4));
    case 3:
      return StrCat(size, " > ", random.Number(1, 20), " and ",
                    Size(pool, measures), " < ", random.Number(1, 40));
    default:
      return StrCat(size, " > ", random.Number(0, 16));
  }
}

}  // namespace aitune::random_models
