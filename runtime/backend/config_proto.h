// Configurations to and from their stored form.
#ifndef AITUNE_RUNTIME_BACKEND_CONFIG_PROTO_H_
#define AITUNE_RUNTIME_BACKEND_CONFIG_PROTO_H_

#include "absl/status/statusor.h"
#include "runtime/backend/backend_state.pb.h"
#include "runtime/backend/config_value.h"

namespace aitune {

ConfigDictProto ToProto(const ConfigDict& dict);

// kInvalidArgument for a dtype that there is not, a name that is there twice
// and values nested deeper than 50.
absl::StatusOr<ConfigDict> FromProto(const ConfigDictProto& proto);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_CONFIG_PROTO_H_
