// The FLOPs of a plan's contractions are those that are counted in the trace.
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "runtime/plan/plan.h"

namespace aitune::frontend {
namespace {

// Of every kind: a convolution, matmuls with operations that follow them, a
// batch of matmuls, and attention. x is float32[n,3,8,8].
constexpr char kContractions[] = R"(
def forward(self, x: Tensor):
    f = torch.sin(torch.arange(216, dtype=6)).view([8, 3, 3, 3])
    y = torch.relu(torch.conv2d(x, f, None, [1, 1], [1, 1]))
    t = y.flatten(2).transpose(1, 2)
    w = torch.sin(torch.arange(128, dtype=6)).view([16, 8])
    q = torch.gelu(torch.linear(t, w))
    k = torch.tanh(torch.matmul(t, w.transpose(0, 1)))
    a = torch.scaled_dot_product_attention(q, k, k)
    return torch.matmul(a, a.transpose(1, 2)) * 0.5
)";

TEST(PlanFlops, AreThoseOfTheTrace) {
  const Model model = ModelOf(kContractions);
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec("float32[1..4,3,8,8]")};
  BuildOptions options;
  options.compile.measureCandidates = false;
  auto built = CompiledModel::Build(model, inputs, options);
  ASSERT_TRUE(built.ok()) << built.status();
  const BuildReport& report = (*built)->report();
  ASSERT_TRUE(report.coverage.fallbacks.empty());
  const ExecutablePlan& plan = (*built)->plan();
  // Coverage counts at the largest sizes.
  ASSERT_EQ(plan.symbols_size(), 1);
  double contractions = 0;
  for (const Step& step : plan.steps())
    if (step.kind() != "loop" && step.has_flops())
      contractions += static_cast<double>(
          FromProto(step.flops(), 1)->Evaluate({plan.symbols(0).max()}));
  EXPECT_EQ(contractions, report.coverage.flops);
}

}  // namespace
}  // namespace aitune::frontend
