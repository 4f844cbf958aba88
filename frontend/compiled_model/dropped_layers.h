// Which quantised layers a model that is too far from eager does without.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_DROPPED_LAYERS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_DROPPED_LAYERS_H_

#include "absl/types/span.h"
#include "compiler/Compiler.h"

namespace aitune::frontend {

// The layers of greatest error, with their schemes, of the quantised ones of a
// model whose outputs have `excess` times the noise, as power, that is allowed
// (accuracy.h). The error of what is left, as far as the layers' own errors add
// up to the model's, is four fifths of what may be. Empty if the excess is at
// most 1 or no layer is quantised, else one layer at least. Thread-safe.
LayersWithSchemes LayersToDrop(absl::Span<const QuantizedLayer> layers,
                               double excess);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_DROPPED_LAYERS_H_
