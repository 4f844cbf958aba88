// TorchCudaGraphsBackend on a CPU, and the versions that it records on a GPU.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <set>
#include <string>
#include <vector>

#include "frontend/backends/cudagraphs/cudagraphs_config.h"
#include "frontend/compiled_model/cache_key.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/backends.h"
#include "runtime/backend/registry.h"
#include "runtime/control/control.h"
#include "runtime/logging/logging.h"

namespace aitune::frontend {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kName[] = "TorchCudaGraphsBackend";
constexpr char kCounter[] = R"(
def forward(self, x: Tensor):
    self.count.add_(1)
    return x * self.count
)";

TEST(TorchCudaGraphsBackendConfigTest, HasAutocastAlone) {
  TorchCudaGraphsBackendConfig config;
  EXPECT_EQ(config.Describe(), "");
  config.autocast_enabled = true;
  config.autocast_dtype = DataType::kBFloat16;
  EXPECT_EQ(config.Describe(),
            "autocast_enabled=True,autocast_dtype=torch.bfloat16");
  const auto read = TorchCudaGraphsBackendConfig::FromDict(config.ToDict());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Key(), config.Key());
  EXPECT_NE(read->Key(), TorchCudaGraphsBackendConfig().Key());
}

TEST(TorchCudaGraphsBackendConfigTest, WhatItHasNotIsRefusedByName) {
  EXPECT_EQ(
      std::string(TorchCudaGraphsBackendConfig::FromDict({{"mode", "default"}})
                      .status()
                      .message()),
      "TorchCudaGraphsBackendConfig: there is no field 'mode'; the fields are "
      "autocast_dtype, autocast_enabled");
  EXPECT_THAT(
      std::string(CreateBackend(kName, {{"autocast_dtype", DataType::kFloat32}})
                      .status()
                      .message()),
      HasSubstr("autocast can't compute in torch.float32"));
}

TEST(TorchCudaGraphsBackend, IsNamedByItsClassAndConfiguration) {
  const auto backend = BackendOf(kName, {{"autocast_enabled", true}});
  EXPECT_EQ(backend->Describe(),
            "TorchCudaGraphsBackend(autocast_enabled=True)");
  TorchCudaGraphsBackendConfig config;
  config.autocast_enabled = true;
  EXPECT_EQ(backend->Key(), std::string(kName) + "_" + config.Key());
  EXPECT_TRUE(backend->is_jit());
  EXPECT_THAT(backend->devices(), ElementsAre("cpu", "cuda"));
}

TEST(TorchCudaGraphsBackend, OnACpuLibTorchRunsEveryCallAndItSaysWhy) {
  const LogCapture capture;
  SetEnabled(LogChannel::kPerfHints, true);
  const auto source = SourceOf(kNet);
  const auto backend = BackendOf(kName);
  const at::Tensor x = at::randn({2, 3});
  ASSERT_TRUE(backend->Build(RequestOf(source, {x}, EmptyFolder())).ok());
  EXPECT_THAT(capture.lines(),
              Contains(HasSubstr("CUDA graphs are not used: the model runs on "
                                 "a CPU")));
  // Sizes change as they like, and the bits are eager's.
  for (const int64_t size : {2, 5, 1, 70}) {
    const at::Tensor other = at::randn({size, 3});
    const auto ours = Call(*source, *backend, other);
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(
        at::equal(ours->toTensor(),
                  source->model().RunEager(ValueList({other}))->toTensor()));
  }
  const BackendUsage usage = backend->Usage();
  EXPECT_EQ(usage.calls, 4);
  EXPECT_EQ(usage.eager_calls, 4);
  EXPECT_EQ(usage.versions, 0);
  EXPECT_EQ(usage.recompilations, 0);
  EXPECT_THAT(backend->Notes(),
              ElementsAre("LibTorch runs all calls in eager: CUDA graphs are a "
                          "GPU's, and the model runs on a CPU"));
  const Sample call = *source->Flatten(ValueList({x}));
  EXPECT_THAT(std::string(backend->Profile(Values(call), 1).status().message()),
              HasSubstr("LibTorch runs all calls in eager"));
  const at::Tensor result = at::empty({2, 4});
  const Sample results = *source->Flatten(ValueList({result}));
  const absl::Status bound =
      backend->Bind(Values(call), Values(results)).status();
  EXPECT_EQ(bound.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(bound.message()),
              HasSubstr("LibTorch runs all calls in eager"));
  const auto repaired = backend->Repair(Values(call));
  ASSERT_TRUE(repaired.ok()) << repaired.status();
  EXPECT_FALSE(*repaired);
}

TEST(TorchCudaGraphsBackend, OnACpuStancesAreKept) {
  const auto source = SourceOf(kNet);
  const auto backend = BackendOf(kName);
  ASSERT_TRUE(backend->Build(RequestOf(source, {at::randn({2, 3})})).ok());
  for (const Stance stance : {Stance::kForceEager, Stance::kFailOnRecompile,
                              Stance::kEagerWhileCompiling}) {
    const ScopedStance scope(stance);
    ExpectAgrees(*source, *backend, at::randn({7, 3}), 0);
  }
}

TEST(TorchCudaGraphsBackend, IsSavedAndLoaded) {
  const auto source = SourceOf(kNet);
  const auto backend = BackendOf(kName, {{"autocast_enabled", true}});
  const at::Tensor x = at::randn({2, 3});
  ASSERT_TRUE(backend->Build(RequestOf(source, {x})).ok());
  const auto expected = Call(*source, *backend, x);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto state = backend->ToDict();
  ASSERT_TRUE(state.ok()) << state.status();
  const auto loaded = BackendFromDict(source, *state);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->Key(), backend->Key());
  ASSERT_TRUE((*loaded)->Deploy(std::nullopt).ok());
  const auto ours = Call(*source, **loaded, x);
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_TRUE(at::equal(ours->toTensor(), expected->toTensor()));
}

TEST(TorchCudaGraphsBackend, AutocastIsEagers) {
  const auto source = SourceOf(kNet);
  const ConfigDict config = {{"autocast_enabled", true}};
  const auto ours = BackendOf(kName, config);
  const auto eager = BackendOf("TorchEagerBackend", config);
  const at::Tensor x = at::randn({16, 3});
  ASSERT_TRUE(ours->Build(RequestOf(source, {x})).ok());
  ASSERT_TRUE(eager->Build(RequestOf(source, {x})).ok());
  EXPECT_EQ(ours->narrowed_to(), DataType::kBFloat16);
  const at::Tensor result = Call(*source, *ours, x)->toTensor();
  EXPECT_TRUE(at::equal(result, Call(*source, *eager, x)->toTensor()));
  EXPECT_EQ(result.scalar_type(), at::kFloat);
}

TEST(TorchCudaGraphsBackend, KeepsTheStateOfAModel) {
  torch::jit::Module module("__torch__.Counter");
  module.register_buffer("count", at::zeros({}));
  module.define(kCounter);
  const auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*Model::FromModule(module)), "counter");
  const auto backend = BackendOf(kName);
  const at::Tensor x = at::ones({2});
  ASSERT_TRUE(backend->Build(RequestOf(source, {x})).ok());
  for (const double expected : {1, 2, 3}) {
    const auto ours = Call(*source, *backend, x);
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_EQ(ours->toTensor()[0].item<double>(), expected);
  }
}

// What is recorded on a GPU: a version that is one region of LibTorch's.
TEST(LibTorchOnly, AVersionIsOneRegionOfEagersOperators) {
  const Model model = ModelOf(kNet);
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec("float32[2..16,3]")};
  BuildOptions options;
  options.compile.measureCandidates = false;
  auto ours = CompiledModel::Build(model, inputs, options);
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_GT((*ours)->report().kernels, 0);
  options.trace.libtorch_only = true;
  auto libtorch = CompiledModel::Build(model, inputs, options);
  ASSERT_TRUE(libtorch.ok()) << libtorch.status();
  EXPECT_EQ((*libtorch)->report().kernels, 0);
  ASSERT_EQ((*libtorch)->plan().steps_size(), 1);
  EXPECT_TRUE((*libtorch)->plan().steps(0).has_fallback());
  for (const int64_t size : {2, 9, 16}) {
    const at::Tensor x = at::randn({size, 3});
    const auto result = (*libtorch)->Run(ValueList({x}));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(at::equal(result->toTensor(),
                          model.RunEager(ValueList({x}))->toTensor()));
  }
}

TEST(LibTorchOnly, IsAnotherEntryOfTheCache) {
  std::set<std::string> keys;
  for (const bool libtorch_only : {false, true}) {
    TraceOptions trace;
    trace.libtorch_only = libtorch_only;
    keys.insert(KeyOfBuild("model", {}, {}, trace).hex());
  }
  EXPECT_EQ(keys.size(), 2u);
}

}  // namespace
}  // namespace aitune::frontend
