#include "runtime/cuda/full_wait.h"

#include "runtime/status/status_macros.h"

namespace aitune::cuda {

absl::Status QueueFullWait(const Device& device, CUstream stream,
                           void* overwritten) {
  const Driver& driver = device.driver();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  const CUgraphNode* last = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t count = 0;
  AITUNE_RETURN_IF_ERROR(driver.Check(
      driver.cuStreamGetCaptureInfo(stream, &status, /*id_out=*/nullptr, &graph,
                                    &last, &edges, &count),
      "asking whether a stream is recorded"));
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return driver.Check(
        driver.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(overwritten), 0, 1,
                               stream),
        "ending what runs on a stream");
  }
  // Behind a node that is no kernel nothing starts early.
  CUgraphNode node = nullptr;
  AITUNE_RETURN_IF_ERROR(
      driver.Check(driver.cuGraphAddEmptyNode(&node, graph, last, count),
                   "adding a node to a graph"));
  return driver.Check(driver.cuStreamUpdateCaptureDependencies(
                          stream, &node, /*dependencyData=*/nullptr, 1,
                          CU_STREAM_SET_CAPTURE_DEPENDENCIES),
                      "ordering the nodes of a graph");
}

}  // namespace aitune::cuda
