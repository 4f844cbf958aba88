// Which sizes within the ranges of its inputs a model takes: eager may refuse
// the ends of the ranges, such as positions beyond a table, or one input that
// is longer than another.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_ACCEPTED_SIZES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_ACCEPTED_SIZES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/torchscript/input_spec.h"

namespace aitune::frontend {

// Sizes, one for each symbol of AssignSymbols.
struct AcceptedSizes {
  std::vector<int64_t> least, most;
};

// Whether the model takes these sizes. Its error ends the search.
using AcceptsSizes =
    std::function<absl::StatusOr<bool>(const std::vector<int64_t>&)>;

// Each symbol's size nearest to `size` within its range.
std::vector<int64_t> SizesNear(absl::Span<const SymbolSpec> symbols,
                               int64_t size);

// The first of 1, 2, 4, ..., below the largest end of a range, whose SizesNear
// are accepted; 0: none.
absl::StatusOr<int64_t> LeastAccepted(absl::Span<const SymbolSpec> symbols,
                                      const AcceptsSizes& accepts);

// For a model that refuses the ends of the ranges: the sizes near LeastAccepted
// and the largest above them, found by halving for all symbols together. Where
// that finds none, the first symbol alone grows from 1 beside sizes of 1 (or
// the nearest) of the others, and the largest sizes are found one symbol after
// the other, from the first on. Not set: none is accepted in either way. What
// is accepted above sizes that are refused is not found.
absl::StatusOr<std::optional<AcceptedSizes>> FindAcceptedSizes(
    absl::Span<const SymbolSpec> symbols, const AcceptsSizes& accepts);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_ACCEPTED_SIZES_H_
