// One compiled model, many callers.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <thread>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

using frontend::CompiledModel;
using frontend::Model;
using frontend::ValueList;

TEST(Concurrency, CallersWithOwnSizesGetTheirOwnResults) {
  constexpr int kThreads = 6;
  constexpr int kCalls = 40;
  auto model = Model::FromSource(R"(
def forward(self, x: Tensor, w: Tensor):
    y = torch.softmax(torch.linear(x, w), -1)
    values, indices = torch.sort(y, -1)
    return values * 2.0 + x.sum(), y
)");
  ASSERT_TRUE(model.ok()) << model.status();
  auto compiled =
      CompileUnmeasured(*model, {"float32[1..8,16]", "float32[24,16]"});
  ASSERT_TRUE(compiled.ok()) << compiled.status();

  at::Tensor w = at::randn({24, 16});
  std::vector<ValueList> arguments;
  std::vector<c10::IValue> expected;
  for (int64_t n = 1; n <= 8; ++n) {
    arguments.push_back(ValueList({at::randn({n, 16}), w}));
    auto eager = model->RunEager(arguments.back());
    ASSERT_TRUE(eager.ok()) << eager.status();
    expected.push_back(*eager);
  }

  std::atomic<int> wrong{0}, failed{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < kThreads; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        const size_t which = (t + i) % arguments.size();
        auto result = (*compiled)->Run(arguments[which]);
        if (!result.ok()) {
          ++failed;
          continue;
        }
        for (int output : {0, 1}) {
          const auto& ours = result->toTupleRef().elements()[output].toTensor();
          const auto& eager =
              expected[which].toTupleRef().elements()[output].toTensor();
          wrong += !at::allclose(ours, eager, 1e-4, 1e-5);
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(wrong, 0);
}

TEST(Concurrency, LargeResultsAreTheCallersUntilTheyGo) {
  auto model = Model::FromSource(R"(
def forward(self, x: Tensor):
    return x + 1.0, (x * 2.0).sum(), x * 3.0
)");
  ASSERT_TRUE(model.ok()) << model.status();
  auto compiled = CompileUnmeasured(*model, {"float32[1..1024,1024]"});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto run = [&](float value, int output) {
    auto result = (*compiled)->Run(ValueList({at::full({1024, 1024}, value)}));
    EXPECT_TRUE(result.ok()) << result.status();
    return result->toTupleRef().elements()[output].toTensor();
  };

  at::Tensor first = run(1, 0), second = run(2, 0), other = run(3, 2);
  EXPECT_TRUE(first.eq(2).all().item<bool>());
  EXPECT_TRUE(second.eq(3).all().item<bool>());
  EXPECT_TRUE(other.eq(9).all().item<bool>());

  // The memory of a result that goes is the next call's, also where another
  // result of its call is still there, or a view held it.
  const void* const memory = second.data_ptr();
  const at::Tensor view = second.slice(0, 1, 2);
  second = at::Tensor();
  EXPECT_NE(run(4, 0).data_ptr(), memory);
  EXPECT_TRUE(view.eq(3).all().item<bool>());
  const int64_t bytes = (*compiled)->MemoryInBytes();
  other = at::Tensor();
  EXPECT_GE((*compiled)->MemoryInBytes(), bytes);

  compiled->reset();
  EXPECT_TRUE(first.eq(2).all().item<bool>());
  first.add_(1);
  EXPECT_TRUE(first.eq(3).all().item<bool>());
}

TEST(Concurrency, CallersHoldLargeResultsWhileOthersAreComputed) {
  constexpr int kThreads = 4;
  auto model = Model::FromSource(R"(
def forward(self, x: Tensor):
    return x + 1.0
)");
  ASSERT_TRUE(model.ok()) << model.status();
  auto compiled = CompileUnmeasured(*model, {"float32[1024,512]"});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < kThreads; ++t) {
    callers.emplace_back([&, t] {
      const ValueList arguments({at::full({1024, 512}, float(t))});
      at::Tensor held;
      for (int i = 0; i < 30; ++i) {
        auto result = (*compiled)->Run(arguments);
        const bool is_right =
            result.ok() && result->toTensor().eq(t + 1).all().item<bool>() &&
            (!held.defined() || held.eq(t + 1).all().item<bool>());
        wrong += !is_right;
        if (result.ok() && i % 2 == 0) held = result->toTensor();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace aitune
