// An executable on the made-up GPU, for tests of what it asks of the driver.
#ifndef AITUNE_RUNTIME_CUDA_TESTING_CUDA_EXECUTABLE_FIXTURE_H_
#define AITUNE_RUNTIME_CUDA_TESTING_CUDA_EXECUTABLE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/cuda_executable.h"
#include "runtime/cuda/testing/fake_gpu.h"
#include "runtime/executable/test_plan.h"

namespace aitune::cuda {

inline FakeGpu& gpu = TheFakeGpu();

// What the kernel "twice" of a test does, and what its launches were given.
struct Twice {
  bool has_checks = false;          // it has, and refuses negative floats
  int64_t symbol = -1;              // the symbol that the last launch got
  std::vector<int32_t> next_waits;  // the last parameter of each launch
  bool is_misaligned = false;       // a launch got an address off 16 bytes
};
inline Twice twice;

// Doubles `symbol 0` floats.
inline FakeGpu::Work LaunchTwice(void** parameters) {
  const float* from = *static_cast<float**>(*parameters++);
  float* to = *static_cast<float**>(*parameters++);
  for (const float* data : {from, static_cast<const float*>(to)})
    twice.is_misaligned |= reinterpret_cast<uintptr_t>(data) % 16 != 0;
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
inline ExecutablePlan FourTimes() {
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

// FourTimes with "twice" of constant 0, 4 floats, as it is loaded.
inline ExecutablePlan FourTimesWithInitialization() {
  TestPlan plan;
  plan.plan = FourTimes();
  const int c = plan.Constant(0, {SizeExpression(4)}),
            p = plan.Persistent({SizeExpression(4)});
  CudaKernelLaunch* launch =
      plan.AddStep({c}, {p}, /*initialization=*/true)->mutable_cuda_kernel();
  launch->set_symbol("twice");
  *launch->mutable_grid_x() = ToProto(SizeExpression(1));
  launch->set_block_x(32);
  return plan.plan;
}

// A stream of each of several callers, by their numbers from 0 on.
inline CUstream StreamOf(int caller) {
  return reinterpret_cast<CUstream>(uintptr_t{64} * (caller + 1));
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
    return LoadPlan(FourTimes(), options);
  }

  absl::Status LoadPlan(const ExecutablePlan& plan,
                        const CudaExecutable::Options& options = {}) {
    auto loaded =
        CudaExecutable::Load(FakeDevice(), plan, {"cubin"}, {}, {}, options);
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

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_TESTING_CUDA_EXECUTABLE_FIXTURE_H_
