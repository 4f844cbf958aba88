// The sizes of a call's results at other points than the probes, and what is
// needed to find them. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_KNOWN_SHAPES_H_
#define AITUNE_FRONTEND_TRACING_KNOWN_SHAPES_H_

#include <ATen/core/function_schema.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "frontend/trace/recorded_op.h"
#include "frontend/trace/size_region.h"
#include "frontend/tracing/size_function.h"

namespace aitune::frontend {

// A call whose results' sizes can be found at any point.
struct ShapeQuery {
  const c10::FunctionSchema* schema = nullptr;
  RecordedFunction run;
  // The arguments, with tensors given by their sizes alone, and by their
  // strides where the call needs a view.
  std::vector<SizeFunctionRef> shapes;
  // Whether the strides of a tensor are not known that the call needs.
  bool unknown_strides = false;
  // The arguments, with the elements of tensors where they are known.
  std::vector<SizeFunctionRef> contents;
  // Whether the sizes of the results follow from such elements, too, as those
  // of aten::nonzero do.
  bool reads_elements = false;
  // The symbols that the sizes of the arguments, and elements that are read,
  // depend on.
  std::vector<int> symbols;
  // The sets of symbols that the arguments are irregular in
  // (irregular_sizes.h).
  std::set<std::vector<int>> irregular;
};

// What such a call gives at one point.
struct ShapesAt {
  bool known = false;    // false: finding the sizes would take too long
  bool raises = false;   // whether the call raises at this point
  bool real = false;     // whether the operator was run on real tensors
  int64_t elements = 0;  // number of elements of all arguments
  std::vector<std::vector<int64_t>> sizes;  // of each tensor of the results
  // Whether each of these is a view of an argument and not that argument
  // itself: it has other elements than each argument whose memory it has, or in
  // another order. Empty for what gives no views.
  std::vector<bool> is_other_view;
};

// What it gives at some points of the region.
struct KnownShapes {
  ShapeQuery query;
  std::vector<SizePoint> points;
  std::vector<ShapesAt> shapes;  // one for each point; known
  bool any_unknown = false;      // whether some point's were not known
  // What FitKnown has found, by the result's number and its axis.
  std::map<std::pair<size_t, size_t>, std::optional<SizeExpression>> formulas;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_KNOWN_SHAPES_H_
