// An executable on a GPU that is made of functions: what it asks of the driver,
// and what it does when the driver refuses.
#include "runtime/cuda/cuda_executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "runtime/cuda/gpu_target.h"
#include "runtime/executable/test_plan.h"
#include "runtime/logging/logging.h"

namespace aitune::cuda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kMemory = 1 << 20;

// The GPU: its memory is the host's, its kernel doubles `symbol 0` floats.
struct FakeGpu {
  // Of a launch: the values of its parameters.
  struct Arguments {
    const float* from = nullptr;
    float* to = nullptr;
    KernelCheck* check = nullptr;
    int64_t symbol = -1;
    int32_t next_waits = -1;
  };
  std::map<CUdeviceptr, size_t> blocks;
  size_t used = 0;
  CUresult launch = CUDA_SUCCESS, load = CUDA_SUCCESS, graph = CUDA_SUCCESS;
  int launches = 0, graph_launches = 0, recorded = 0;
  int64_t symbol = -1;              // of the last launch
  std::vector<int32_t> next_waits;  // of each launch: its last parameter
  bool has_checks = false;          // kernels have, and refuse negative floats
  Arguments last_recorded;
  std::vector<Arguments> graphs;  // of each graph, its last launch
  bool recording = false;
} gpu;

template <typename T>
T Handle() {
  return reinterpret_cast<T>(&gpu);
}

CUresult Version(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult Count(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult Name(char* name, int length, CUdevice) {
  std::strncpy(name, "Fake GPU", length);
  return CUDA_SUCCESS;
}
CUresult Attribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
  return CUDA_SUCCESS;
}
CUresult Allocate(CUdeviceptr* address, size_t bytes) {
  if (gpu.used + bytes > kMemory) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
  gpu.blocks[*address] = bytes;
  gpu.used += bytes;
  return CUDA_SUCCESS;
}
CUresult Free(CUdeviceptr address) {
  gpu.used -= gpu.blocks.at(address);
  gpu.blocks.erase(address);
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult MemoryInfo(size_t* free, size_t* total) {
  *free = kMemory - gpu.used;
  *total = kMemory;
  return CUDA_SUCCESS;
}
CUresult ToDevice(CUdeviceptr to, const void* from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult LoadModule(CUmodule* module, const void*) {
  if (gpu.load == CUDA_SUCCESS) *module = Handle<CUmodule>();
  return gpu.load;
}
CUresult FindFunction(CUfunction* function, CUmodule, const char* name) {
  if (std::string(name) != "twice") return CUDA_ERROR_NOT_FOUND;
  *function = Handle<CUfunction>();
  return CUDA_SUCCESS;
}
FakeGpu::Arguments Read(void** parameters) {
  FakeGpu::Arguments arguments;
  arguments.from = *static_cast<float**>(*parameters++);
  arguments.to = *static_cast<float**>(*parameters++);
  if (gpu.has_checks)
    arguments.check = *static_cast<KernelCheck**>(*parameters++);
  arguments.symbol = *static_cast<int64_t*>(*parameters++);
  arguments.next_waits = *static_cast<int32_t*>(*parameters);
  return arguments;
}
void RunKernel(const FakeGpu::Arguments& arguments) {
  gpu.symbol = arguments.symbol;
  gpu.next_waits.push_back(arguments.next_waits);
  for (int64_t i = 0; i < gpu.symbol; ++i) {
    const float x = arguments.from[i];
    arguments.to[i] = x * 2;
    if (arguments.check != nullptr && x < 0)
      *arguments.check = {/*failed=*/1, static_cast<int64_t>(x)};
  }
}
CUresult Launch(const CUlaunchConfig*, CUfunction, void** parameters, void**) {
  if (gpu.launch != CUDA_SUCCESS) return gpu.launch;
  if (gpu.recording) {
    ++gpu.recorded;
    gpu.last_recorded = Read(parameters);
    return CUDA_SUCCESS;
  }
  ++gpu.launches;
  RunKernel(Read(parameters));
  return CUDA_SUCCESS;
}
CUresult AllocateHost(void** address, size_t bytes, unsigned flags) {
  EXPECT_EQ(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  *address = std::malloc(bytes);
  std::memset(*address, 0xff, bytes);
  return CUDA_SUCCESS;
}
CUresult FreeHost(void* address) {
  std::free(address);
  return CUDA_SUCCESS;
}
CUresult NewStream(CUstream* stream, unsigned) {
  *stream = Handle<CUstream>();
  return CUDA_SUCCESS;
}
CUresult NewEvent(CUevent* event, unsigned) {
  *event = Handle<CUevent>();
  return CUDA_SUCCESS;
}
CUresult BeginCapture(CUstream, CUstreamCaptureMode) {
  gpu.recording = true;
  return CUDA_SUCCESS;
}
CUresult EndCapture(CUstream, CUgraph* graph) {
  gpu.recording = false;
  *graph = Handle<CUgraph>();
  return CUDA_SUCCESS;
}
CUresult IsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult Instantiate(CUgraphExec* graph, CUgraph, unsigned long long) {
  if (gpu.graph != CUDA_SUCCESS) return gpu.graph;
  gpu.graphs.push_back(gpu.last_recorded);
  *graph = reinterpret_cast<CUgraphExec>(gpu.graphs.size());
  return CUDA_SUCCESS;
}
CUresult LaunchGraph(CUgraphExec graph, CUstream) {
  ++gpu.graph_launches;
  if (gpu.has_checks)
    RunKernel(gpu.graphs[reinterpret_cast<uintptr_t>(graph) - 1]);
  return CUDA_SUCCESS;
}
CUresult ErrorName(CUresult, const char** text) {
  *text = "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult ErrorText(CUresult, const char** text) {
  *text = "a made-up failure";
  return CUDA_SUCCESS;
}
CUresult Succeed() { return CUDA_SUCCESS; }

#define AITUNE_STRING(name) #name
#define AITUNE_FAKE(name, function) \
  {AITUNE_STRING(name), reinterpret_cast<void*>(function)}

const Driver& FakeDriver() {
  static const std::map<std::string, void*> functions = {
      AITUNE_FAKE(cuDriverGetVersion, Version),
      AITUNE_FAKE(cuDeviceGetCount, Count),
      AITUNE_FAKE(cuDeviceGetName, Name),
      AITUNE_FAKE(cuDeviceGetAttribute, Attribute),
      AITUNE_FAKE(cuMemAlloc_v2, Allocate),
      AITUNE_FAKE(cuMemFree_v2, Free),
      AITUNE_FAKE(cuMemGetInfo_v2, MemoryInfo),
      AITUNE_FAKE(cuMemHostAlloc, AllocateHost),
      AITUNE_FAKE(cuMemFreeHost, FreeHost),
      AITUNE_FAKE(cuMemcpyHtoD_v2, ToDevice),
      AITUNE_FAKE(cuModuleLoadData, LoadModule),
      AITUNE_FAKE(cuModuleGetFunction, FindFunction),
      AITUNE_FAKE(cuLaunchKernelEx, Launch),
      AITUNE_FAKE(cuStreamCreate, NewStream),
      AITUNE_FAKE(cuEventCreate, NewEvent),
      AITUNE_FAKE(cuStreamBeginCapture_v2, BeginCapture),
      AITUNE_FAKE(cuStreamEndCapture, EndCapture),
      AITUNE_FAKE(cuStreamIsCapturing, IsCapturing),
      AITUNE_FAKE(cuGraphInstantiateWithFlags, Instantiate),
      AITUNE_FAKE(cuGraphLaunch, LaunchGraph),
      AITUNE_FAKE(cuGetErrorName, ErrorName),
      AITUNE_FAKE(cuGetErrorString, ErrorText),
  };
  static const auto* const driver =
      new absl::StatusOr<Driver>(LoadDriver([](const char* name) {
        const auto found = functions.find(name);
        return found == functions.end() ? reinterpret_cast<void*>(Succeed)
                                        : found->second;
      }));
  return **driver;
}

const Device& FakeDevice() {
  static const Device* const device =
      Device::Create(FakeDriver(), 0)->release();
  return *device;
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
  void SetUp() override { gpu = FakeGpu(); }
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
  EXPECT_EQ(gpu.symbol, 0);
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
    gpu.next_waits.clear();
    EXPECT_TRUE(Run(x_, y_).ok());
    return gpu.next_waits;
  };
  EXPECT_THAT(next_waits(true, true, AfterCall::kAnything), ElementsAre(1, 0));
  EXPECT_THAT(next_waits(true, true, AfterCall::kSameCall), ElementsAre(1, 1));
  EXPECT_THAT(next_waits(true, false, AfterCall::kSameCall), ElementsAre(0, 1));
  EXPECT_THAT(next_waits(false, true, AfterCall::kSameCall), ElementsAre(1, 0));
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
  CUstream stream() const override { return Handle<CUstream>(); }
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
  EXPECT_THAT(gpu.next_waits, ElementsAre(0));
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
    gpu.has_checks = true;
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
  std::vector<float> large(kMemory / sizeof(float) + 1, 1.0f);
  const absl::Status status = Run(large, y_);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("out of memory"), HasSubstr("of 1 MiB are free"),
                    HasSubstr("Smaller inputs")));
  ASSERT_TRUE(Run(x_, y_).ok());
  std::vector<float> fits(kMemory / sizeof(float) / 2, 1.0f);
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
