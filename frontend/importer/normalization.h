// Layer normalisation, which builders of several operators use.
#ifndef AITUNE_FRONTEND_IMPORTER_NORMALIZATION_H_
#define AITUNE_FRONTEND_IMPORTER_NORMALIZATION_H_

#include "frontend/importer/op_importer.h"

namespace aitune::frontend {

// Layer normalisation over the last `axes` axes. Weight and bias may be null;
// their sizes are those of the last `axes` axes. The result has the input's
// sizes and dtype.
mlir::Value LayerNorm(OpImporter& call, mlir::Value input, mlir::Value weight,
                      mlir::Value bias, int64_t axes, double eps);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_NORMALIZATION_H_
