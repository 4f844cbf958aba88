// Programs that make lists of tensors at sizes that no probe has. Internal.
#ifndef AITUNE_FRONTEND_TRACING_KNOWN_LISTS_H_
#define AITUNE_FRONTEND_TRACING_KNOWN_LISTS_H_

#include "frontend/trace/recorded_op.h"

namespace aitune::frontend {

// `run`, for which only sizes vary from call to call, with a limit of time:
// what it gave for tensors without memory it gives again. Throws as `run`. Not
// thread-safe.
RecordedFunction Remembering(RecordedFunction run);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_KNOWN_LISTS_H_
