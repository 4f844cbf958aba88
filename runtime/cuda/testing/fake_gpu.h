// A GPU that is made of functions, for tests on machines without one: its
// memory is the host's, its kernels are functions of the test, graphs run what
// was recorded, and work is done when it is queued. It has the driver's rules
// of what a recording forbids. What it does not know succeeds and does nothing.
#ifndef AITUNE_RUNTIME_CUDA_TESTING_FAKE_GPU_H_
#define AITUNE_RUNTIME_CUDA_TESTING_FAKE_GPU_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/shared_library.h"

namespace aitune::cuda {

struct FakeGpu {
  using Work = std::function<void()>;
  // Reads a launch's parameters and returns what the launch does.
  using Kernel = std::function<Work(void** parameters)>;

  std::map<std::string, Kernel> kernels;  // kernels of all modules, by name
  size_t memory = 1 << 20;                // bytes that there are
  int version = 13000;                    // the driver's newest CUDA
  int count = 1;                          // GPUs of the machine
  // What starting, loading code, launching and making a graph give.
  CUresult start = CUDA_SUCCESS, load = CUDA_SUCCESS, launch = CUDA_SUCCESS,
           graph = CUDA_SUCCESS;

  // The GPU's context, and the current one of the thread (tests have one).
  static inline const CUcontext kContext =
      reinterpret_cast<CUcontext>(uintptr_t{1});
  CUcontext current = nullptr;

  // What it was asked for.
  size_t used = 0;   // bytes of device memory
  int launches = 0;  // launches of kernels, without those that were recorded
  int graph_launches = 0;
  int recorded = 0;  // launches of kernels into graphs
  bool recording = false;
  int disturbed = 0;        // recordings that ever were
  uint64_t recordings = 0;  // that were ever begun
  // The streams that waited for an event of another, and which.
  std::vector<std::pair<CUstream, CUstream>> waits;

  // Streams whose work does not end before somebody waits for its event.
  std::set<CUstream> busy;
  // The driver's numbers of streams, if not their handles.
  std::map<CUstream, unsigned long long> stream_ids;
  // What else happens when a graph is recorded, such as in other threads.
  std::function<void()> meanwhile;

  // As if all graphs that were recorded by others than the tested code, and
  // what was made of them, were destroyed.
  void DestroyCallersGraphs();

  // What is recorded now: the last one was begun last.
  struct Recording {
    CUstream stream = nullptr;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    uint64_t number = 0;
    bool is_lost = false;
    std::vector<Work> work;
  };
  std::vector<Recording> recordings_now;

  // The rest is the fake's own.
  struct Mark {
    CUstream stream = nullptr;
    bool is_over = true, is_captured = false;
  };
  std::map<CUevent, Mark> events;
  CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  struct UserObject {
    CUhostFn destroy = nullptr;
    void* data = nullptr;
    bool is_retained = false;  // some graph has it
  };
  std::vector<UserObject> user_objects;
  uintptr_t last_handle = 0;  // the newest stream or event
  std::map<CUdeviceptr, size_t> blocks;
  std::vector<std::string> functions;  // names, by handle
  std::vector<Work> recorded_last;
  std::vector<std::vector<Work>> graphs;  // each graph's work, by handle
};

// The one of this process. A test sets it to FakeGpu() first. Not thread-safe.
FakeGpu& TheFakeGpu();

// The functions of its driver. Those of `changed` (by the names that the driver
// exports, such as "cuMemAlloc_v2") are in place of the fake's; a null one is
// missing.
SymbolLookup FakeDriverFunctions(std::map<std::string, void*> changed = {});

// The device of a driver with these functions, which must load. It lives as
// long as the process.
const Device& NewFakeDevice(std::map<std::string, void*> changed = {});
// The device of the fake's own driver.
const Device& FakeDevice();

// A handle for what the fake tells from nothing else, such as a stream.
template <typename T>
T FakeHandle() {
  return reinterpret_cast<T>(&TheFakeGpu());
}

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_TESTING_FAKE_GPU_H_
