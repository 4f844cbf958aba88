// Early return for functions that give absl::Status or absl::StatusOr.
#ifndef AITUNE_FRONTEND_IMPORTER_STATUS_MACROS_H_
#define AITUNE_FRONTEND_IMPORTER_STATUS_MACROS_H_

#include <utility>

#include "absl/status/statusor.h"

// Returns the status of `expression` from the enclosing function unless OK.
#define RETURN_IF_ERROR(expression)      \
  do {                                   \
    absl::Status _status = (expression); \
    if (!_status.ok()) return _status;   \
  } while (false)

#define AITUNE_CONCAT_IMPL(a, b) a##b
#define AITUNE_CONCAT(a, b) AITUNE_CONCAT_IMPL(a, b)
#define AITUNE_ASSIGN_OR_RETURN_IMPL(holder, target, expression) \
  auto holder = (expression);                                    \
  if (!holder.ok()) return holder.status();                      \
  target = std::move(*holder)

// Evaluates `expression`, an absl::StatusOr; returns its status from the
// enclosing function unless OK, otherwise assigns the value to `target`, which
// may be a declaration.
#define ASSIGN_OR_RETURN(target, expression)                                 \
  AITUNE_ASSIGN_OR_RETURN_IMPL(AITUNE_CONCAT(_status_or_, __LINE__), target, \
                               expression)

#endif  // AITUNE_FRONTEND_IMPORTER_STATUS_MACROS_H_
