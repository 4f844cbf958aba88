// The memory that modules hold and its limit, in C++ and in C.
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "frontend/api/aitune.h"
#include "frontend/api/c_api_fixture.h"
#include "frontend/api/module.h"
#include "frontend/api/module_fixture.h"
#include "runtime/executable/memory_use.h"

namespace ait {
namespace {

using aitune::MemoryUse;
using aitune::frontend::ValueList;

// Two matrix products, so that there is an intermediate value.
constexpr char kProducts[] = R"(
def forward(self, x: Tensor):
    return torch.matmul(torch.relu(torch.matmul(x, x)), x)
)";

class MemoryTest : public ModuleTest {
 protected:
  // Results above 1 MiB are kept. Scaled so that the products stay below 1, and
  // the order of their sums within the tolerance.
  static at::Tensor Input() { return at::randn({600, 600}) / 25; }

  std::unique_ptr<Module> Tuned(const at::Tensor& x) {
    auto module = Wrap(kProducts);
    EXPECT_TRUE(module->Record(ValueList({x})).ok());
    const absl::Status tuned =
        module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"));
    EXPECT_TRUE(tuned.ok()) << tuned;
    return module;
  }
};

TEST_F(MemoryTest, TellsWhatIsKeptAndGivesItBack) {
  const at::Tensor x = Input();
  const auto module = Tuned(x);
  ExpectAgrees(*module, x);
  const MemoryUse use = module->Memory();
  EXPECT_GE(use.arenas, 600 * 600 * 4);
  EXPECT_GE(use.results, 600 * 600 * 4);
  EXPECT_EQ(use.total(), use.model + use.weights + use.arenas + use.results);
  module->FreeKeptMemory();
  EXPECT_EQ(module->Memory().arenas, 0);
  EXPECT_EQ(module->Memory().results, 0);
  ExpectAgrees(*module, x);
}

TEST_F(MemoryTest, ALimitFreesWhatIsKeptAndThenRefusesCalls) {
  const at::Tensor x = Input();
  const auto module = Tuned(x);
  ExpectAgrees(*module, x);
  EXPECT_EQ(module->memory_limit(), 0);
  const int64_t arena = module->Memory().arenas;
  const MemoryUse use = module->Memory();
  // Enough for a call, not for what the last one left too.
  ASSERT_TRUE(module->SetMemoryLimit(use.total() - use.results).ok());
  for (int i = 0; i < 3; ++i) ExpectAgrees(*module, x);
  EXPECT_EQ(module->Memory().arenas, arena);
  ASSERT_TRUE(module->SetMemoryLimit(use.model + use.weights + arena / 2).ok());
  for (int i = 0; i < 2; ++i) {
    const absl::Status refused = module->Run(ValueList({x})).status();
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                testing::HasSubstr("for intermediate values"));
    EXPECT_LE(module->Memory().total(), module->memory_limit());
  }
  // A tuning keeps the limit; raised, calls run again.
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  EXPECT_FALSE(module->Run(ValueList({x})).ok());
  ASSERT_TRUE(module->SetMemoryLimit(0).ok());
  ExpectAgrees(*module, x);
  EXPECT_TRUE(absl::IsInvalidArgument(module->SetMemoryLimit(-1)));
}

TEST_F(CApi, MemoryIsToldAndLimited) {
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  ExpectRuns(module, 2);
  ASSERT_EQ(Take(ait_module_set_memory_limit(module, 1 << 20)), "");
  ait_memory memory = {sizeof memory, -1, -1, -1, -1, -1, -1};
  ASSERT_EQ(Take(ait_module_memory(module, &memory)), "");
  EXPECT_EQ(memory.model_bytes, 0);
  EXPECT_GE(memory.weight_bytes, 0);
  EXPECT_GE(memory.arena_bytes, 0);
  EXPECT_EQ(memory.result_bytes, 0);
  EXPECT_EQ(memory.graph_bytes, 0);
  EXPECT_EQ(memory.limit_bytes, 1 << 20);
  ExpectRuns(module, 2);
  EXPECT_EQ(Take(ait_module_free_kept_memory(module)), "");
  ExpectRuns(module, 2);
  EXPECT_THAT(Take(ait_module_set_memory_limit(module, -5)),
              HasSubstr("give 0 for no limit"));
  memory.struct_size = 8;
  EXPECT_THAT(Take(ait_module_memory(module, &memory)),
              HasSubstr("memory has the struct_size"));
  EXPECT_NE(Take(ait_module_memory(nullptr, &memory)), "");
  EXPECT_NE(Take(ait_module_set_memory_limit(nullptr, 0)), "");
  EXPECT_NE(Take(ait_module_free_kept_memory(nullptr)), "");
  ait_module_free(module);
}

}  // namespace
}  // namespace ait
