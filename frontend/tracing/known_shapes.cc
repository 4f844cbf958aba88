// Formulas for the sizes of a call's results, found from more sizes than the
// probes': these are small and near each other, so that a window that slides by
// more than a few elements has the same number of places at all of them.
#include <algorithm>
#include <chrono>
#include <utility>

#include "frontend/trace/one_symbol_fit.h"
#include "frontend/tracing/interpreter.h"

namespace aitune::frontend {
namespace {

// Points at which a call is looked at; of one that must really be run for it,
// which takes longer, the second number.
constexpr size_t kPoints = 32;
constexpr size_t kRealPoints = 4;
// Further points that tell formulas apart: each halves the places that a window
// may begin at.
constexpr int kMostFurther = 24;
// Sizes at which a formula that rounds is looked at, all of a range, and what
// that may take: 0.7 * 90 is less than 63 in floating point.
constexpr size_t kAllPoints = 4096;
constexpr std::chrono::milliseconds kMostTime(500);

}  // namespace

KnownShapes* Interpreter::FindKnownShapes(const Invocation& call) {
  const std::vector<c10::Argument>& returns = call.schema->returns();
  if (call.schema->is_mutable() || returns.size() != call.result_count ||
      std::any_of(returns.begin(), returns.end(), [](const auto& result) {
        return result.type()->kind() != c10::TypeKind::TensorType;
      }))
    return nullptr;
  std::optional<ShapeQuery> query = MakeShapeQuery(call);
  if (!query || query->symbols.empty()) return nullptr;
  const auto [found, is_new] = known_shapes_.try_emplace(NameOf(*query));
  KnownShapes& known = found->second;
  if (!is_new) return &known;
  known.query = *std::move(query);
  AddContents(call, known.query);
  std::vector<SizePoint> points =
      region_.Points(known.query.symbols, kPoints, nullptr);
  // The greatest first, which is far from the probes, also where few are run.
  if (!points.empty())
    std::rotate(points.begin(), points.end() - 1, points.end());
  for (const SizePoint& point : points) {
    if (AddPoint(known, point) && known.shapes.back().real &&
        known.shapes.size() >= kRealPoints)
      break;
  }
  return &known;
}

bool Interpreter::AddPoint(KnownShapes& known, const SizePoint& point) {
  ShapesAt there = FindShapes(known.query, point);
  known.any_unknown |= !there.known;
  if (!there.known || there.raises ||
      there.sizes.size() != known.query.schema->returns().size())
    return false;
  known.points.push_back(point);
  known.shapes.push_back(std::move(there));
  return true;
}

bool Interpreter::IsRightForAll(const SizeExpression& formula,
                                const KnownShapes& known, size_t tensor,
                                size_t axis) {
  bool complete = false;
  const std::vector<SizePoint> points =
      region_.Points(SymbolsOf(formula), kAllPoints, &complete);
  const auto start = std::chrono::steady_clock::now();
  return complete &&
         std::all_of(points.begin(), points.end(), [&](const SizePoint& point) {
           const ShapesAt there = FindShapes(known.query, point);
           return there.known && !there.raises && tensor < there.sizes.size() &&
                  axis < there.sizes[tensor].size() &&
                  there.sizes[tensor][axis] == formula.Evaluate(point) &&
                  std::chrono::steady_clock::now() - start < kMostTime;
         });
}

std::optional<SizeExpression> Interpreter::FitKnown(
    KnownShapes& known, size_t tensor, size_t axis,
    absl::Span<const int64_t> at_probes, const ResultTraits& traits) {
  const auto [entry, is_new] = known.formulas.try_emplace({tensor, axis});
  if (is_new) entry->second = FitNew(known, tensor, axis, at_probes, traits);
  return entry->second;
}

std::optional<SizeExpression> Interpreter::FitNew(
    KnownShapes& known, size_t tensor, size_t axis,
    absl::Span<const int64_t> at_probes, const ResultTraits& traits) {
  std::optional<SizeExpression> fitted =
      fitter_.Fit(at_probes, traits.sources, traits.strides);
  std::vector<SizePoint> points = fitter_.probes();
  std::vector<int64_t> values(at_probes.begin(), at_probes.end());
  size_t next = 0;
  // Whether all that is known has such an axis.
  const auto take = [&] {
    for (; next < known.points.size(); ++next) {
      const std::vector<int64_t>& sizes = known.shapes[next].sizes[tensor];
      if (axis >= sizes.size()) return false;
      points.push_back(known.points[next]);
      values.push_back(sizes[axis]);
    }
    return true;
  };
  for (int further = 0; further <= kMostFurther; ++further) {
    if (!take()) return std::nullopt;
    const SizeFitter fitter = fitter_.WithProbes(points);
    if (fitted && fitter.Matches(*fitted, values)) return fitted;
    SizePoint undecided;
    fitted = fitter.Fit(values, traits.sources, traits.strides, &undecided);
    if (fitted) return fitted;
    if (undecided.empty() || !AddPoint(known, undecided)) break;
  }
  if (const auto formula = FitOneSymbol(known.query.symbols, points, values);
      formula && IsRightForAll(*formula, known, tensor, axis))
    return formula;
  return std::nullopt;
}

}  // namespace aitune::frontend
