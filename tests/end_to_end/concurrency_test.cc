// One compiled model, many callers.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <thread>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/model_inputs.h"
#include "frontend/torchscript/model.h"
#include "gtest/gtest.h"

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
  frontend::InputChoice choice;
  choice.specs = {"float32[1..8,16]", "float32[24,16]"};
  auto inputs = frontend::ChooseInputs(*model, choice);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  frontend::BuildOptions options;
  options.compile.measureCandidates = false;
  auto compiled = CompiledModel::Build(*model, *inputs, options);
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

}  // namespace
}  // namespace aitune
