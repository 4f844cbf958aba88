// The inputs and outputs of a compiled model, with names.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_MODEL_SIGNATURE_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_MODEL_SIGNATURE_H_

#include <vector>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "runtime/backend/signature.h"

namespace aitune::frontend {

// The signature of this version of a model whose forward has these parameters.
// Thread-safe.
Signature SignatureOf(const CompiledModel& version,
                      const std::vector<Parameter>& parameters);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_MODEL_SIGNATURE_H_
