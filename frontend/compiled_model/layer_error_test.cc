// What builds say of the errors of quantised layers, beside what they give.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <cmath>
#include <string>
#include <vector>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

double DecibelsOf(const at::Tensor& ours, const at::Tensor& eager) {
  const auto energy = [](const at::Tensor& x) {
    return x.to(at::kDouble).square().sum().item<double>();
  };
  return 10 * std::log10(energy(eager) / energy(ours - eager));
}

// In decibels.
struct Errors {
  double said = 0;            // by the build
  std::vector<double> found;  // of each result
};

std::vector<at::Tensor> TensorsOf(const c10::IValue& results) {
  if (results.isTensor()) return {results.toTensor()};
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& result : results.toTupleRef().elements())
    tensors.push_back(result.toTensor());
  return tensors;
}

// The errors of a model with the layer `weight` whose forward has these lines.
Errors ErrorsOf(const at::Tensor& weight, const std::string& lines,
                const at::Tensor& x) {
  torch::jit::Module module("__torch__.torch.nn.modules.linear.Linear");
  module.register_parameter("weight", weight, false);
  module.define("def forward(self, x: Tensor):\n" + lines);
  module.eval();
  const Model model = *Model::FromModule(std::move(module));
  ModelInputs inputs;
  inputs.samples = ValueList({x});
  BuildOptions options;
  options.compile.measureCandidates = false;
  options.compile.quantization = "int8dq,verdict=off";
  const auto built = CompiledModel::Build(model, inputs, options);
  EXPECT_EQ(built.status(), absl::OkStatus());
  if (!built.ok() || (*built)->report().quantized_layers.empty()) return {};
  const auto ours = (*built)->Run(ValueList({x}));
  const auto eager = model.RunEager(ValueList({x}));
  EXPECT_TRUE(ours.ok() && eager.ok()) << ours.status();
  if (!ours.ok() || !eager.ok()) return {};
  Errors errors;
  errors.said = (*built)->report().quantized_layers[0].sqnr;
  const std::vector<at::Tensor> given = TensorsOf(*ours),
                                wanted = TensorsOf(*eager);
  for (size_t i = 0; i < given.size(); ++i)
    errors.found.push_back(DecibelsOf(given[i], wanted[i]));
  return errors;
}

TEST(LayerError, IsOfAllUsesOfALayer) {
  at::manual_seed(1);
  const Errors errors =
      ErrorsOf(at::randn({64, 64}),
               "  scale = torch.ones([64])\n  scale[3:6] = 150.0\n"
               "  return torch.linear(x, self.weight), "
               "torch.linear(x * scale, self.weight)\n",
               at::randn({100, 64}));
  ASSERT_EQ(errors.found.size(), 2u);
  EXPECT_GT(std::abs(errors.found[0] - errors.found[1]), 6);
  EXPECT_NEAR(errors.said, errors.found[1], 3) << "which is the larger one";
}

TEST(LayerError, IsOfLayersThatAreInterleaved) {
  at::manual_seed(2);
  at::Tensor weight = at::randn({512, 64});
  // Odd rows have one large weight, beside which the others are nearly lost,
  // and which meets an input that is nearly 0.
  weight.slice(0, 1, 512, 2).select(1, 0).fill_(1000);
  at::Tensor x = at::randn({100, 64});
  x.select(1, 0).fill_(1e-4);
  const Errors errors =
      ErrorsOf(weight, "  return torch.linear(x, self.weight)\n", x);
  ASSERT_EQ(errors.found.size(), 1u);
  EXPECT_NEAR(errors.said, errors.found[0], 3);
}

}  // namespace
}  // namespace aitune::frontend
