#include "runtime/cuda/full_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/cuda/testing/fake_gpu.h"

namespace aitune::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What a made-up driver was asked for.
struct Calls {
  bool recording = false;
  std::vector<CUdeviceptr> set;  // addresses
  std::vector<CUgraphNode> behind;
  std::vector<CUgraphNode> next;
} calls;

const CUgraphNode kLast = reinterpret_cast<CUgraphNode>(0x10);
const CUgraphNode kAdded = reinterpret_cast<CUgraphNode>(0x20);

CUresult Set(CUdeviceptr address, unsigned char, size_t, CUstream) {
  calls.set.push_back(address);
  return CUDA_SUCCESS;
}
CUresult Capture(CUstream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph*,
                 const CUgraphNode** last, const CUgraphEdgeData**,
                 size_t* count) {
  if (!calls.recording) return CUDA_SUCCESS;
  *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  *last = &kLast;
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult AddEmpty(CUgraphNode* node, CUgraph, const CUgraphNode* last,
                  size_t count) {
  calls.behind.assign(last, last + count);
  *node = kAdded;
  return CUDA_SUCCESS;
}
CUresult Continue(CUstream, CUgraphNode* nodes, const CUgraphEdgeData*,
                  size_t count, unsigned) {
  calls.next.assign(nodes, nodes + count);
  return CUDA_SUCCESS;
}
const Device& DeviceThatTells() {
  static const Device& device = NewFakeDevice({
      {"cuMemsetD8Async", reinterpret_cast<void*>(Set)},
      {"cuStreamGetCaptureInfo_v3", reinterpret_cast<void*>(Capture)},
      {"cuGraphAddEmptyNode", reinterpret_cast<void*>(AddEmpty)},
      {"cuStreamUpdateCaptureDependencies_v2",
       reinterpret_cast<void*>(Continue)},
  });
  return device;
}

TEST(QueueFullWait, SetsAByteOfAStreamThatRuns) {
  calls = {};
  char byte;
  ASSERT_TRUE(QueueFullWait(DeviceThatTells(), nullptr, &byte).ok());
  EXPECT_THAT(calls.set, ElementsAre(reinterpret_cast<CUdeviceptr>(&byte)));
  EXPECT_THAT(calls.next, IsEmpty());
}

TEST(QueueFullWait, PutsANodeWithoutWorkIntoAGraph) {
  calls = {};
  calls.recording = true;
  ASSERT_TRUE(QueueFullWait(DeviceThatTells(), nullptr, nullptr).ok());
  EXPECT_THAT(calls.set, IsEmpty());
  EXPECT_THAT(calls.behind, ElementsAre(kLast));
  EXPECT_THAT(calls.next, ElementsAre(kAdded));
}

}  // namespace
}  // namespace aitune::cuda
