// What callers do with streams beside queueing work: recordings of graphs,
// which forbid other calls, and handles that stand for several streams.
#ifndef AITUNE_RUNTIME_CUDA_STREAM_CAPTURE_H_
#define AITUNE_RUNTIME_CUDA_STREAM_CAPTURE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/driver.h"

namespace aitune::cuda {

// While it lives, this thread may allocate, free, load code, and ask for and
// wait for events, although it or another thread records a graph: a recording
// that is not relaxed forbids that to all threads, and is lost by it. What is
// done meanwhile must not be of what is recorded, such as an event of it.
class RelaxedCapture {
 public:
  // `driver` must outlive this.
  explicit RelaxedCapture(const Driver& driver) : driver_(driver) {
    driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCapture() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// A stream, as the driver orders work: equal for handles of the same stream,
// and never equal for others, also where the handle of a destroyed stream is
// used again and where each thread has another stream of the handle
// CU_STREAM_PER_THREAD. 0 is no stream.
using StreamKey = uint64_t;

// The key of the stream that `stream` is in this thread. No graph is recorded
// on it: the driver tells no number of it then, and the recording would be
// lost. Errors: the driver's.
absl::StatusOr<StreamKey> KeyOf(const Driver& driver, CUstream stream);

// The same of a stream on which a graph is recorded, to be compared with such
// keys alone, of the same recording: until that ends no other stream has the
// handle.
StreamKey KeyWhileRecording(CUstream stream);

// Whether a graph is recorded on `stream`, also where the recording has failed
// already.
bool IsRecording(const Driver& driver, CUstream stream);

struct RecordedGraph {
  uint64_t recording = 0;  // another number for each recording
  CUgraph graph = nullptr;
};

// The graph that is recorded on `stream`. kFailedPrecondition where the
// recording has failed already; otherwise the driver's error.
absl::StatusOr<RecordedGraph> GraphRecordedOn(const Driver& driver,
                                              CUstream stream);

// Becomes true when `graph`, which is recorded, and all that was made of it are
// destroyed and have ended. Errors: the driver's.
absl::StatusOr<std::shared_ptr<const std::atomic<bool>>> WatchGraph(
    const Driver& driver, CUgraph graph);

// Whether `status`, of something that was recorded, tells that the recording
// was lost before, as by another thread's call that waits for the whole GPU.
bool IsLostRecording(const Driver& driver, const absl::Status& status);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_STREAM_CAPTURE_H_
