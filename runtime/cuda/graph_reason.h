// Which plans no CUDA graph is recorded of: those with steps that run in
// LibTorch in a way that a graph cannot repeat.
#ifndef AITUNE_RUNTIME_CUDA_GRAPH_REASON_H_
#define AITUNE_RUNTIME_CUDA_GRAPH_REASON_H_

#include <string>

#include "runtime/executable/loaded_plan.h"

namespace aitune::cuda {

// Why no graph is even tried, for the user to read; empty when one is.
// `records_regions`: whether there is what records LibTorch's work.
// Thread-safe.
std::string FindGraphReason(const LoadedPlan& loaded, bool records_regions);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_GRAPH_REASON_H_
