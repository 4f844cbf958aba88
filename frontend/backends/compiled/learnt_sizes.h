// The stored form of what a backend has learnt of the sizes of its inputs: the
// axes that samples showed, and the sizes for which versions were made.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_LEARNT_SIZES_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_LEARNT_SIZES_H_

#include "absl/status/statusor.h"
#include "frontend/backends/torch_backend_state.pb.h"
#include "runtime/backend/graph_spec.h"
#include "runtime/guards/size_history.h"

namespace aitune::frontend {

GraphSpecProto ToProto(const GraphSpec& spec);
// kDataLoss for dtypes and kinds of axes that there are not.
absl::StatusOr<GraphSpec> FromProto(const GraphSpecProto& proto);

SizeHistoryProto ToProto(const SizeHistory::Groups& groups);
SizeHistory::Groups FromProto(const SizeHistoryProto& proto);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_LEARNT_SIZES_H_
