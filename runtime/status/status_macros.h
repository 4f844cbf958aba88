// Early returns for absl::Status, which the Abseil of Debian does not bring.
#ifndef AITUNE_RUNTIME_STATUS_STATUS_MACROS_H_
#define AITUNE_RUNTIME_STATUS_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the function when `expression`, an absl::Status, is an error.
#define AITUNE_RETURN_IF_ERROR(expression)         \
  do {                                             \
    absl::Status aitune_status = (expression);     \
    if (!aitune_status.ok()) return aitune_status; \
  } while (false)

// Assigns the value of `expression`, an absl::StatusOr, to `target` (which may
// be a declaration), or returns its error.
#define AITUNE_ASSIGN_OR_RETURN(target, expression) \
  AITUNE_ASSIGN_OR_RETURN_NAMED(                    \
      AITUNE_STATUS_NAME(aitune_status_or_, __LINE__), target, expression)
#define AITUNE_ASSIGN_OR_RETURN_NAMED(name, target, expression) \
  auto name = (expression);                                     \
  if (!name.ok()) return name.status();                         \
  target = *std::move(name)
#define AITUNE_STATUS_NAME(prefix, line) AITUNE_STATUS_NAME_JOIN(prefix, line)
#define AITUNE_STATUS_NAME_JOIN(prefix, line) prefix##line

#endif  // AITUNE_RUNTIME_STATUS_STATUS_MACROS_H_
