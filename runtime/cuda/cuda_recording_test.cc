// Calls within graphs that the caller records, and calls on streams whose
// handles do not tell them apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cuda/testing/cuda_executable_fixture.h"

namespace aitune::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordingTest : public CudaExecutableTest {
 protected:
  void SetUp() override {
    CudaExecutableTest::SetUp();
    gpu.kernels["twice"] = [this](void** parameters) {
      written_.push_back(*static_cast<CUdeviceptr*>(parameters[1]));
      return LaunchTwice(parameters);
    };
    ASSERT_EQ(Load(), absl::OkStatus());
  }

  // Runs on `stream` and returns the arena that the call got, or null where it
  // launched a graph of its own.
  CUdeviceptr RunOn(CUstream stream) {
    written_.clear();
    EXPECT_EQ(Run(x_, y_, stream), absl::OkStatus());
    return written_.empty() ? 0 : written_[0];
  }
  absl::Status Run(std::vector<float>& x, std::vector<float>& y,
                   CUstream stream) {
    const auto size = static_cast<int64_t>(x.size());
    y.resize(x.size());
    std::vector<RegionValue> outputs{View(y, {size})};
    return executable_->Run({View(x, {size})}, absl::MakeSpan(outputs), stream);
  }

  void Begin(CUstream stream,
             CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_EQ(driver().cuStreamBeginCapture(stream, mode), CUDA_SUCCESS);
  }
  // The caller's graph, ready to be launched.
  CUgraphExec End(CUstream stream) {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver().cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    EXPECT_EQ(driver().cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  // The arena of a call in a graph that is recorded on `stream`.
  CUdeviceptr Record(CUstream stream) {
    Begin(stream);
    const CUdeviceptr arena = RunOn(stream);
    End(stream);
    return arena;
  }
  static const Driver& driver() { return FakeDevice().driver(); }

  std::vector<CUdeviceptr> written_;  // where each launch of a kernel writes
};

// As most programs do, torch.cuda.graph among them.
TEST_F(RecordingTest, ACallerRecordsOnAnotherStreamThanThatOfTheCallsBefore) {
  for (const auto mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    for (int call = 0; call < 3; ++call) RunOn(StreamOf(0));
    Begin(StreamOf(1), mode);
    y_.assign(3, 0);
    RunOn(StreamOf(1));
    EXPECT_THAT(y_, ElementsAre(0, 0, 0));
    const CUgraphExec exec = End(StreamOf(1));
    x_[0] = 5;
    EXPECT_EQ(driver().cuGraphLaunch(exec, StreamOf(2)), CUDA_SUCCESS);
    EXPECT_THAT(y_, ElementsAre(20, 8, 12));
    EXPECT_EQ(gpu.disturbed, 0);
    EXPECT_EQ(gpu.thread_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    // No stream waits for what is recorded.
    for (int stream = 0; stream < 4; ++stream) {
      for (int call = 0; call < 3; ++call) RunOn(StreamOf(stream));
    }
    EXPECT_THAT(y_, ElementsAre(20, 8, 12));
  }
}

TEST_F(RecordingTest, ACallOfNewSizesIsRecorded) {
  for (const bool is_busy : {false, true}) {
    if (is_busy) gpu.busy = {StreamOf(0)};
    RunOn(StreamOf(0));
    Begin(StreamOf(1));
    RunOn(StreamOf(1));
    std::vector<float> x(is_busy ? 40 : 50, 1), y;
    EXPECT_EQ(Run(x, y, StreamOf(1)), absl::OkStatus());
    const CUgraphExec exec = End(StreamOf(1));
    EXPECT_EQ(gpu.disturbed, 0);
    EXPECT_EQ(driver().cuGraphLaunch(exec, StreamOf(1)), CUDA_SUCCESS);
    EXPECT_THAT(y, testing::Each(4.0f));
    EXPECT_THAT(gpu.waits, IsEmpty());
  }
}

// While another thread records, in the mode that forbids most.
TEST_F(RecordingTest, ACallersRecordingIsNotLostByOtherCalls) {
  RunOn(StreamOf(0));
  Begin(StreamOf(1));
  gpu.busy = {StreamOf(0)};
  for (int stream : {2, 0, 3}) RunOn(StreamOf(stream));
  std::vector<float> x(40, 1), y;
  EXPECT_EQ(Run(x, y, StreamOf(2)), absl::OkStatus());
  std::vector<RegionValue> outputs{View(y, {40})};
  EXPECT_TRUE(
      executable_->Profile({View(x, {40})}, absl::MakeSpan(outputs), 1).ok());
  EXPECT_EQ(executable_->RunPart({View(x, {40})}, absl::MakeSpan(outputs), 1,
                                 {}, StreamOf(2)),
            absl::OkStatus());
  executable_->FreeKeptMemory();
  executable_.reset();
  ASSERT_EQ(Load(/*graphs=*/false), absl::OkStatus());
  RunOn(StreamOf(0));
  executable_.reset();
  EXPECT_EQ(gpu.disturbed, 0);
  End(StreamOf(1));
}

TEST_F(RecordingTest, ShortOfMemoryItWaitsForAnotherCall) {
  gpu.busy = {StreamOf(0)};
  const CUdeviceptr arena = RunOn(StreamOf(0));
  gpu.memory = gpu.used;
  Begin(StreamOf(1));
  EXPECT_EQ(RunOn(StreamOf(1)), arena);
  EXPECT_EQ(gpu.disturbed, 0);
  End(StreamOf(1));
  // Nothing is free now, nor will be.
  EXPECT_TRUE(absl::IsResourceExhausted(Run(x_, y_, StreamOf(0))));
  gpu.memory = 1 << 20;
  EXPECT_NE(RunOn(StreamOf(0)), arena);
}

TEST_F(RecordingTest, ARecordingThatHasFailedIsToldOf) {
  RunOn(StreamOf(0));
  Begin(StreamOf(1));
  ASSERT_NE(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  const absl::Status status = Run(x_, y_, StreamOf(1));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("record again"));
}

TEST_F(RecordingTest, NoOtherCallGetsTheMemoryOfACallersGraph) {
  RunOn(StreamOf(0));
  const CUdeviceptr arena = Record(StreamOf(0));
  for (int stream : {0, 1, 0}) {
    const CUdeviceptr other = RunOn(StreamOf(stream));
    EXPECT_NE(other, arena);
  }
  const CUdeviceptr second = Record(StreamOf(1));
  EXPECT_NE(second, arena);
  EXPECT_NE(Record(StreamOf(0)), arena);
}

TEST_F(RecordingTest, CallsInOneGraphBehindEachOtherShareMemory) {
  Begin(StreamOf(0));
  const CUdeviceptr arena = RunOn(StreamOf(0));
  EXPECT_EQ(RunOn(StreamOf(0)), arena);
  End(StreamOf(0));
  EXPECT_EQ(executable_->Memory().arenas, 256);
}

TEST_F(RecordingTest, TheMemoryOfACallersGraphStaysUntilItIsDestroyed) {
  gpu.memory = size_t{256} << 20;
  const CUdeviceptr arena = Record(StreamOf(0));
  executable_->FreeKeptMemory();
  for (size_t size = 1000; size < 3000; ++size) {
    x_.assign(size, 1);
    ASSERT_EQ(Run(x_, y_, StreamOf(0)), absl::OkStatus());
  }
  executable_->FreeKeptMemory();
  EXPECT_EQ(gpu.blocks.count(arena), 1u);
  EXPECT_EQ(executable_->MemoryInBytes(), static_cast<int64_t>(gpu.used));
  EXPECT_GT(gpu.used, 0u);
  gpu.DestroyCallersGraphs();
  executable_->FreeKeptMemory();
  EXPECT_EQ(gpu.used, 0u);
  EXPECT_EQ(executable_->MemoryInBytes(), 0);
}

// A program that records again and again.
TEST_F(RecordingTest, TheMemoryOfACallersGraphServesTheNext) {
  const CUdeviceptr arena = Record(StreamOf(0));
  for (int stream : {1, 0, 2}) {
    gpu.DestroyCallersGraphs();
    EXPECT_EQ(Record(StreamOf(stream)), arena);
  }
  gpu.DestroyCallersGraphs();
  executable_->FreeKeptMemory();
  EXPECT_EQ(gpu.used, 0u);
}

TEST_F(RecordingTest, CallsOnAStreamThatHasEndedItsWorkAreNotWaitedFor) {
  for (int stream : {0, 1, 2, 3}) {
    RunOn(StreamOf(stream));
    EXPECT_EQ(executable_->Memory().arenas, 256);
  }
  EXPECT_THAT(gpu.waits, IsEmpty());
}

// Each thread has another stream of this handle.
TEST_F(RecordingTest, ThreadsWithTheirOwnDefaultStreamShareNoMemory) {
  gpu.busy = {CU_STREAM_PER_THREAD};
  const CUdeviceptr arena = RunOn(CU_STREAM_PER_THREAD);
  std::set<CUdeviceptr> others;
  for (int thread = 0; thread < 2; ++thread) {
    std::thread([&] {
      EXPECT_NE(RunOn(CU_STREAM_PER_THREAD), 0u);
      others.insert(written_[0]);
    }).join();
  }
  EXPECT_EQ(others.size(), 2u);
  EXPECT_EQ(others.count(arena), 0u);
  // This thread's has its own still.
  const int64_t arenas = executable_->Memory().arenas;
  RunOn(CU_STREAM_PER_THREAD);
  EXPECT_EQ(executable_->Memory().arenas, arenas);
}

TEST_F(RecordingTest, WithoutMemoryAThreadsOwnStreamWaitsForAnothers) {
  gpu.busy = {CU_STREAM_PER_THREAD};
  RunOn(CU_STREAM_PER_THREAD);
  gpu.memory = gpu.used;
  RunOn(CU_STREAM_PER_THREAD);
  EXPECT_THAT(gpu.waits, IsEmpty());
  std::thread([&] { RunOn(CU_STREAM_PER_THREAD); }).join();
  EXPECT_THAT(gpu.waits, ElementsAre(std::pair(CU_STREAM_PER_THREAD,
                                               CU_STREAM_PER_THREAD)));
}

// The stream was destroyed with work on it, and another got its handle.
TEST_F(RecordingTest, AStreamWithTheHandleOfAnotherIsAnother) {
  gpu.busy = {StreamOf(0)};
  gpu.stream_ids[StreamOf(0)] = 7;
  const CUdeviceptr arena = RunOn(StreamOf(0));
  gpu.stream_ids[StreamOf(0)] = 8;
  const CUdeviceptr other = RunOn(StreamOf(0));
  EXPECT_NE(other, 0u);
  EXPECT_NE(other, arena);
}

TEST_F(RecordingTest, TheDefaultStreamHasTwoHandles) {
  gpu.busy = {nullptr, CU_STREAM_LEGACY};
  RunOn(nullptr);
  const int64_t arenas = executable_->Memory().arenas;
  RunOn(CU_STREAM_LEGACY);
  RunOn(nullptr);
  EXPECT_EQ(executable_->Memory().arenas, arenas);
  EXPECT_THAT(gpu.waits, IsEmpty());
}

// What the executable records itself, and what may keep it from that.
class OwnRecordingTest : public RecordingTest {
 protected:
  // So often, with the right results, on streams and addresses that are the
  // same each time.
  void ExpectRuns(int calls) {
    for (int call = 0; call < calls; ++call) {
      y_.clear();
      x_[0] = static_cast<float>(call);
      ASSERT_EQ(Run(x_, y_, StreamOf(0)), absl::OkStatus()) << "call " << call;
      EXPECT_THAT(y_, ElementsAre(4 * call, 8, 12)) << "call " << call;
    }
  }
};

TEST_F(OwnRecordingTest, OneThatOthersDisturbIsTriedAgain) {
  ExpectRuns(1);
  for (int time = 0; time < 2; ++time) {
    gpu.meanwhile = [] { driver().cuCtxSynchronize(); };
    ExpectRuns(1);
    EXPECT_EQ(gpu.disturbed, time + 1);
    // After 2 calls, then after 4.
    ExpectRuns(2 << time);
    EXPECT_EQ(gpu.graph_launches, 0);
  }
  ExpectRuns(2);
  EXPECT_EQ(gpu.graph_launches, 2);
  EXPECT_EQ(executable_->GraphReason(), "");
}

TEST_F(OwnRecordingTest, IsNotDisturbedByLoadingAndFreeing) {
  const ExecutablePlan plan = FourTimesWithInitialization();
  std::vector<float> values(4, 1.0f);
  std::vector<ConstantTensor> constants(1);
  constants[0].view = View(values, {4});
  ExpectRuns(1);
  gpu.meanwhile = [&] {
    auto other = CudaExecutable::Load(FakeDevice(), plan, {"cubin"},
                                      std::move(constants), {}, {});
    ASSERT_EQ(other.status(), absl::OkStatus());
    std::vector<float> x(40, 1), y(40);
    for (int call = 0; call < 2; ++call) {
      std::vector<RegionValue> outputs{View(y, {40})};
      EXPECT_EQ(
          (*other)->Run({View(x, {40})}, absl::MakeSpan(outputs), StreamOf(1)),
          absl::OkStatus());
      EXPECT_THAT(y, testing::Each(4.0f));
      (*other)->FreeKeptMemory();
    }
  };
  ExpectRuns(2);
  EXPECT_EQ(gpu.disturbed, 0);
  EXPECT_EQ(gpu.graph_launches, 2);
}

TEST_F(OwnRecordingTest, HasNothingOfAProfileInAnotherThread) {
  std::vector<float> x = {5, 6}, y(2);
  std::vector<RegionValue> outputs{View(y, {2})};
  ExpectRuns(1);
  gpu.meanwhile = [&] {
    const int recorded = gpu.recorded;
    EXPECT_TRUE(
        executable_->Profile({View(x, {2})}, absl::MakeSpan(outputs), 1).ok());
    EXPECT_THAT(y, ElementsAre(20, 24));
    EXPECT_EQ(gpu.recorded, recorded + 2);  // its own graphs
  };
  ExpectRuns(2);
  y = {0, 0};
  ExpectRuns(1);
  EXPECT_THAT(y, ElementsAre(0, 0));
  EXPECT_EQ(gpu.disturbed, 0);
}

TEST_F(OwnRecordingTest, AProfileIsOnTheStreamThatIsGiven) {
  gpu.busy = {StreamOf(5)};
  std::vector<RegionValue> outputs{View(y_ = x_, {3})};
  ASSERT_TRUE(
      executable_
          ->Profile({View(x_, {3})}, absl::MakeSpan(outputs), 1, StreamOf(5))
          .ok());
  // Where its memory is used still.
  const int64_t arenas = executable_->Memory().arenas;
  RunOn(StreamOf(5));
  EXPECT_EQ(executable_->Memory().arenas, arenas);
  RunOn(StreamOf(0));
  EXPECT_EQ(executable_->Memory().arenas, 2 * arenas);
}

TEST(StreamTest, WaitsForAnother) {
  gpu = FakeGpu();
  auto stream = Stream::Create(FakeDevice());
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_EQ(stream->WaitFor(StreamOf(3)), absl::OkStatus());
  EXPECT_THAT(gpu.waits, ElementsAre(std::pair(stream->get(), StreamOf(3))));
}

TEST_F(OwnRecordingTest, WithoutMemoryForTheGraphTheStepsAreRun) {
  ExpectRuns(1);
  gpu.graph = CUDA_ERROR_OUT_OF_MEMORY;
  ExpectRuns(30);
  EXPECT_EQ(gpu.graph_launches, 0);
  gpu.graph = CUDA_SUCCESS;
  ExpectRuns(40);
  EXPECT_GT(gpu.graph_launches, 0);
  EXPECT_EQ(executable_->GraphReason(), "");
}

// Where addresses do not repeat.
TEST_F(OwnRecordingTest, WithoutMemoryForStagingTheStepsAreRun) {
  std::vector<std::vector<float>> callers(40, x_);
  for (size_t call = 0; call < callers.size(); ++call) {
    if (call == 4) gpu.memory = gpu.used;
    if (call == 20) gpu.memory = 1 << 20;
    y_.clear();
    ASSERT_EQ(Run(callers[call], y_, StreamOf(0)), absl::OkStatus()) << call;
    EXPECT_THAT(y_, ElementsAre(4, 8, 12));
  }
  EXPECT_GT(executable_->Memory().graphs, 0);
  EXPECT_EQ(executable_->GraphReason(), "");
}

TEST_F(OwnRecordingTest, OneThatAlwaysFailsIsGivenUp) {
  gpu.graph = CUDA_ERROR_NOT_SUPPORTED;
  ExpectRuns(100);
  EXPECT_THAT(
      std::string(executable_->GraphReason()),
      testing::AllOf(HasSubstr("skipping CUDA graphs"), HasSubstr("5 times"),
                     HasSubstr("preparing a graph")));
  EXPECT_EQ(gpu.graph_launches, 0);
}

}  // namespace
}  // namespace aitune::cuda
