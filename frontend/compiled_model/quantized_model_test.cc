// Quantised models against eager: what their layers become, their outputs, and
// that the cache tells them from others.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<CompiledModel>> BuildQuantized(
    const Model& model, const std::string& spec,
    const std::string& quantization) {
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec(spec)};
  BuildOptions options;
  options.compile.measureCandidates = false;
  options.compile.quantization = quantization;
  return CompiledModel::Build(model, inputs, options);
}

TEST(QuantizedModel, OutputsAreNearEager) {
  for (const DataType dtype : {DataType::kFloat32, DataType::kBFloat16}) {
    const Model model = TwoLayers(dtype);
    const std::string spec = std::string(Name(dtype)) + "[1..9,96]";
    for (const char* scheme : {"int8wo", "int8dq"}) {
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

TEST(QuantizedModel, WhatCannotBeDoneIsAnError) {
  const Model model = TwoLayers(DataType::kFloat32);
  auto error = [&](const char* quantization) {
    return std::string(BuildQuantized(model, "float32[3,96]", quantization)
                           .status()
                           .message());
  };
  EXPECT_THAT(error("int8wo,skip=*"),
              HasSubstr("No layer of the model can be quantised with int8wo: 2 "
                        "refused (2 filtered)"));
  EXPECT_EQ(error("int8wo,skip=*,verdict=off"), "");
  EXPECT_THAT(error("fp8wo"), HasSubstr("fp8wo"));
  EXPECT_THAT(error("int9"), HasSubstr("Invalid quantization: int9"));
}

}  // namespace
}  // namespace aitune::frontend
