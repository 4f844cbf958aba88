// Programs that make lists of tensors at sizes that no probe has. Internal.
#ifndef AITUNE_FRONTEND_TRACING_KNOWN_LISTS_H_
#define AITUNE_FRONTEND_TRACING_KNOWN_LISTS_H_

#include "frontend/trace/recorded_op.h"

namespace aitune::frontend {

// `run`, for which only sizes vary from call to call, with limits of time.
// Gives lists of tensors without memory, whatever it is given, and None for all
// else; what it gave for sizes it gives again. Throws as `run`, and where a
// limit is reached. Copies share what they remember. Not thread-safe.
RecordedFunction Remembering(RecordedFunction run);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_KNOWN_LISTS_H_
