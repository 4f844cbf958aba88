// An executable on a GPU that is made of functions: what it asks of the driver,
// and what it does when the driver refuses.
#include "runtime/cuda/cuda_executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/cuda/gpu_target.h"
#include "runtime/cuda/testing/cuda_executable_fixture.h"

namespace aitune::cuda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  const ExecutablePlan plan = FourTimesWithInitialization();
  std::vector<float> values(4, 1.0f);
  std::vector<ConstantTensor> constants(1);
  constants[0].view = View(values, {4});
  auto loaded = CudaExecutable::Load(FakeDevice(), plan, {"cubin"},
                                     std::move(constants), {}, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  executable_ = *std::move(loaded);
  EXPECT_EQ(gpu.launches, 1);
  EXPECT_EQ(twice.symbol, 0);
  ASSERT_TRUE(Run(x_, y_).ok());
  EXPECT_THAT(y_, ElementsAre(4, 8, 12));
}

// Up to two elements twice in two steps by way of the arena, which are eight
// times the input after the other two, else once.
TEST_F(CudaExecutableTest, ACallRunsTheAlternativeOfItsSizes) {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(1, 1 << 20, 0, 0);
  const int x = plan.Input({n}), own = plan.Arena({n}), t = plan.Arena({n}),
            y = plan.Output({n});
  const auto add = [&](int from, int to) {
    Step* step = plan.AddStep({from}, {to});
    step->mutable_cuda_kernel()->set_symbol("twice");
    *step->mutable_cuda_kernel()->mutable_grid_x() = ToProto(n);
    step->mutable_cuda_kernel()->set_block_x(32);
    return step;
  };
  const auto add_way = [&](int from, int to, int number) {
    AlternativeProto* one = add(from, to)->mutable_alternative();
    one->set_group(1);
    one->set_number(number);
    if (number == 0) one->add_most(2);
  };
  add_way(x, own, 0);
  add_way(own, t, 0);
  add_way(x, t, 1);
  add(t, y);
  plan.plan.add_output_values(y);
  plan.plan.set_device("cuda");
  ASSERT_EQ(LoadPlan(plan.plan), absl::OkStatus());
  std::vector<float> few = {1, 2};
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE(Run(few, y_).ok());
    EXPECT_THAT(y_, ElementsAre(8, 16));
    ASSERT_TRUE(Run(x_, y_).ok());
    EXPECT_THAT(y_, ElementsAre(4, 8, 12));
  }
}

// Where a batch may be empty. The libraries refuse such sizes; a kernel before
// lets no other start early for a call that there is not.
TEST_F(CudaExecutableTest, ALibraryCallWithoutResultsDoesNothing) {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(0, 8, 0, 0), four(4), one(1);
  const int rows = plan.Input({n, four}), square = plan.Input({four, four}),
            images = plan.Input({n, four, one, one}),
            filter = plan.Input({four, four, one, one}), x = plan.Input({four}),
            products = plan.Output({n, four}),
            sums = plan.Output({n, four, one, one}), t = plan.Output({four}),
            y = plan.Output({four});
  const auto add_kernel = [&](int from, int to, bool waits) {
    CudaKernelLaunch* launch =
        plan.AddStep({from}, {to})->mutable_cuda_kernel();
    launch->set_symbol("four");
    *launch->mutable_grid_x() = ToProto(one);
    launch->set_block_x(32);
    launch->set_programmatic(waits);
  };
  plan.AddStep({rows, square}, {products})->mutable_matmul();
  add_kernel(x, t, /*waits=*/true);
  ConvolutionCall* convolution =
      plan.AddStep({images, filter}, {sums})->mutable_convolution();
  convolution->set_groups(1);
  for (int axis = 0; axis < 2; ++axis) {
    convolution->add_stride(1);
    convolution->add_padding_low(0);
    convolution->add_padding_high(0);
    convolution->add_dilation(1);
  }
  add_kernel(t, y, /*waits=*/false);
  for (int output : {products, sums, t, y}) plan.plan.add_output_values(output);
  plan.plan.set_device("cuda");
  std::vector<int32_t> next_waits;
  gpu.kernels["four"] = [&](void** parameters) -> FakeGpu::Work {
    next_waits.push_back(*static_cast<int32_t*>(parameters[3]));
    return [] {};
  };
  ASSERT_EQ(LoadPlan(plan.plan), absl::OkStatus());
  std::vector<float> none, many(16), few(4), results(4), last(4);
  for (int call = 0; call < 2; ++call) {
    std::vector<RegionValue> outputs{View(none, {0, 4}),
                                     View(none, {0, 4, 1, 1}),
                                     View(results, {4}), View(last, {4})};
    const absl::Status status = executable_->Run(
        {View(none, {0, 4}), View(many, {4, 4}), View(none, {0, 4, 1, 1}),
         View(many, {4, 4, 1, 1}), View(few, {4})},
        absl::MakeSpan(outputs), nullptr);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_THAT(next_waits, testing::Each(0));
  EXPECT_EQ(next_waits.size(), 4u);  // two of them into a graph
}

// FourTimes with kernels that wait by themselves, or do not, and, before each
// of them, one whose grid has no blocks.
ExecutablePlan FourTimesWaiting(bool first_waits, bool second_waits) {
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
    auto loaded = CudaExecutable::Load(
        FakeDevice(), FourTimesWaiting(first_waits, second_waits), {"cubin"},
        {}, {}, options);
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
  std::vector<CUstream> streams;  // streams of launches of kernels and graphs
  int waits = 0, allocations = 0, copies = 0, relaxations = 0;
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
  const auto ask = +[](CUevent) {
    ++asked.waits;
    return CUDA_SUCCESS;
  };
  const auto wait_for_event = +[](CUstream, CUevent, unsigned) {
    ++asked.waits;
    return CUDA_SUCCESS;
  };
  const auto relax = +[](CUstreamCaptureMode*) {
    ++asked.relaxations;
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
       {"cuEventQuery", reinterpret_cast<void*>(ask)},
       {"cuStreamWaitEvent", reinterpret_cast<void*>(wait_for_event)},
       {"cuThreadExchangeStreamCaptureMode", reinterpret_cast<void*>(relax)},
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
    EXPECT_EQ(asked.relaxations, 0);
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

// As for the bodies of loops whose values grow.
TEST_F(CudaExecutableTest, KeepsAGraphForEachOfManySmallSizes) {
  ASSERT_TRUE(Load().ok());
  for (int round = 0; round < 4; ++round) {
    for (size_t size = 1; size <= 40; ++size) {
      x_.assign(size, 1.0f);
      ASSERT_TRUE(Run(x_, y_).ok());
      EXPECT_THAT(y_, testing::Each(4.0f));
    }
  }
  EXPECT_EQ(gpu.recorded, 2 * 40);
}

// Small ones that were kept make no room for more large ones than otherwise.
TEST_F(CudaExecutableTest, KeepsFewLargeSizesAfterManySmallOnes) {
  gpu.memory = size_t{256} << 20;
  ASSERT_TRUE(Load().ok());
  for (size_t size = 1; size <= 40; ++size) {
    x_.assign(size, 1.0f);
    ASSERT_TRUE(Run(x_, y_).ok());
  }
  for (size_t i = 0; i < 30; ++i) {
    x_.assign((size_t{1} << 20) - i, 1.0f);
    for (int call = 0; call < 2; ++call)
      ASSERT_TRUE(Run(x_, y_).ok()) << i << ": " << (gpu.used >> 20) << " MiB";
  }
  EXPECT_EQ(y_.back(), 4.0f);
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

TEST_F(CudaExecutableTest, CountsTheWeightsThatCallsRead) {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(1, 1 << 20, 0, 0), four(4);
  plan.Input({n});
  const int read = plan.Constant(0, {four}), unread = plan.Constant(1, {four}),
            p = plan.Persistent({four}), y = plan.Output({four});
  const auto add = [&](int from, int to, bool at_load) {
    CudaKernelLaunch* launch =
        plan.AddStep({from}, {to}, at_load)->mutable_cuda_kernel();
    launch->set_symbol("twice");
    *launch->mutable_grid_x() = ToProto(SizeExpression(1));
    launch->set_block_x(32);
  };
  add(unread, p, /*at_load=*/true);
  add(read, y, /*at_load=*/false);
  plan.plan.add_output_values(y);
  plan.plan.set_device("cuda");
  std::vector<float> values(4, 1.0f);
  std::vector<ConstantTensor> constants(2);
  for (ConstantTensor& constant : constants) constant.view = View(values, {4});
  auto loaded = CudaExecutable::Load(FakeDevice(), plan.plan, {"cubin"},
                                     std::move(constants), {}, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->Memory().weights, 16);
  EXPECT_EQ((*loaded)->MemoryInBytes(), static_cast<int64_t>(gpu.used));
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

// Which the driver would refuse with a text that names nothing.
TEST_F(CudaExecutableTest, TooManyBlocksOfAnAxisAreAnErrorThatNamesIt) {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(1, 1 << 20, 0, 0);
  const int x = plan.Input({n}), y = plan.Output({n});
  CudaKernelLaunch* launch = plan.AddStep({x}, {y})->mutable_cuda_kernel();
  launch->set_symbol("twice");
  *launch->mutable_grid_x() = ToProto(n);
  *launch->mutable_grid_y() = ToProto(n);
  launch->set_block_x(32);
  plan.plan.add_output_values(y);
  plan.plan.set_device("cuda");
  ASSERT_EQ(LoadPlan(plan.plan), absl::OkStatus());
  x_.assign(65535, 1);
  EXPECT_EQ(Run(x_, y_), absl::OkStatus());
  x_.assign(65536, 1);
  EXPECT_THAT(std::string(Run(x_, y_).message()),
              HasSubstr("axis y of its grid would have 65536 blocks for these "
                        "inputs; 65535 are possible"));
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
