// Which quantised layers a model that is too far from eager does without.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_DROPPED_LAYERS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_DROPPED_LAYERS_H_

#include <set>
#include <string>

#include "absl/types/span.h"
#include "compiler/Compiler.h"

namespace aitune::frontend {

// The layers of greatest error, of the quantised ones of a model whose outputs
// have the cosine `cosine` to eager's where at least `least_cosine` is asked
// for (0 to 1). The error of what is left, as far as the layers' own errors add
// up to the model's, is four fifths of what may be. Empty if the cosine is no
// less or no layer is quantised, else one layer at least. Thread-safe.
std::set<std::string> LayersToDrop(absl::Span<const QuantizedLayer> layers,
                                   double cosine, double least_cosine);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_DROPPED_LAYERS_H_
