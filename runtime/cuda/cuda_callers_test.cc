// Calls from several threads, each on a stream of its own.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/cuda/testing/cuda_executable_fixture.h"

namespace aitune::cuda {
namespace {

// Where launches of graphs wait for each other.
struct Meeting {
  std::mutex mutex;
  std::condition_variable arrival;
  int awaited = 0;  // launches that are to be under way at once
  int arrived = 0;
};
Meeting meeting;

CUresult LaunchAndMeet(CUgraphExec, CUstream) {
  std::unique_lock<std::mutex> lock(meeting.mutex);
  ++meeting.arrived;
  meeting.arrival.notify_all();
  const bool met = meeting.arrival.wait_for(lock, std::chrono::seconds(10), [] {
    return meeting.arrived >= meeting.awaited;
  });
  return met ? CUDA_SUCCESS : CUDA_ERROR_TIMEOUT;
}

// Work of other streams is never over, so that each has a context of its own.
CUresult NotReady(CUevent) { return CUDA_ERROR_NOT_READY; }
CUresult RecordNothing(CUevent, CUstream) { return CUDA_SUCCESS; }

// The current context, which the fake has one of for all threads.
thread_local CUcontext current = nullptr;
CUresult GetCurrent(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
CUresult SetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

CUstream StreamOf(size_t caller) {
  return reinterpret_cast<CUstream>(uintptr_t{64} * (caller + 1));
}

TEST_F(CudaExecutableTest, CallersLaunchTheirGraphsAtOnce) {
  const Device& device =
      NewFakeDevice({{"cuGraphLaunch", reinterpret_cast<void*>(LaunchAndMeet)},
                     {"cuEventQuery", reinterpret_cast<void*>(NotReady)},
                     {"cuEventRecord", reinterpret_cast<void*>(RecordNothing)},
                     {"cuCtxGetCurrent", reinterpret_cast<void*>(GetCurrent)},
                     {"cuCtxSetCurrent", reinterpret_cast<void*>(SetCurrent)}});
  auto loaded =
      CudaExecutable::Load(device, FourTimes(), {"cubin"}, {}, {}, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  executable_ = *std::move(loaded);
  constexpr size_t kCallers = 2;
  std::vector<std::vector<float>> x(kCallers, x_), y(kCallers, x_);
  auto call = [&](size_t caller) {
    std::vector<RegionValue> outputs{View(y[caller], {3})};
    return executable_->Run({View(x[caller], {3})}, absl::MakeSpan(outputs),
                            StreamOf(caller));
  };
  // The first call of each runs the steps, the second records the graph.
  for (int time = 0; time < 2; ++time)
    for (size_t caller = 0; caller < kCallers; ++caller)
      ASSERT_EQ(call(caller), absl::OkStatus());
  meeting.arrived = 0;
  meeting.awaited = kCallers;
  std::vector<absl::Status> results(kCallers);
  std::vector<std::thread> callers;
  for (size_t caller = 0; caller < kCallers; ++caller)
    callers.emplace_back([&, caller] { results[caller] = call(caller); });
  for (std::thread& caller : callers) caller.join();
  for (const absl::Status& result : results)
    EXPECT_EQ(result, absl::OkStatus());
}

}  // namespace
}  // namespace aitune::cuda
