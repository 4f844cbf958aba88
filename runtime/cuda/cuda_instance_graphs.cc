// Calls of an instance as CUDA graphs: recording them, and running them on a
// caller's addresses.
#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/cuda/cuda_instance.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

// Graphs on a caller's own addresses, for each context. LibTorch's allocator
// gives a caller who keeps one result the same two addresses in turn.
constexpr size_t kMostRecorded = 4;

// After a recording that failed for the n-th time, 2^n calls go without one.
constexpr int kMostDoublings = 12;

}  // namespace

absl::StatusOr<Graph> CudaInstance::Record(Context& context,
                                           absl::Span<void* const> inputs,
                                           absl::Span<void* const> outputs,
                                           CUstream stream,
                                           Recording& recording) const {
  std::lock_guard<std::mutex> lock(*recording.mutex);
  // Another thread's recording does not forbid this one.
  const RelaxedCapture relaxed(device_.driver());
  Patch(context, inputs, outputs);
  if (recording.regions != nullptr && context.region_stream == nullptr) {
    AITUNE_ASSIGN_OR_RETURN(context.region_stream,
                            recording.regions->LendStream());
  }
  const CUstream recorder = recording.regions == nullptr
                                ? recording.stream
                                : context.region_stream->get();
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
    recording.tried = recording.regions->Within(recorder, nullptr, enqueue);
    const absl::Status waited = driver.Check(
        driver.cuStreamSynchronize(recorder), "running what is to be recorded");
    if (recording.tried->ok()) recording.tried = waited;
    AITUNE_RETURN_IF_ERROR(*recording.tried);
    Graph graph;
    AITUNE_RETURN_IF_ERROR(
        recording.regions->Within(recorder, context.pool, [&] {
          absl::StatusOr<Graph> made =
              Graph::Capture(device_, recorder, enqueue);
          if (made.ok()) graph = *std::move(made);
          return made.status();
        }));
    return graph;
  };
  absl::StatusOr<Graph> graph = record();
  for (OpaqueValue& value : context.opaques) value.reset();
  return graph;
}

void CudaInstance::NoteRecording(const absl::Status& status, Context& context,
                                 Recording& recording) {
  if (status.ok()) {
    context.failed_recordings = 0;
    return;
  }
  recording.failure = status;
  context.failed_recordings =
      std::min(context.failed_recordings + 1, kMostDoublings);
  context.unrecorded_calls = 1 << context.failed_recordings;
}

absl::StatusOr<bool> CudaInstance::RunGraph(Context& context,
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
    if (!same(recorded)) continue;
    AITUNE_RETURN_IF_ERROR(recorded.graph.Launch(stream));
    return true;
  }
  const bool stages = context.graphs.size() >= kMostRecorded;
  if (!(stages && context.staged) && context.unrecorded_calls > 0) {
    --context.unrecorded_calls;
    return false;
  }
  auto record =
      [&](absl::Span<void* const> from,
          absl::Span<void* const> to) -> absl::StatusOr<std::optional<Graph>> {
    absl::StatusOr<Graph> graph = Record(context, from, to, stream, recording);
    NoteRecording(graph.status(), context, recording);
    if (recording.tried) AITUNE_RETURN_IF_ERROR(*recording.tried);
    if (!graph.ok()) return std::nullopt;
    return *std::move(graph);
  };
  if (!stages) {
    AITUNE_ASSIGN_OR_RETURN(std::optional<Graph> graph,
                            record(inputs, outputs));
    if (graph) {
      Context::Recorded recorded;
      recorded.addresses.assign(inputs.begin(), inputs.end());
      recorded.addresses.insert(recorded.addresses.end(), outputs.begin(),
                                outputs.end());
      recorded.graph = *std::move(graph);
      context.graphs.push_back(std::move(recorded));
    }
    if (recording.tried) return true;
    if (!graph) return false;
    AITUNE_RETURN_IF_ERROR(context.graphs.back().graph.Launch(stream));
    return true;
  }
  if (const absl::Status status = Stage(context); !status.ok()) {
    NoteRecording(status, context, recording);
    return false;
  }
  std::vector<void*> staged;
  for (const DeviceBuffer& buffer : context.staging) {
    staged.push_back(buffer.data());
  }
  const auto staged_inputs = absl::MakeConstSpan(staged).first(inputs.size());
  const auto staged_outputs =
      absl::MakeConstSpan(staged).subspan(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    AITUNE_RETURN_IF_ERROR(
        QueueCopy(staged_inputs[i], inputs[i], input_bytes_[i], stream));
  }
  if (!context.staged) {
    AITUNE_ASSIGN_OR_RETURN(std::optional<Graph> graph,
                            record(staged_inputs, staged_outputs));
    if (graph) context.staged = *std::move(graph);
    if (!graph && !recording.tried) return false;
  }
  if (!recording.tried) AITUNE_RETURN_IF_ERROR(context.staged.Launch(stream));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (plan_.is_written(static_cast<int>(i)))
      AITUNE_RETURN_IF_ERROR(
          QueueCopy(inputs[i], staged_inputs[i], input_bytes_[i], stream));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    AITUNE_RETURN_IF_ERROR(
        QueueCopy(outputs[i], staged_outputs[i], output_bytes_[i], stream));
  }
  return true;
}

}  // namespace aitune::cuda
