#include "frontend/compiled_model/dropped_layers.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace aitune::frontend {
namespace {

// Of the error that the bound leaves room for, what is used of it, since errors
// do not add up as exactly.
constexpr double kUsedShare = 0.8;

// The square of a layer's error over that of its result.
double ErrorOf(const QuantizedLayer& layer) {
  const double sqnr = std::isnan(layer.sqnr) ? layer.weightSqnr : layer.sqnr;
  return std::pow(10, -sqnr / 10);
}

}  // namespace

LayersWithSchemes LayersToDrop(absl::Span<const QuantizedLayer> layers,
                               double excess) {
  using WithScheme = LayersWithSchemes::value_type;
  std::vector<std::pair<double, WithScheme>> errors;
  double all = 0;
  for (const QuantizedLayer& layer : layers) {
    if (!layer.refusal.empty()) continue;
    errors.emplace_back(ErrorOf(layer), WithScheme(layer.layer, layer.scheme));
    all += errors.back().first;
  }
  LayersWithSchemes dropped;
  if (errors.empty() || excess <= 1) return dropped;
  const double room = all * kUsedShare / excess;
  std::sort(errors.begin(), errors.end());
  double kept = 0;
  for (const auto& [error, layer] : errors) {
    kept += error;
    if (kept > room || &layer == &errors.back().second) dropped.insert(layer);
  }
  return dropped;
}

}  // namespace aitune::frontend
