// An executable on a GPU that is made of functions: what it asks of the driver,
// and what it does when the driver refuses.
#include "runtime/cuda/cuda_executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/cuda/gpu_target.h"
#include "runtime/cuda/testing/fake_gpu.h"
#include "runtime/executable/test_plan.h"
#include "runtime/logging/logging.h"

namespace aitune::cuda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FakeGpu& gpu = TheFakeGpu();

// What the kernel "twice" of a test does, and what its launches were given.
struct Twice {
  bool has_checks = false;          // it has, and refuses negative floats
  int64_t symbol = -1;              // of the last launch
  std::vector<int32_t> next_waits;  // the last parameter of each launch
} twice;

// Doubles `symbol 0` floats.
FakeGpu::Work LaunchTwice(void** parameters) {
  const float* from = *static_cast<float**>(*parameters++);
  float* to = *static_cast<float**>(*parameters++);
  KernelCheck* check = nullptr;
  if (twice.has_checks) check = *static_cast<KernelCheck**>(*parameters++);
  const int64_t count = *static_cast<int64_t*>(*parameters++);
  if (!gpu.recording) {
    twice.symbol = count;
    twice.next_waits.push_back(*static_cast<int32_t*>(*parameters));
  }
  return [=] {
    for (int64_t i = 0; i < count; ++i) {
      const float x = from[i];
      to[i] = x * 2;
      if (check != nullptr && x < 0)
        *check = {/*failed=*/1, static_cast<int64_t>(x)};
    }
  };
}

// Twice, by way of the arena: y = 2 (2 x) for 1 to 2^20 floats.
ExecutablePlan FourTimes() {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(1, 1 << 20, 0, 0);
  const int x = plan.Input({n}), t = plan.Arena({n}), y = plan.Output({n});
  for (const auto& [from, to] : {std::pair(x, t), std::pair(t, y)}) {
    CudaKernelLaunch* launch =
        plan.AddStep({from}, {to})->mutable_cuda_kernel();
    launch->set_symbol("twice");
    *launch->mutable_grid_x() = ToProto(n);
    launch->set_block_x(32);
  }
  plan.plan.add_output_values(y);
  plan.plan.set_device("cuda");
  return plan.plan;
}

class CudaExecutableTest : public testing::Test {
 protected:
  void SetUp() override {
    gpu = FakeGpu();
    gpu.kernels["twice"] = LaunchTwice;
    twice = Twice();
  }
  // Whatever went wrong, all memory comes back.
  void TearDown() override {
    executable_.reset();
    EXPECT_EQ(gpu.used, 0u);
  }

  absl::Status Load(bool graphs = true) {
    CudaExecutable::Options options;
    options.graphs = graphs;
    auto loaded = CudaExecutable::Load(FakeDevice(), FourTimes(), {"cubin"}, {},
                                       {}, options);
    if (loaded.ok()) executable_ = *std::move(loaded);
    return loaded.status();
  }

  absl::Status Run(std::vector<float>& x, std::vector<float>& y) {
    const auto size = static_cast<int64_t>(x.size());
    y.resize(x.size());
    std::vector<RegionValue> outputs{View(y, {size})};
    return executable_->Run({View(x, {size})}, absl::MakeSpan(outputs),
                            nullptr);
  }

  std::unique_ptr<CudaExecutable> executable_;
  std::vector<float> x_ = {1, 2, 3}, y_;
};

// After a fault on the GPU every call fails, and may leave anything behind.
TEST(StreamTest, AFailedCallLeavesNothingToFree) {
  const auto fail = +[](CUstream* stream, unsigned) {
    *stream = reinterpret_cast<CUstream>(uintptr_t{0xbad});
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  };
  const auto destroy = +[](CUstream) {
    ADD_FAILURE() << "freed what was never made";
    return CUDA_SUCCESS;
  };
  gpu = FakeGpu();
  const Device& device =
      NewFakeDevice({{"cuStreamCreate", reinterpret_cast<void*>(fail)},
                     {"cuStreamDestroy_v2", reinterpret_cast<void*>(destroy)}});
  EXPECT_EQ(Stream::Create(device).status().code(),
            absl::StatusCode::kInternal);
}

// A program that uses two GPUs: LibTorch's current device is the other one.
TEST_F(CudaExecutableTest, AnotherGpuStaysCurrent) {
  const auto other = reinterpret_cast<CUcontext>(uintptr_t{2});
  gpu.current = other;
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(gpu.current, other);
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE(Run(x_, y_).ok());
    EXPECT_EQ(gpu.current, other);
    EXPECT_THAT(y_, ElementsAre(4, 8, 12));
  }
  auto event = Event::Create(FakeDevice(), /*timed=*/true);
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->Record(/*stream=*/nullptr), absl::OkStatus());
  EXPECT_EQ(gpu.current, other);
  executable_.reset();
  EXPECT_EQ(gpu.current, other);
}

TEST_F(CudaExecutableTest, AKernelAtLoadHasParametersForSizesToo) {
  TestPlan plan;
  plan.plan = FourTimes();
  const int c = plan.Constant(0, {SizeExpression(4)}),
            p = plan.Persistent({SizeExpression(4)});
  CudaKernelLaunch* launch =
      plan.AddStep({c}, {p}, /*initialization=*/true)->mutable_cuda_kernel();
  launch->set_symbol("twice");
  *launch->mutable_grid_x() = ToProto(SizeExpression(1));
  launch->set_block_x(32);
  std::vector<float> values(4, 1.0f);
  std::vector<ConstantTensor> constants(1);
  constants[0].view = View(values, {4});
  auto loaded = CudaExecutable::Load(FakeDevice(), plan.plan, {"cubin"},
                                     std::move(constants), {}, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  executable_ = *std::move(loaded);
  EXPECT_EQ(gpu.launches, 1);
  EXPECT_EQ(twice.symbol, 0);
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_THAT(y_, ElementsAre(4, 8, 12));
}

// FourTimes with kernels that wait by themselves, or do not, and, before each
// of them, one whose grid has no blocks.
ExecutablePlan FourTimes(bool first_waits, bool second_waits) {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(1, 1 << 20, 0, 0);
  const int x = plan.Input({n}), t = plan.Arena({n}), y = plan.Output({n});
  auto add = [&](int from, int to, bool waits) {
    CudaKernelLaunch* launch =
        plan.AddStep({from}, {to})->mutable_cuda_kernel();
    launch->set_symbol("twice");
    *launch->mutable_grid_x() = ToProto(n);
    launch->set_block_x(32);
    launch->set_programmatic(waits);
    return launch;
  };
  auto add_empty = [&](int from, bool waits) {
    *add(from, plan.Arena({n}), waits)->mutable_grid_y() =
        ToProto(SizeExpression(0));
  };
  add_empty(x, !first_waits);
  add(x, t, first_waits);
  add_empty(t, !second_waits);
  add(t, y, second_waits);
  plan.plan.add_output_values(y);
  plan.plan.set_device("cuda");
  return plan.plan;
}

TEST_F(CudaExecutableTest, AKernelLetsTheNextStartEarlyIfThatOneWaits) {
  auto next_waits = [&](bool first_waits, bool second_waits, AfterCall next) {
    CudaExecutable::Options options;
    options.next = next;
    auto loaded =
        CudaExecutable::Load(FakeDevice(), FourTimes(first_waits, second_waits),
                             {"cubin"}, {}, {}, options);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    if (!loaded.ok()) return std::vector<int32_t>();
    executable_ = *std::move(loaded);
    twice.next_waits.clear();
    EXPECT_TRUE(Run(x_, y_).ok());
    return twice.next_waits;
  };
  EXPECT_THAT(next_waits(true, true, AfterCall::kAnything), ElementsAre(1, 0));
  EXPECT_THAT(next_waits(true, true, AfterCall::kSameCall), ElementsAre(1, 1));
  EXPECT_THAT(next_waits(true, false, AfterCall::kSameCall), ElementsAre(0, 1));
  EXPECT_THAT(next_waits(false, true, AfterCall::kSameCall), ElementsAre(1, 0));
}

// What a caller sees of calls on its own stream with its own memory.
struct Asked {
  std::vector<CUstream> streams;  // of launches of kernels and graphs
  int waits = 0, allocations = 0, copies = 0;
} asked;

template <typename Function>
Function OfTheFake(const char* name, Function) {
  return reinterpret_cast<Function>(FakeDriverFunctions()(name));
}

const Device& NoticingDevice() {
  const auto launch = +[](const CUlaunchConfig* config, CUfunction function,
                          void** parameters, void** more) {
    asked.streams.push_back(config->hStream);
    return OfTheFake("cuLaunchKernelEx",
                     static_cast<CUresult (*)(const CUlaunchConfig*, CUfunction,
                                              void**, void**)>(nullptr))(
        config, function, parameters, more);
  };
  const auto launch_graph = +[](CUgraphExec graph, CUstream stream) {
    asked.streams.push_back(stream);
    return OfTheFake("cuGraphLaunch",
                     static_cast<CUresult (*)(CUgraphExec, CUstream)>(nullptr))(
        graph, stream);
  };
  const auto wait = +[](CUstream) {
    ++asked.waits;
    return CUDA_SUCCESS;
  };
  const auto wait_for_all = +[] {
    ++asked.waits;
    return CUDA_SUCCESS;
  };
  const auto allocate = +[](CUdeviceptr* address, size_t bytes) {
    ++asked.allocations;
    return OfTheFake("cuMemAlloc_v2",
                     static_cast<CUresult (*)(CUdeviceptr*, size_t)>(nullptr))(
        address, bytes);
  };
  const auto copy = +[](CUdeviceptr to, CUdeviceptr from, size_t bytes,
                        CUstream stream) {
    ++asked.copies;
    return OfTheFake(
        "cuMemcpyDtoDAsync_v2",
        static_cast<CUresult (*)(CUdeviceptr, CUdeviceptr, size_t, CUstream)>(
            nullptr))(to, from, bytes, stream);
  };
  return NewFakeDevice(
      {{"cuLaunchKernelEx", reinterpret_cast<void*>(launch)},
       {"cuGraphLaunch", reinterpret_cast<void*>(launch_graph)},
       {"cuStreamSynchronize", reinterpret_cast<void*>(wait)},
       {"cuCtxSynchronize", reinterpret_cast<void*>(wait_for_all)},
       {"cuMemAlloc_v2", reinterpret_cast<void*>(allocate)},
       {"cuMemcpyDtoDAsync_v2", reinterpret_cast<void*>(copy)}});
}

TEST_F(CudaExecutableTest, CallsWorkInTheCallersMemoryOnTheCallersStream) {
  const auto stream = reinterpret_cast<CUstream>(uintptr_t{0x57});
  for (const bool graphs : {false, true}) {
    CudaExecutable::Options options;
    options.graphs = graphs;
    auto loaded = CudaExecutable::Load(NoticingDevice(), FourTimes(), {"cubin"},
                                       {}, {}, options);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    executable_ = *std::move(loaded);
    y_.assign(3, 0);
    std::vector<RegionValue> outputs{View(y_, {3})};
    asked = Asked();
    for (int call = 0; call < 5; ++call) {
      // The first call makes the memory of these sizes, the second a graph.
      if (call == 2) asked = Asked();
      x_[0] = static_cast<float>(call);
      ASSERT_TRUE(executable_
                      ->Run({View(x_, {3})}, absl::MakeSpan(outputs),
                            /*stream=*/stream)
                      .ok());
      EXPECT_THAT(y_, ElementsAre(4.f * call, 8, 12));
    }
    EXPECT_THAT(asked.streams, testing::SizeIs(graphs ? 3 : 6));
    EXPECT_THAT(asked.streams, testing::Each(stream));
    EXPECT_EQ(asked.waits, 0);
    EXPECT_EQ(asked.allocations, 0);
    EXPECT_EQ(asked.copies, 0);
    executable_.reset();
  }
}

TEST_F(CudaExecutableTest, RunsStepsOnceAndThenAGraph) {
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(executable_->GraphReason(), "");
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_THAT(y_, ElementsAre(4, 8, 12));
  EXPECT_EQ(gpu.launches, 2);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_EQ(gpu.launches, 2);
  EXPECT_EQ(gpu.recorded, 2);
  EXPECT_EQ(gpu.graph_launches, 3);
}

// Twice, then a region of LibTorch's that adds one.
ExecutablePlan TwiceAndOne() {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(1, 1 << 20, 0, 0);
  const int x = plan.Input({n}), t = plan.Arena({n}), y = plan.Output({n});
  CudaKernelLaunch* launch = plan.AddStep({x}, {t})->mutable_cuda_kernel();
  launch->set_symbol("twice");
  *launch->mutable_grid_x() = ToProto(n);
  launch->set_block_x(32);
  FallbackCall* call = plan.AddStep({t}, {y})->mutable_fallback();
  call->set_operator_("mylib::add_one");
  call->set_reason("not imported");
  plan.plan.add_output_values(y);
  plan.plan.set_device("cuda");
  return plan.plan;
}

struct AddOne : FallbackRegion {
  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t>,
                   absl::Span<RegionValue> outputs) const override {
    if (gpu.recording) {
      if (!recordable) return absl::InternalError("it waits for the GPU");
      ++gpu.recorded;
      return absl::OkStatus();
    }
    const auto& from = std::get<TensorView>(inputs[0]);
    const auto& to = std::get<TensorView>(outputs[0]);
    for (int64_t i = 0; i < to.sizes[0]; ++i)
      static_cast<float*>(to.data)[i] = static_cast<float*>(from.data)[i] + 1;
    return absl::OkStatus();
  }
  explicit AddOne(bool recordable) : recordable(recordable) {}
  const bool recordable;
};

struct FakeRecorder : RegionRecorder {
  CUstream stream() const override { return FakeHandle<CUstream>(); }
  absl::StatusOr<std::shared_ptr<void>> NewPool() override {
    pools.push_back(std::make_shared<int>());
    return pools.back();
  }
  absl::Status Within(const std::shared_ptr<void>& pool,
                      absl::FunctionRef<absl::Status()> body) override {
    ++(pool == nullptr ? warm_ups : recordings);
    return body();
  }
  std::vector<std::shared_ptr<void>> pools;
  int warm_ups = 0, recordings = 0;
};

class RegionTest : public CudaExecutableTest {
 protected:
  void LoadRegion(bool recordable, bool with_recorder = true) {
    CudaExecutable::Options options;
    if (with_recorder) options.recorder = recorder_;
    std::vector<std::unique_ptr<FallbackRegion>> regions;
    regions.push_back(std::make_unique<AddOne>(recordable));
    auto loaded = CudaExecutable::Load(FakeDevice(), TwiceAndOne(), {"cubin"},
                                       {}, std::move(regions), options);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    executable_ = *std::move(loaded);
  }
  std::shared_ptr<FakeRecorder> recorder_ = std::make_shared<FakeRecorder>();
};

// LibTorch's kernels need not wait, nor those of a library.
TEST_F(RegionTest, DoesNotStartBeforeTheKernelBeforeItEnds) {
  LoadRegion(/*recordable=*/true);
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_THAT(twice.next_waits, ElementsAre(0));
}

TEST_F(RegionTest, IsRecordedWithMemoryOfItsOwnAfterAWarmUp) {
  LoadRegion(/*recordable=*/true);
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_THAT(y_, ElementsAre(3, 5, 7));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_EQ(executable_->GraphReason(), "");
  EXPECT_EQ(recorder_->warm_ups, 1);
  EXPECT_EQ(recorder_->recordings, 1);
  EXPECT_EQ(gpu.recorded, 2);
  EXPECT_EQ(gpu.graph_launches, 3);
  // The graph needs the memory for as long as it is there.
  ASSERT_EQ(recorder_->pools.size(), 1u);
  EXPECT_EQ(recorder_->pools[0].use_count(), 2);
  executable_.reset();
  EXPECT_EQ(recorder_->pools[0].use_count(), 1);
}

TEST_F(RegionTest, ThatCannotBeRecordedRunsWithoutAGraphAndSaysWhy) {
  LoadRegion(/*recordable=*/false);
  for (int i = 0; i < 3; ++i) {
    y_.clear();
    ASSERT_TRUE(Run(x_, y_).ok());
    EXPECT_THAT(y_, ElementsAre(3, 5, 7));
  }
  EXPECT_THAT(executable_->GraphReason(),
              AllOf(HasSubstr("skipping CUDA graphs"),
                    HasSubstr("it waits for the GPU")));
  EXPECT_EQ(recorder_->recordings, 1);
  EXPECT_EQ(gpu.graph_launches, 0);
}

TEST_F(RegionTest, WithoutARecorderRunsWithoutAGraph) {
  LoadRegion(/*recordable=*/true, /*with_recorder=*/false);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_THAT(executable_->GraphReason(),
              AllOf(HasSubstr("mylib::add_one"), HasSubstr("not imported")));
  EXPECT_EQ(gpu.graph_launches, 0);
}

// Twice, of what is not negative.
class CheckTest : public CudaExecutableTest {
 protected:
  void LoadChecked() {
    twice.has_checks = true;
    TestPlan plan;
    const SizeExpression n = plan.Symbol(1, 64, 0, 0);
    const int x = plan.Input({n}), y = plan.Output({n});
    Step* step = plan.AddStep({x}, {y});
    CudaKernelLaunch* launch = step->mutable_cuda_kernel();
    launch->set_symbol("twice");
    *launch->mutable_grid_x() = ToProto(n);
    launch->set_block_x(32);
    CheckProto* check = step->add_checks();
    check->set_operator_("aten::gather");
    check->set_location("model.py:4");
    *check->mutable_size() = ToProto(n);
    plan.plan.add_output_values(y);
    plan.plan.set_device("cuda");
    auto loaded = CudaExecutable::Load(FakeDevice(), plan.plan, {"cubin"}, {},
                                       {}, CudaExecutable::Options());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    executable_ = *std::move(loaded);
  }
  static void ExpectNamed(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("aten::gather at model.py:4: index -5 is out of "
                          "range for 3 entries"));
  }
  std::vector<float> bad_ = {1, -5, 3};
};

TEST_F(CheckTest, AFailureIsToldToWhoAsks) {
  LoadChecked();
  // Once by itself, then in a graph.
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Run(x_, y_).ok());
    EXPECT_TRUE(executable_->TakeFailedCheck().ok());
    EXPECT_TRUE(Run(bad_, y_).ok());
    ExpectNamed(executable_->TakeFailedCheck());
    EXPECT_TRUE(executable_->TakeFailedCheck().ok()) << "told once";
  }
  EXPECT_EQ(gpu.graph_launches, 5);
}

TEST_F(CheckTest, AFailureThatNobodyAskedForIsTheNextCallsError) {
  LoadChecked();
  EXPECT_TRUE(Run(bad_, y_).ok());
  std::vector<float> other_sizes(5);
  ExpectNamed(Run(other_sizes, y_));
  EXPECT_EQ(gpu.launches, 1) << "that call is not run";
  EXPECT_TRUE(Run(x_, y_).ok());
  EXPECT_TRUE(executable_->TakeFailedCheck().ok());
}

TEST_F(CheckTest, TheLastFailureIsInTheLog) {
  LoadChecked();
  EXPECT_TRUE(Run(bad_, y_).ok());
  std::string log;
  const LogSink before =
      SetLogSink([&log](LogChannel, std::string_view text) { log += text; });
  executable_.reset();
  SetLogSink(before);
  EXPECT_THAT(log, HasSubstr("aten::gather at model.py:4"));
}

TEST_F(CudaExecutableTest, APartOfItShowsWhatItsMemoryHolds) {
  ASSERT_TRUE(Load().ok());
  std::vector<float> held(3);
  y_ = {-1, -1, -1};
  std::vector<RegionValue> outputs{View(y_, {3})};
  // Value 1 is between the two kernels.
  ASSERT_TRUE(executable_
                  ->RunPart({View(x_, {3})}, absl::MakeSpan(outputs), 1,
                            {{1, View(held, {3})}}, nullptr)
                  .ok());
  EXPECT_THAT(held, ElementsAre(2, 4, 6));
  EXPECT_THAT(y_, ElementsAre(-1, -1, -1));
  EXPECT_EQ(gpu.launches, 1);
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_THAT(y_, ElementsAre(4, 8, 12));
}

TEST_F(CudaExecutableTest, WithoutGraphsSaysWhy) {
  ASSERT_TRUE(Load(/*graphs=*/false).ok());
  EXPECT_THAT(executable_->GraphReason(), HasSubstr("switched off"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_EQ(gpu.launches, 6);
  EXPECT_EQ(gpu.graph_launches, 0);
}

TEST_F(CudaExecutableTest, OutOfMemoryIsAnErrorThatLeavesItUsable) {
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(Run(x_, y_).ok());
  std::vector<float> large(gpu.memory / sizeof(float) + 1, 1.0f);
  const absl::Status status = Run(large, y_);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("out of memory"), HasSubstr("of 1 MiB are free"),
                    HasSubstr("Smaller inputs")));
  ASSERT_TRUE(Run(x_, y_).ok());
  std::vector<float> fits(gpu.memory / sizeof(float) / 2, 1.0f);
  ASSERT_TRUE(Run(fits, y_).ok());
  EXPECT_EQ(y_.back(), 4.0f);
}

TEST_F(CudaExecutableTest, CountsItsMemory) {
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_EQ(executable_->MemoryInBytes(), static_cast<int64_t>(gpu.used));
  EXPECT_GT(gpu.used, 0u);
}

TEST_F(CudaExecutableTest, AFailedLaunchNamesItsStep) {
  ASSERT_TRUE(Load().ok());
  gpu.launch = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  const absl::Status status = Run(x_, y_);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("step 'step_1'"), HasSubstr("launching a kernel"),
                    HasSubstr("made-up failure")));
  gpu.launch = CUDA_SUCCESS;
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_EQ(gpu.recorded, 2);
  EXPECT_EQ(gpu.graph_launches, 1);
}

TEST_F(CudaExecutableTest, AGraphThatCannotBeMadeIsAnError) {
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(Run(x_, y_).ok());
  gpu.graph = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(Run(x_, y_).code(), absl::StatusCode::kResourceExhausted);
  gpu.graph = CUDA_SUCCESS;
  EXPECT_TRUE(Run(x_, y_).ok());
  EXPECT_EQ(gpu.graph_launches, 1);
}

TEST_F(CudaExecutableTest, CodeForAnotherGpuIsRefused) {
  gpu.load = CUDA_ERROR_NO_BINARY_FOR_GPU;
  const absl::Status status = Load();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("Fake GPU, sm_90"), HasSubstr("Compile again")));
}

TEST(GpuTargetTest, NamesWhatResultsDependOn) {
  const GpuIdentity h200 = {"NVIDIA H200", 90,     132,  13000,
                            "580.159.03",  130000, 91300};
  EXPECT_EQ(ToString(h200),
            "NVIDIA H200 sm_90, 132 multiprocessors; driver 580.159.03 for "
            "CUDA 13.0; cuBLASLt 130000, cuDNN 91300");
  GpuIdentity unknown = h200;
  unknown.module = "";
  EXPECT_THAT(ToString(unknown), HasSubstr("driver for CUDA 13.0"));
}

}  // namespace
}  // namespace aitune::cuda
