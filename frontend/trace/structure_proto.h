// The nesting of inputs and outputs in its stored form, without LibTorch's
// pickles: a file may come from anybody.
#ifndef AITUNE_FRONTEND_TRACE_STRUCTURE_PROTO_H_
#define AITUNE_FRONTEND_TRACE_STRUCTURE_PROTO_H_

#include "absl/status/statusor.h"
#include "frontend/trace/structure.pb.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

// kUnimplemented for leaves that are no numbers, strings, tensors or None, and
// for containers of types that the text of a type does not describe.
absl::StatusOr<StructureProto> ToProto(const Structure& structure);

// The inverse. kInvalidArgument for anything that ToProto does not write.
absl::StatusOr<Structure> FromProto(const StructureProto& proto);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_STRUCTURE_PROTO_H_
