#include "runtime/cuda/stream_capture.h"

#include <optional>

#include "absl/strings/match.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

// Keys that are no number of the driver's, which counts from 1 on.
constexpr StreamKey kLegacy = ~StreamKey{0};
constexpr StreamKey kOfThread = StreamKey{1} << 63;

using Flag = std::shared_ptr<std::atomic<bool>>;

// The driver forbids calls of its own here.
void CUDA_CB Raise(void* data) {
  auto* const flag = static_cast<Flag*>(data);
  (*flag)->store(true, std::memory_order_release);
  delete flag;
}

// The key where the handle is none of a single stream's.
std::optional<StreamKey> KeyOfSpecialHandle(CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return kLegacy;
  if (stream != CU_STREAM_PER_THREAD) return std::nullopt;
  static std::atomic<StreamKey> threads{0};
  thread_local const StreamKey number = ++threads;
  return kOfThread | number;
}

}  // namespace

StreamKey KeyWhileRecording(CUstream stream) {
  return KeyOfSpecialHandle(stream).value_or(
      reinterpret_cast<StreamKey>(stream));
}

absl::StatusOr<StreamKey> KeyOf(const Driver& driver, CUstream stream) {
  if (const auto special = KeyOfSpecialHandle(stream)) return *special;
  unsigned long long id = 0;
  AITUNE_RETURN_IF_ERROR(driver.Check(driver.cuStreamGetId(stream, &id),
                                      "asking for a stream's number"));
  return id;
}

bool IsRecording(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  driver.cuStreamIsCapturing(stream, &status);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

absl::StatusOr<RecordedGraph> GraphRecordedOn(const Driver& driver,
                                              CUstream stream) {
  RecordedGraph recorded;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  const CUgraphNode* last = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t count = 0;
  AITUNE_RETURN_IF_ERROR(driver.Check(
      driver.cuStreamGetCaptureInfo(stream, &status, &id, &recorded.graph,
                                    &last, &edges, &count),
      "asking for the graph that a stream records"));
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return absl::FailedPreconditionError(
        "CUDA: the recording on this stream has failed before this call, as "
        "by a call that a recording forbids; end it and record again");
  }
  recorded.recording = id;
  return recorded;
}

absl::StatusOr<std::shared_ptr<const std::atomic<bool>>> WatchGraph(
    const Driver& driver, CUgraph graph) {
  Flag flag = std::make_shared<std::atomic<bool>>(false);
  auto raised = std::make_unique<Flag>(flag);
  CUuserObject object = nullptr;
  AITUNE_RETURN_IF_ERROR(
      driver.Check(driver.cuUserObjectCreate(&object, raised.get(), Raise,
                                             /*initialRefcount=*/1,
                                             CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
                   "watching a graph"));
  raised.release();  // it is Raise's
  const CUresult retained = driver.cuGraphRetainUserObject(
      graph, object, /*count=*/1, CU_GRAPH_USER_OBJECT_MOVE);
  if (retained != CUDA_SUCCESS) driver.cuUserObjectRelease(object, /*count=*/1);
  AITUNE_RETURN_IF_ERROR(driver.Check(retained, "watching a graph"));
  return flag;
}

bool IsLostRecording(const Driver& driver, const absl::Status& status) {
  const char* text = nullptr;
  driver.cuGetErrorString(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, &text);
  // LibTorch gives its texts alone.
  return text != nullptr && absl::StrContains(status.message(), text);
}

}  // namespace aitune::cuda
