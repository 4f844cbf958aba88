#include "frontend/torchscript/accepted_sizes.h"

#include <algorithm>

#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

int64_t LargestEnd(absl::Span<const SymbolSpec> symbols) {
  int64_t largest = 0;
  for (const SymbolSpec& symbol : symbols)
    largest = std::max(largest, symbol.max);
  return largest;
}

// The largest size from `accepted` to below `refused`, found by halving.
absl::StatusOr<int64_t> Halve(
    int64_t accepted, int64_t refused,
    const std::function<absl::StatusOr<bool>(int64_t)>& accepts) {
  while (refused - accepted > 1) {
    const int64_t middle = accepted + (refused - accepted) / 2;
    AITUNE_ASSIGN_OR_RETURN(const bool takes, accepts(middle));
    (takes ? accepted : refused) = middle;
  }
  return accepted;
}

// The sizes that the first symbol alone comes to; empty: none is accepted.
absl::StatusOr<std::vector<int64_t>> LeastOfFirst(
    absl::Span<const SymbolSpec> symbols, const AcceptsSizes& accepts) {
  std::vector<int64_t> sizes = SizesNear(symbols, 1);
  const int64_t most = symbols[0].max;
  for (int64_t size = sizes[0];; size = std::min(size * 2, most)) {
    sizes[0] = size;
    AITUNE_ASSIGN_OR_RETURN(const bool takes, accepts(sizes));
    if (takes) return sizes;
    if (size >= most) return std::vector<int64_t>();
  }
}

}  // namespace

std::vector<int64_t> SizesNear(absl::Span<const SymbolSpec> symbols,
                               int64_t size) {
  std::vector<int64_t> sizes;
  for (const SymbolSpec& symbol : symbols)
    sizes.push_back(std::clamp(size, symbol.min, symbol.max));
  return sizes;
}

absl::StatusOr<int64_t> LeastAccepted(absl::Span<const SymbolSpec> symbols,
                                      const AcceptsSizes& accepts) {
  const int64_t largest = LargestEnd(symbols);
  for (int64_t size = 1; size < largest; size *= 2) {
    AITUNE_ASSIGN_OR_RETURN(const bool takes,
                            accepts(SizesNear(symbols, size)));
    if (takes) return size;
  }
  return 0;
}

absl::StatusOr<std::optional<AcceptedSizes>> FindAcceptedSizes(
    absl::Span<const SymbolSpec> symbols, const AcceptsSizes& accepts) {
  if (symbols.empty()) return std::nullopt;
  AcceptedSizes found;
  AITUNE_ASSIGN_OR_RETURN(const int64_t least, LeastAccepted(symbols, accepts));
  if (least > 0) {
    found.least = SizesNear(symbols, least);
    AITUNE_ASSIGN_OR_RETURN(
        const int64_t most,
        Halve(least, LargestEnd(symbols),
              [&](int64_t size) { return accepts(SizesNear(symbols, size)); }));
    found.most = SizesNear(symbols, most);
    return found;
  }
  AITUNE_ASSIGN_OR_RETURN(found.least, LeastOfFirst(symbols, accepts));
  if (found.least.empty()) return std::nullopt;
  found.most = found.least;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const auto takes = [&](int64_t size) {
      std::vector<int64_t> sizes = found.most;
      sizes[i] = size;
      return accepts(sizes);
    };
    if (found.most[i] == symbols[i].max) continue;
    AITUNE_ASSIGN_OR_RETURN(const bool takes_end, takes(symbols[i].max));
    if (takes_end) {
      found.most[i] = symbols[i].max;
      continue;
    }
    AITUNE_ASSIGN_OR_RETURN(found.most[i],
                            Halve(found.most[i], symbols[i].max, takes));
  }
  return found;
}

}  // namespace aitune::frontend
