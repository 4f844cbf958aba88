// The nesting of inputs and outputs in its stored form. It does not use
// LibTorch's pickles, because a stored file may be malicious.
#ifndef AITUNE_FRONTEND_TRACE_STRUCTURE_PROTO_H_
#define AITUNE_FRONTEND_TRACE_STRUCTURE_PROTO_H_

#include "absl/status/statusor.h"
#include "frontend/trace/structure.pb.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

// The stored form of `structure`. kUnimplemented for leaves other than numbers,
// strings, tensors and None, and for containers whose type cannot be read back
// from its name.
absl::StatusOr<StructureProto> ToProto(const Structure& structure);

// The structure that `proto` stores. kInvalidArgument for anything that ToProto
// does not write.
absl::StatusOr<Structure> FromProto(const StructureProto& proto);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_STRUCTURE_PROTO_H_
