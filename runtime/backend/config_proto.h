// Converts configurations to and from their stored form, in checkpoints.
#ifndef AITUNE_RUNTIME_BACKEND_CONFIG_PROTO_H_
#define AITUNE_RUNTIME_BACKEND_CONFIG_PROTO_H_

#include "absl/status/statusor.h"
#include "runtime/backend/backend_state.pb.h"
#include "runtime/backend/config_value.h"

namespace aitune {

// The stored form of `dict`. Thread-safe.
ConfigDictProto ToProto(const ConfigDict& dict);

// The configuration that `proto` stores. kInvalidArgument for an unknown dtype,
// a name that occurs twice and values nested deeper than 50. Thread-safe.
absl::StatusOr<ConfigDict> FromProto(const ConfigDictProto& proto);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_CONFIG_PROTO_H_
