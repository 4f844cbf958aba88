// For tests: small random damage to a trace, such as a bug of the LibTorch half
// or a model nobody thought of could bring.
#ifndef AITUNE_FRONTEND_IMPORTER_TRACE_MUTATOR_H_
#define AITUNE_FRONTEND_IMPORTER_TRACE_MUTATOR_H_

#include <random>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// Changes one argument, type, result or operator of `trace`. Ids may end up out
// of range; constants' data is never touched.
void Mutate(Trace& trace, std::mt19937& random);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_TRACE_MUTATOR_H_
