// Modules whose calls work in memory of the program's own allocator, in C++ and
// in C.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "frontend/api/aitune.h"
#include "frontend/api/c_api_fixture.h"
#include "frontend/api/module.h"
#include "frontend/api/module_fixture.h"
#include "frontend/values/torch_util.h"
#include "runtime/control/host_allocator.h"

namespace ait {
namespace {

using aitune::frontend::ValueList;

// Counts what it gives; every block must come back before it goes.
class CountingAllocator {
 public:
  ~CountingAllocator() { EXPECT_EQ(live(), 0u); }

  void* Allocate(int64_t bytes, int64_t alignment) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++requests_;
    EXPECT_GT(bytes, 0);
    EXPECT_GE(alignment, 64);
    EXPECT_EQ(alignment & (alignment - 1), 0) << "a power of two";
    if (refuses_) return nullptr;
    char* const block = static_cast<char*>(
        std::aligned_alloc(static_cast<size_t>(alignment),
                           static_cast<size_t>(bytes + alignment)));
    live_[block + shift_] = {block, bytes};
    return block + shift_;
  }

  void Release(void* memory, int64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = live_.find(static_cast<char*>(memory));
    ASSERT_NE(found, live_.end()) << "released twice, or never given";
    EXPECT_EQ(found->second.second, bytes);
    std::free(found->second.first);
    live_.erase(found);
  }

  aitune::HostAllocator Functions() {
    return {[this](int64_t bytes, int64_t alignment) {
              return Allocate(bytes, alignment);
            },
            [this](void* memory, int64_t bytes, int64_t /*alignment*/) {
              Release(memory, bytes);
            }};
  }

  bool Gave(const void* memory) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto* at = static_cast<const char*>(memory);
    auto after = live_.upper_bound(const_cast<char*>(at));
    if (after == live_.begin()) return false;
    --after;
    return at < after->first + after->second.second;
  }
  size_t live() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return live_.size();
  }
  int requests() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }

  std::atomic<bool> refuses_ = false;
  std::atomic<int64_t> shift_ = 0;  // of blocks, in bytes

 private:
  mutable std::mutex mutex_;
  std::map<char*, std::pair<void*, int64_t>> live_;
  int requests_ = 0;
};

// Two matrix products, so that there is an intermediate value.
constexpr char kProducts[] = R"(
def forward(self, x: Tensor):
    return torch.matmul(torch.relu(torch.matmul(x, x)), x)
)";

class AllocatorTest : public ModuleTest {
 protected:
  static at::Tensor Input(int64_t size = 64) {
    return at::randn({size, size}) / 16;
  }
  void Tune(Module& module, const at::Tensor& x) {
    ASSERT_TRUE(module.Record(ValueList({x})).ok());
    const absl::Status tuned =
        module.Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"));
    ASSERT_TRUE(tuned.ok()) << tuned;
  }
  // The result of a call, which must be the allocator's.
  at::Tensor Run(const Module& module, const at::Tensor& x,
                 const CountingAllocator& counting) {
    const auto result = module.Run(ValueList({x}));
    if (!result.ok()) {
      ADD_FAILURE() << result.status();
      return {};
    }
    EXPECT_TRUE(counting.Gave(result->toTensor().data_ptr()));
    aitune::frontend::ExpectClose(*result, *model_->RunEager(ValueList({x})));
    return result->toTensor();
  }
};

TEST_F(AllocatorTest, ResultsAndIntermediateValuesAreItsAndAllComesBack) {
  CountingAllocator counting;
  const at::Tensor x = Input();
  at::Tensor result;
  {
    auto module = Wrap(kProducts);
    Tune(*module, x);
    ExpectAgrees(*module, x);
    ASSERT_TRUE(module->SetAllocator(counting.Functions()).ok());
    EXPECT_EQ(counting.requests(), 0);
    EXPECT_EQ(module->Memory().arenas, 0) << "the system's was given back";
    result = Run(*module, x, counting);
    EXPECT_EQ(counting.live(), 2u) << "the result, and what is between";
    EXPECT_GE(module->Memory().arenas, x.nbytes());
    // Kept from call to call.
    const int requests = counting.requests();
    for (int i = 0; i < 3; ++i) result = Run(*module, x, counting);
    EXPECT_LE(counting.requests(), requests + 1)
        << "one more result, as the last one was held";
    module->FreeKeptMemory();
    EXPECT_EQ(counting.live(), 1u) << "the result";
  }
  // It outlives the module.
  EXPECT_EQ(counting.live(), 1u);
  aitune::frontend::ExpectClose(result, *model_->RunEager(ValueList({x})));
  result = at::Tensor();
  EXPECT_EQ(counting.live(), 0u);
}

TEST_F(AllocatorTest, LaterVersionsTuningsAndWeightsKeepIt) {
  torch::jit::Module net("__torch__.Net");
  net.register_parameter("weight", Input(), false);
  net.define(R"(
def forward(self, x: Tensor):
    return torch.matmul(torch.relu(torch.matmul(x, self.weight)), self.weight)
)");
  net.eval();
  model_ = std::make_shared<const aitune::frontend::Model>(
      *aitune::frontend::Model::FromModule(net));
  CountingAllocator counting;
  {
    const auto module = Module::Wrap(model_, {"net", folder_ / "cache"});
    // Before there is a backend: calls in eager are LibTorch's.
    ASSERT_TRUE(module->SetAllocator(counting.Functions()).ok());
    ExpectAgrees(*module, Input());
    EXPECT_EQ(counting.requests(), 0);
    Tune(*module, Input());
    EXPECT_EQ(counting.requests(), 0) << "the runs of a tuning";
    Run(*module, Input(), counting);
    // Of sizes that nothing was compiled for.
    Run(*module, at::randn({7, 64}), counting);
    EXPECT_GT(module->Usage().recompilations, 0);
    ASSERT_TRUE(module->SetMemoryLimit(int64_t{1} << 40).ok());
    const at::Tensor weight = Input();
    const std::map<std::string, aitune::TensorView> weights = {
        {"weight", aitune::frontend::ViewOf(weight)}};
    const absl::Status replaced = module->ReplaceWeights(weights);
    ASSERT_TRUE(replaced.ok()) << replaced;
    model_ = std::make_shared<const aitune::frontend::Model>(
        *model_->WithWeights(weights));
    Run(*module, Input(), counting);
    // So does the limit.
    ASSERT_TRUE(module->SetMemoryLimit(1).ok());
    ASSERT_TRUE(module->ReplaceWeights(weights).ok());
    EXPECT_TRUE(
        absl::IsResourceExhausted(module->Run(ValueList({Input()})).status()));
    ASSERT_TRUE(module->SetMemoryLimit(0).ok());
    // The system's again.
    ASSERT_TRUE(module->SetAllocator({}).ok());
    EXPECT_EQ(counting.live(), 0u);
    const int requests = counting.requests();
    ExpectAgrees(*module, Input());
    EXPECT_EQ(counting.requests(), requests);
  }
}

TEST_F(AllocatorTest, WithoutMemoryACallIsAnErrorAndTheNextOneRuns) {
  CountingAllocator counting;
  const at::Tensor x = Input();
  auto module = Wrap(kProducts);
  Tune(*module, x);
  ASSERT_TRUE(module->SetAllocator(counting.Functions()).ok());
  counting.refuses_ = true;
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = module->Run(ValueList({x})).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                testing::HasSubstr("the program's allocator gave no memory"));
  }
  counting.refuses_ = false;
  Run(*module, x, counting);
  module->FreeKeptMemory();
  counting.shift_ = 16;
  const absl::Status status = module->Run(ValueList({x})).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("aligned"));
  counting.shift_ = 0;
  Run(*module, x, counting);
  module.reset();
}

TEST_F(AllocatorTest, ServesCallsOfManyThreads) {
  CountingAllocator counting;
  const at::Tensor x = Input();
  auto module = Wrap(kProducts);
  Tune(*module, x);
  ASSERT_TRUE(module->SetAllocator(counting.Functions()).ok());
  const at::Tensor expected = model_->RunEager(ValueList({x}))->toTensor();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int call = 0; call < 50; ++call) {
        const auto result = module->Run(ValueList({x}));
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_TRUE(result->toTensor().allclose(expected, 1e-4, 1e-4));
        // While others call, and have what was the other's.
        if (thread == 0 && call % 10 == 5)
          ASSERT_TRUE(module
                          ->SetAllocator(call % 20 == 5
                                             ? aitune::HostAllocator()
                                             : counting.Functions())
                          .ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
  module.reset();
}

TEST_F(AllocatorTest, HasBothFunctionsAndIsForACpu) {
  CountingAllocator counting;
  const auto module = Wrap();
  aitune::HostAllocator half = counting.Functions();
  half.release = nullptr;
  EXPECT_EQ(std::string(module->SetAllocator(half).message()),
            "an allocator was given without the function that releases memory; "
            "give both, or none for the system's");
  half = {nullptr, counting.Functions().release};
  EXPECT_TRUE(absl::IsInvalidArgument(module->SetAllocator(half)));
  ModuleOptions options;
  options.device = "cuda";
  const auto on_gpu = Module::Wrap(model_, options);
  const absl::Status refused = on_gpu->SetAllocator(counting.Functions());
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              testing::HasSubstr("memory of the CPU"));
}

void* AllocateIn(void* user, size_t bytes, size_t alignment) {
  return static_cast<CountingAllocator*>(user)->Allocate(
      static_cast<int64_t>(bytes), static_cast<int64_t>(alignment));
}

void ReleaseIn(void* user, void* memory, size_t bytes, size_t /*alignment*/) {
  static_cast<CountingAllocator*>(user)->Release(memory,
                                                 static_cast<int64_t>(bytes));
}

TEST_F(CApi, MemoryIsOfTheCallersAllocator) {
  CountingAllocator counting;
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  ASSERT_EQ(
      Take(ait_module_set_allocator(module, AllocateIn, ReleaseIn, &counting)),
      "");
  const int64_t sizes[] = {2, 3};
  const float x[6] = {1, -2, 3, -4, 5, -6};
  const ait_tensor inputs[] = {Tensor(sizes, 2, x), Tensor(sizes, 2, x)};
  ait_result* result = nullptr;
  ASSERT_EQ(Take(ait_module_run(module, inputs, 2, &result)), "");
  const ait_tensor twice = OfResult(result, 1);
  EXPECT_TRUE(counting.Gave(twice.data));
  counting.refuses_ = true;
  ait_result* none = nullptr;
  ait_code code = AIT_OK;
  EXPECT_THAT(Take(ait_module_run(module, inputs, 2, &none), &code),
              HasSubstr("the program's allocator gave no memory"));
  EXPECT_EQ(code, AIT_RESOURCE_EXHAUSTED);
  EXPECT_EQ(none, nullptr);
  counting.refuses_ = false;
  ExpectRuns(module, 2);
  ait_module_free(module);
  EXPECT_GT(counting.live(), 0u);
  EXPECT_EQ(static_cast<float*>(twice.data)[4], 10);
  ait_result_free(result);
  EXPECT_EQ(counting.live(), 0u);
}

TEST_F(CApi, AnAllocatorIsBothFunctions) {
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  ait_code code = AIT_OK;
  EXPECT_THAT(
      Take(ait_module_set_allocator(module, AllocateIn, nullptr, nullptr),
           &code),
      HasSubstr("without the function that releases"));
  EXPECT_EQ(code, AIT_INVALID_ARGUMENT);
  EXPECT_EQ(Take(ait_module_set_allocator(module, nullptr, nullptr, nullptr)),
            "");
  EXPECT_NE(
      Take(ait_module_set_allocator(nullptr, AllocateIn, ReleaseIn, nullptr)),
      "");
  ait_module_free(module);
}

}  // namespace
}  // namespace ait
