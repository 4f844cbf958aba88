// Calls of an instance as CUDA graphs: recording them, and running them on a
// caller's addresses.
#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "runtime/control/memory_budget.h"
#include "runtime/cuda/cuda_instance.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

// Graphs on a caller's own addresses, for each context. LibTorch's allocator
// gives a caller who keeps one result the same two addresses in turn.
constexpr size_t kMostRecorded = 4;

}  // namespace

absl::Status CudaInstance::Stage(Context& context) const {
  if (!context.staging.empty()) return absl::OkStatus();
  std::vector<DeviceBuffer> staging;
  int64_t bytes_in_all = 0;
  for (const std::vector<int64_t>* sizes : {&input_bytes_, &output_bytes_})
    bytes_in_all = std::accumulate(sizes->begin(), sizes->end(), bytes_in_all);
  // Counted before the budget is asked.
  staging_bytes_ += bytes_in_all;
  absl::Cleanup uncount = [&] { staging_bytes_ -= bytes_in_all; };
  AITUNE_RETURN_IF_ERROR(CheckMemoryBudget());
  for (const std::vector<int64_t>* sizes : {&input_bytes_, &output_bytes_}) {
    for (int64_t bytes : *sizes) {
      AITUNE_ASSIGN_OR_RETURN(DeviceBuffer buffer,
                              DeviceBuffer::Allocate(device_, bytes));
      staging.push_back(std::move(buffer));
    }
  }
  std::move(uncount).Cancel();
  context.staging = std::move(staging);
  return absl::OkStatus();
}

absl::StatusOr<Graph> CudaInstance::Record(Context& context,
                                           absl::Span<void* const> inputs,
                                           absl::Span<void* const> outputs,
                                           CUstream stream,
                                           Recording& recording) const {
  std::lock_guard<std::mutex> lock(*recording.mutex);
  Patch(context, inputs, outputs);
  const CUstream recorder = recording.stream;
  auto enqueue = [&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Enqueue(context, recorder));
    return Copies(context, outputs, recorder);
  };
  if (recording.regions == nullptr)
    return Graph::Capture(device_, recorder, enqueue);
  const Driver& driver = device_.driver();
  auto record = [&]() -> absl::StatusOr<Graph> {
    if (context.pool == nullptr) {
      AITUNE_ASSIGN_OR_RETURN(context.pool, recording.regions->NewPool());
    }
    // Run the steps once without recording: LibTorch then makes the objects
    // that it keeps for each stream. It cannot make them during a recording,
    // and their memory must not come from the pool.
    AITUNE_RETURN_IF_ERROR(driver.Check(driver.cuStreamSynchronize(stream),
                                        "waiting for the inputs"));
    recording.tried = recording.regions->Within(nullptr, enqueue);
    const absl::Status waited = driver.Check(
        driver.cuStreamSynchronize(recorder), "running what is to be recorded");
    if (recording.tried->ok()) recording.tried = waited;
    AITUNE_RETURN_IF_ERROR(*recording.tried);
    Graph graph;
    AITUNE_RETURN_IF_ERROR(recording.regions->Within(context.pool, [&] {
      absl::StatusOr<Graph> made = Graph::Capture(device_, recorder, enqueue);
      if (made.ok()) graph = *std::move(made);
      return made.status();
    }));
    return graph;
  };
  absl::StatusOr<Graph> graph = record();
  for (OpaqueValue& value : context.opaques) value.reset();
  recording.refused = !graph.ok();
  return graph;
}

absl::Status CudaInstance::RunGraph(Context& context,
                                    absl::Span<void* const> inputs,
                                    absl::Span<void* const> outputs,
                                    CUstream stream,
                                    Recording& recording) const {
  auto same = [&](const Context::Recorded& recorded) {
    return std::equal(inputs.begin(), inputs.end(),
                      recorded.addresses.begin()) &&
           std::equal(outputs.begin(), outputs.end(),
                      recorded.addresses.begin() + inputs.size());
  };
  for (const Context::Recorded& recorded : context.graphs) {
    if (same(recorded)) return recorded.graph.Launch(stream);
  }
  if (context.graphs.size() < kMostRecorded) {
    AITUNE_ASSIGN_OR_RETURN(
        Graph graph, Record(context, inputs, outputs, stream, recording));
    Context::Recorded recorded;
    recorded.addresses.assign(inputs.begin(), inputs.end());
    recorded.addresses.insert(recorded.addresses.end(), outputs.begin(),
                              outputs.end());
    recorded.graph = std::move(graph);
    context.graphs.push_back(std::move(recorded));
    if (recording.tried) return *recording.tried;
    return context.graphs.back().graph.Launch(stream);
  }
  AITUNE_RETURN_IF_ERROR(Stage(context));
  std::vector<void*> staged;
  for (const DeviceBuffer& buffer : context.staging) {
    staged.push_back(buffer.data());
  }
  const auto staged_inputs = absl::MakeConstSpan(staged).first(inputs.size());
  const auto staged_outputs =
      absl::MakeConstSpan(staged).subspan(inputs.size());
  auto copy = [&](void* to, const void* from, int64_t bytes) -> absl::Status {
    if (bytes == 0) return absl::OkStatus();
    return device_.driver().Check(
        device_.driver().cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(to),
                                           reinterpret_cast<CUdeviceptr>(from),
                                           bytes, stream),
        "copying an input or output");
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    AITUNE_RETURN_IF_ERROR(copy(staged_inputs[i], inputs[i], input_bytes_[i]));
  }
  absl::Status status;
  if (!context.staged) {
    absl::StatusOr<Graph> graph =
        Record(context, staged_inputs, staged_outputs, stream, recording);
    status = graph.status();
    if (graph.ok()) context.staged = *std::move(graph);
  }
  const bool has_run = recording.tried && recording.tried->ok();
  if (!status.ok() && !has_run) return status;
  if (!has_run) AITUNE_RETURN_IF_ERROR(context.staged.Launch(stream));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (plan_.is_written(static_cast<int>(i)))
      AITUNE_RETURN_IF_ERROR(
          copy(inputs[i], staged_inputs[i], input_bytes_[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    AITUNE_RETURN_IF_ERROR(
        copy(outputs[i], staged_outputs[i], output_bytes_[i]));
  }
  return status;
}

}  // namespace aitune::cuda
