// Quantised models against eager: what their layers become, their outputs, and
// that the cache tells them from others.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <limits>
#include <map>
#include <string>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

absl::StatusOr<std::unique_ptr<CompiledModel>> BuildQuantized(
    const Model& model, const std::string& spec,
    const std::string& quantization, bool may_quantize_none = false) {
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec(spec)};
  BuildOptions options;
  options.compile.measureCandidates = false;
  options.compile.quantization = quantization;
  options.compile.mayQuantizeNone = may_quantize_none;
  return CompiledModel::Build(model, inputs, options);
}

// torch.nn.Linear with this weight and bias.
Model OneLayer(const at::Tensor& weight, const at::Tensor& bias) {
  torch::jit::Module module(kLinearClass);
  module.register_parameter("weight", weight, false);
  module.register_parameter("bias", bias, false);
  module.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.linear(x, self.weight, self.bias)\n");
  module.eval();
  return *Model::FromModule(std::move(module));
}

TEST(QuantizedModel, OutputsAreNearEager) {
  for (const DataType dtype :
       {DataType::kFloat32, DataType::kBFloat16, DataType::kFloat16}) {
    const Model model = TwoLayers(dtype);
    const std::string spec = std::string(Name(dtype)) + "[1..9,96]";
    for (const char* scheme : {"int8wo", "int8dq", "fp8wo"}) {
      SCOPED_TRACE(spec + " " + scheme);
      auto built = BuildQuantized(model, spec, scheme);
      ASSERT_TRUE(built.ok()) << built.status();
      ASSERT_EQ((*built)->report().quantized_layers.size(), 2u);
      for (const QuantizedLayer& layer : (*built)->report().quantized_layers)
        EXPECT_EQ(layer.refusal, "") << layer.layer;
      EXPECT_EQ((*built)->report().quantized_layers[1].layer, "second");
      for (const int64_t rows : {1, 5, 9}) {
        const at::Tensor x = at::randn({rows, 96}).to(ToScalarType(dtype));
        const auto ours = (*built)->Run(ValueList({x})),
                   eager = model.RunEager(ValueList({x}));
        ASSERT_TRUE(ours.ok() && eager.ok()) << ours.status();
        EXPECT_GT(CosineOf(ours->toTensor(), eager->toTensor()), 0.999);
      }
    }
  }
}

// They are counted, so that "1 of 5" says what is in 8 bits.
TEST(QuantizedModel, LayersThatLibTorchRunsAreListed) {
  torch::jit::Module module("Layers");
  for (const char* name : {"a", "b", "c", "d"}) {
    torch::jit::Module layer(kLinearClass);
    layer.register_parameter("weight", at::randn({64, 64}), false);
    layer.define(
        "def forward(self, x: Tensor):\n"
        "  return torch.linear(x, self.weight)\n");
    module.register_module(name, layer);
  }
  module.define(
      "def forward(self, x: Tensor):\n"
      "  y = self.d.forward(self.a.forward(x))\n"
      "  if bool(y.sum() > 0):\n    y = self.b.forward(self.d.forward(y))\n"
      "  return self.c.forward(y[y[:, 0] > 0]).sum()\n");
  module.eval();
  const auto built = BuildQuantized(*Model::FromModule(std::move(module)),
                                    "float32[5,64]", "int8wo");
  ASSERT_TRUE(built.ok()) << built.status();
  std::map<std::string, std::string> refusals;  // the first of each
  for (const QuantizedLayer& layer : (*built)->report().quantized_layers)
    refusals.emplace(layer.layer, layer.refusal);
  EXPECT_EQ((*built)->report().quantized_layers.size(), 5u);
  // All uses of a layer are quantised alike or not at all.
  EXPECT_THAT(refusals["d"],
              StartsWith("used elsewhere: LibTorch runs another use of it: its "
                         "condition"));
  EXPECT_EQ(refusals["a"], "");
  EXPECT_THAT(refusals["b"], StartsWith("LibTorch runs it: its condition"));
  EXPECT_THAT(refusals["c"], StartsWith("LibTorch runs it: it depends on"));
}

// A module of one class, with the method `forward`.
torch::jit::Module Define(const std::string& name, const at::Tensor& weight,
                          const std::string& forward) {
  torch::jit::Module module(name);
  if (weight.defined()) module.register_parameter("weight", weight, false);
  module.define("def forward(self, x: Tensor):\n" + forward);
  return module;
}

// A table and three layers, two of which have its elements as their weight; one
// of these is of a class of its user. `adapted` adds to the third's weight.
Model TiedLayers() {
  const at::Tensor tied = at::randn({64, 64});
  const std::string linear = "  return torch.linear(x, self.weight)\n";
  torch::jit::Module module("__torch__.Net");
  module.register_module(
      "table", Define("__torch__.torch.nn.modules.sparse.Embedding", tied,
                      "  return torch.embedding(self.weight, x.to(4))\n"));
  module.register_module(
      "own", Define("__torch__.MyLinear", at::randn({64, 64}), linear));
  module.register_module("adapted",
                         Define(kLinearClass, at::randn({64, 64}), linear));
  module.register_module("head", Define(kLinearClass, tied, linear));
  module.register_parameter("low", at::randn({64, 1}), false);
  module.define(
      "def forward(self, x: Tensor):\n"
      "  x = self.own.forward(x) + self.table.forward(x[:, 0].clamp(0, 9))\n"
      "  x = torch.linear(x, self.adapted.weight + self.low)\n"
      "  return self.head.forward(x)\n");
  module.eval();
  return *Model::FromModule(std::move(module));
}

std::map<std::string, std::string> Refusals(const std::string& quantization) {
  std::map<std::string, std::string> refusals;
  const auto built =
      BuildQuantized(TiedLayers(), "float32[5,64]", quantization);
  EXPECT_TRUE(built.ok()) << built.status();
  if (!built.ok()) return refusals;
  for (const QuantizedLayer& layer : (*built)->report().quantized_layers)
    refusals.emplace(layer.layer, layer.refusal);
  return refusals;
}

TEST(QuantizedModel, LayersAreThoseOfTorchsLinearByTheirOwnPaths) {
  EXPECT_THAT(
      Refusals("int8wo"),
      ElementsAre(Pair("head", ""),
                  Pair("own",
                       "filtered: its module is of __torch__.MyLinear, not of "
                       "torch.nn.Linear"),
                  Pair("the model's forward",
                       "filtered: its module is of __torch__.Net, not of "
                       "torch.nn.Linear")));
  EXPECT_THAT(Refusals("int8wo,extended_layers=on"),
              ElementsAre(Pair("head", ""), Pair("own", ""),
                          Pair("the model's forward", "")));
  // By any of its names.
  for (const char* skipped : {"head", "table"}) {
    EXPECT_EQ(
        Refusals("int8wo,verdict=off,skip=" + std::string(skipped)).at("head"),
        "filtered: its path is one of '" + std::string(skipped) + "'");
  }
}

TEST(QuantizedModel, APatternThatIsOfNoLayerIsAnError) {
  EXPECT_EQ(BuildQuantized(TiedLayers(), "float32[5,64]", "int8wo,skip=heads")
                .status()
                .message(),
            "no layer is 'heads', a pattern of layers to leave alone: give the "
            "path of a module with a weight, such as adapted, head, own, "
            "table, or a pattern such as 'encoder.*'");
}

// A layer, y, in a model that counts its calls.
Model CountingLayer(const std::string& result) {
  torch::jit::Module module(kLinearClass);
  module.register_parameter("weight", at::randn({64, 64}), false);
  module.register_buffer("calls", at::zeros({1}));
  module.define(
      "def forward(self, x: Tensor):\n"
      "  self.calls.add_(1)\n"
      "  y = torch.linear(x, self.weight)\n"
      "  return " +
      result + "\n");
  module.eval();
  return *Model::FromModule(std::move(module));
}

TEST(QuantizedModel, AModelThatLibTorchRunsWholeSaysSo) {
  const auto built =
      BuildQuantized(CountingLayer("y, self.calls"), "float32[5,64]", "int8wo");
  EXPECT_THAT(std::string(built.status().message()),
              HasSubstr("No layer of the model can be quantised, as LibTorch "
                        "runs it whole: the model returns its own tensor, "
                        "which calls write"));
}

TEST(QuantizedModel, AModelThatCountsItsCallsIsQuantised) {
  const Model model = CountingLayer("y * self.calls");
  const auto built = BuildQuantized(model, "float32[5,64]", "int8wo");
  ASSERT_TRUE(built.ok()) << built.status();
  const ValueList arguments({at::randn({5, 64})});
  const at::Tensor first = (*built)->Run(arguments)->toTensor();
  EXPECT_TRUE((*built)->Run(arguments)->toTensor().equal(first * 2));
}

TEST(QuantizedModel, ATokenWithNanIsTheOnlyOneThatIsLost) {
  const Model model = TwoLayers(DataType::kFloat32);
  auto built = BuildQuantized(model, "float32[3,96]", "int8dq");
  ASSERT_TRUE(built.ok()) << built.status();
  at::Tensor x = at::randn({3, 96});
  const auto clean = (*built)->Run(ValueList({x}));
  x = x.clone();
  x[1][5] = std::numeric_limits<float>::quiet_NaN();
  const auto ours = (*built)->Run(ValueList({x}));
  ASSERT_TRUE(clean.ok() && ours.ok()) << ours.status();
  EXPECT_FALSE(ours->toTensor()[1].isfinite().any().item<bool>());
  for (const int64_t row : {0, 2})
    EXPECT_TRUE(ours->toTensor()[row].equal(clean->toTensor()[row]));
}

// What torchao gives at the edges, and where we differ (quant/README.md).
TEST(QuantizedModel, TokensOfAnyShapeAreRows) {
  const Model model = TwoLayers(DataType::kFloat32);
  for (const char* scheme : {"int8wo", "int8dq", "fp8wo"}) {
    SCOPED_TRACE(scheme);
    auto built = BuildQuantized(model, "float32[6,96]", scheme);
    ASSERT_TRUE(built.ok()) << built.status();
    // Not contiguous.
    const at::Tensor x = at::randn({96, 6}).t();
    const at::Tensor rows = (*built)->Run(ValueList({x}))->toTensor();
    for (const auto& [spec, given] :
         {std::pair("float32[96]", x[4]),
          std::pair("float32[2,3,96]", x.reshape({2, 3, 96}))}) {
      auto other = BuildQuantized(model, spec, scheme);
      ASSERT_TRUE(other.ok()) << spec << other.status();
      const auto ours = (*other)->Run(ValueList({given}));
      ASSERT_TRUE(ours.ok()) << ours.status();
      const at::Tensor expected = given.dim() == 1 ? rows[4] : rows;
      EXPECT_TRUE(at::allclose(ours->toTensor().reshape(expected.sizes()),
                               expected, 1e-4, 1e-4))
          << spec;
    }
  }
}

// What a product reads without a copy is copied before its codes are made.
TEST(QuantizedModel, TokensThatDoNotLieInRows) {
  torch::jit::Module module(kLinearClass);
  module.register_parameter("weight", at::randn({48, 96}), false);
  module.register_parameter("bias", at::randn({48}), false);
  module.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.linear(x.transpose(1, 2), self.weight, self.bias)\n");
  module.eval();
  const Model model = *Model::FromModule(std::move(module));
  const at::Tensor x = at::randn({2, 96, 5});
  const at::Tensor eager = model.RunEager(ValueList({x}))->toTensor();
  for (const char* scheme : {"int8wo", "int8dq", "fp8wo"}) {
    SCOPED_TRACE(scheme);
    auto built = BuildQuantized(model, "float32[2,96,5]", scheme);
    ASSERT_TRUE(built.ok()) << built.status();
    ASSERT_EQ((*built)->report().quantized_layers.size(), 1u);
    EXPECT_EQ((*built)->report().quantized_layers[0].refusal, "");
    EXPECT_GT(CosineOf((*built)->Run(ValueList({x}))->toTensor(), eager),
              0.999);
  }
}

TEST(QuantizedModel, NoTokensGiveNoResults) {
  const Model model = TwoLayers(DataType::kFloat32);
  for (const char* scheme : {"int8wo", "int8dq", "fp8wo"}) {
    auto built = BuildQuantized(model, "float32[0..9,96]", scheme);
    ASSERT_TRUE(built.ok()) << scheme << built.status();
    const auto ours = (*built)->Run(ValueList({at::randn({0, 96})}));
    ASSERT_TRUE(ours.ok()) << scheme << ours.status();
    EXPECT_EQ(ours->toTensor().sizes(), (std::vector<int64_t>{0, 40}));
  }
}

// There is nothing to measure an error with.
TEST(QuantizedModel, ASampleOfNoTokensRefusesNoLayer) {
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec("float32[0,96]")};
  inputs.samples = ValueList({at::randn({0, 96})});
  BuildOptions options;
  options.compile.measureCandidates = false;
  options.compile.quantization = "int8dq";
  const auto built =
      CompiledModel::Build(TwoLayers(DataType::kFloat32), inputs, options);
  ASSERT_TRUE(built.ok()) << built.status();
  for (const QuantizedLayer& layer : (*built)->report().quantized_layers)
    EXPECT_EQ(layer.refusal, "") << layer.layer;
}

TEST(QuantizedModel, ATokenOfZerosAndRowsOfZerosGiveTheBias) {
  at::Tensor weight = at::randn({20, 32});
  weight[3].zero_();
  const at::Tensor bias = at::randn({20});
  const Model model = OneLayer(weight, bias);
  at::Tensor x = at::randn({4, 32});
  x[2].zero_();
  for (const char* scheme : {"int8wo", "int8dq", "fp8wo"}) {
    SCOPED_TRACE(scheme);
    auto built = BuildQuantized(model, "float32[4,32]", scheme);
    ASSERT_TRUE(built.ok()) << built.status();
    const auto ours = (*built)->Run(ValueList({x}));
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(ours->toTensor()[2].equal(bias));
    EXPECT_TRUE(ours->toTensor().select(1, 3).equal(bias[3].expand({4})));
  }
}

TEST(QuantizedModel, AnInfinityStaysInItsRow) {
  const Model model = OneLayer(at::randn({20, 32}), at::randn({20}));
  at::Tensor x = at::randn({3, 32});
  x[1][5] = std::numeric_limits<float>::infinity();
  for (const char* scheme : {"int8wo", "int8dq", "fp8wo"}) {
    SCOPED_TRACE(scheme);
    auto built = BuildQuantized(model, "float32[3,32]", scheme);
    ASSERT_TRUE(built.ok()) << built.status();
    const auto ours = (*built)->Run(ValueList({x}));
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_FALSE(ours->toTensor()[1].isfinite().any().item<bool>());
    EXPECT_TRUE(ours->toTensor()[0].isfinite().all().item<bool>());
    EXPECT_TRUE(ours->toTensor()[2].isfinite().all().item<bool>());
  }
}

TEST(QuantizedModel, LayersThatCannotBeQuantizedSayWhy) {
  at::Tensor weight = at::randn({20, 32});
  weight[3][7] = std::numeric_limits<float>::quiet_NaN();
  const auto refusal = [](const Model& model, const char* spec) {
    auto built = BuildQuantized(model, spec, "int8wo,verdict=off");
    if (!built.ok()) return std::string(built.status().message());
    const auto& layers = (*built)->report().quantized_layers;
    return layers.size() == 1 ? layers[0].refusal : "not looked at";
  };
  EXPECT_THAT(refusal(OneLayer(weight, at::randn({20})), "float32[3,32]"),
              StartsWith("not finite: "));
  EXPECT_THAT(
      refusal(OneLayer(at::randn({20, 1}), at::randn({20})), "float32[3,1]"),
      StartsWith("shape: "));
}

TEST(QuantizedModel, AModelWithoutLinearLayers) {
  torch::jit::Module module("Plain");
  module.define("def forward(self, x: Tensor):\n    return torch.relu(x)\n");
  module.eval();
  const Model model = *Model::FromModule(std::move(module));
  EXPECT_THAT(
      std::string(
          BuildQuantized(model, "float32[3,8]", "int8wo").status().message()),
      HasSubstr("No layer of the model can be quantised with int8wo: it has no "
                "linear layer"));
  // Whoever asks for torchao's choice gets the model as it is, as there.
  const auto plain =
      BuildQuantized(model, "float32[3,8]", "int8wo,verdict=off");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE((*plain)->report().quantized_layers.empty());
}

TEST(QuantizedModel, ALayerIsTimedAndLeftAloneIfItIsNotFaster) {
  const Model model = TwoLayers(DataType::kFloat32);
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec("float32[1..512,96]")};
  BuildOptions options;
  options.compile.quantization = "auto";
  const auto built = CompiledModel::Build(model, inputs, options);
  if (!built.ok()) {
    // None is faster on this machine, which is said.
    EXPECT_THAT(std::string(built.status().message()),
                HasSubstr("No layer of the model can be quantised with any "
                          "scheme: 2 refused (2 slower)"));
    return;
  }
  for (const QuantizedLayer& layer : (*built)->report().quantized_layers) {
    EXPECT_GT(layer.microseconds, 0) << layer.layer;
    if (layer.refusal.empty()) {
      EXPECT_LT(layer.quantizedMicroseconds, layer.microseconds);
    } else {
      EXPECT_THAT(layer.refusal, AnyOf(StartsWith("slower: "),
                                       StartsWith("not surely faster: ")));
    }
  }
}

TEST(QuantizedModel, TheErrorOfEachLayerIsMeasuredOnTheSamples) {
  const Model model = TwoLayers(DataType::kBFloat16);
  auto built = BuildQuantized(model, "bfloat16[1..9,96]", "int8dq");
  ASSERT_TRUE(built.ok()) << built.status();
  for (const QuantizedLayer& layer : (*built)->report().quantized_layers) {
    EXPECT_GT(layer.sqnr, 30) << layer.layer;
    EXPECT_LE(layer.lowSqnr, layer.sqnr) << layer.layer;
  }
  // Channels that are 1000 times as large leave no codes for the others.
  at::Tensor x = at::randn({9, 96}).to(at::kBFloat16);
  x.slice(1, 0, 2).mul_(1000);
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec("bfloat16[9,96]")};
  inputs.samples = ValueList({x});
  BuildOptions options;
  options.compile.measureCandidates = false;
  options.compile.quantization = "int8dq";
  const at::Tensor weight = at::randn({64, 96}).to(at::kBFloat16);
  weight.slice(1, 0, 2).zero_();
  const Model layer = OneLayer(weight, at::randn({64}).to(at::kBFloat16));
  const auto refused = CompiledModel::Build(layer, inputs, options);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("1 refused (1 inaccurate)"));
}

// What is asked of the cosine decides which layers are left alone.
TEST(QuantizedModel, LayersThatSpoilTheModelAreDropped) {
  const Model model = TwoLayers(DataType::kFloat32);
  const ValueList x({at::randn({9, 96})});
  const auto cosine = [&](const CompiledModel& built) {
    return CosineOf(built.Run(x)->toTensor(), model.RunEager(x)->toTensor());
  };
  auto loose = BuildQuantized(model, "float32[9,96]", "fp8wo,min_cosine=0.9");
  ASSERT_TRUE(loose.ok()) << loose.status();
  const double before = cosine(**loose);
  const auto kept = (*loose)->Repair(x);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_FALSE(*kept);  // near enough
  // A tenth less error than there is.
  const double bound = 1 - 0.9 * (1 - before);
  auto built =
      BuildQuantized(model, "float32[9,96]",
                     "fp8wo,min_cosine=" + std::to_string(bound).substr(0, 8));
  ASSERT_TRUE(built.ok()) << built.status();
  const auto changed = (*built)->Repair(x);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
  int dropped = 0;
  for (const QuantizedLayer& layer : (*built)->report().quantized_layers)
    dropped += layer.refusal.rfind("dropped: ", 0) == 0;
  EXPECT_EQ(dropped, 1);
  EXPECT_GT(cosine(**built), bound);
}

TEST(QuantizedModel, ABoundThatCannotBeMetIsAnError) {
  const Model model = TwoLayers(DataType::kFloat32);
  auto built = BuildQuantized(model, "float32[9,96]", "fp8wo,min_cosine=1");
  ASSERT_TRUE(built.ok()) << built.status();
  const auto changed = (*built)->Repair(ValueList({at::randn({9, 96})}));
  EXPECT_EQ(changed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(changed.status().message()),
              HasSubstr("No layer of the model can be quantised with fp8wo: 2 "
                        "refused (2 dropped); verdict=off quantises them all "
                        "the same: "));
}

// The verdict of other sizes may differ from that of those a model is tuned
// for.
TEST(QuantizedModel, AFurtherVersionMayHaveNoQuantisedLayer) {
  const Model model = TwoLayers(DataType::kFloat32);
  EXPECT_EQ(
      BuildQuantized(model, "float32[3,96]", "int8wo,skip=*").status().code(),
      absl::StatusCode::kFailedPrecondition);
  const auto built = BuildQuantized(model, "float32[3,96]", "int8wo,skip=*",
                                    /*may_quantize_none=*/true);
  ASSERT_TRUE(built.ok()) << built.status();
  for (const QuantizedLayer& layer : (*built)->report().quantized_layers)
    EXPECT_FALSE(layer.refusal.empty());
  const ValueList arguments({at::randn({3, 96})});
  ExpectClose(*(*built)->Run(arguments), *model.RunEager(arguments), 1e-4);
}

TEST(QuantizedModel, WhatCannotBeDoneIsAnError) {
  const Model model = TwoLayers(DataType::kFloat32);
  auto error = [&](const char* quantization) {
    return std::string(BuildQuantized(model, "float32[3,96]", quantization)
                           .status()
                           .message());
  };
  EXPECT_THAT(error("int8wo,skip=*"),
              HasSubstr("No layer of the model can be quantised with int8wo: 2 "
                        "refused (2 filtered): "));
  EXPECT_EQ(error("int8wo,skip=*,verdict=off"), "");
  EXPECT_THAT(error("fp8wo,granularity=tensor"),
              HasSubstr("no kernels for one scale a tensor on a CPU"));
  EXPECT_EQ(error("fp8dq"),
            "Float8 dynamic quantization requires CUDA compute capability "
            "≥8.9 or MI300+ or XPU.");
  EXPECT_THAT(error("int9"), HasSubstr("Invalid quantization: int9"));
}

}  // namespace
}  // namespace aitune::frontend
