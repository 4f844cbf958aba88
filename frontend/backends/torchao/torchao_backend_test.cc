// TorchAOBackend on TorchScript models, through the interface that users have.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/Compiler.h"
#include "frontend/testing/backends.h"
#include "runtime/backend/registry.h"

namespace aitune::frontend {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kName[] = "TorchAOBackend";

std::shared_ptr<TorchScriptSource> Source() {
  return std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(TwoLayers(DataType::kFloat32)), "net");
}

class TorchAOBackendTest : public testing::Test {
 protected:
  absl::Status Build(Backend& backend) {
    return backend.Build(RequestOf(source_, {x_}, folder_));
  }
  double Cosine(const Backend& backend) {
    const auto ours = Call(*source_, backend, x_);
    if (!ours.ok()) ADD_FAILURE() << ours.status();
    if (!ours.ok()) return 0;
    return CosineOf(ours->toTensor(),
                    source_->model().RunEager(ValueList({x_}))->toTensor());
  }

  const std::filesystem::path folder_ = EmptyFolder();
  const std::shared_ptr<TorchScriptSource> source_ = Source();
  const at::Tensor x_ = at::randn({4, 96});
};

TEST_F(TorchAOBackendTest, IsWhatItsConfigurationSays) {
  auto backend = BackendOf(kName, {{"quantization", "int8wo"}});
  EXPECT_EQ(backend->name(), kName);
  EXPECT_TRUE(backend->is_jit());
  EXPECT_EQ(backend->Describe(),
            "TorchAOBackend(quantization_config=Int8WeightOnlyConfig())");
  EXPECT_EQ(backend->Key(),
            "TorchAOBackend_"
            "acbed3c1056aecd1cfe85babd0d09aa60bd991a01ff19462de4f921cf515aceb");
  // Without a configuration, the default quantisation.
  EXPECT_EQ(BackendOf(kName)->Describe(),
            "TorchAOBackend(quantization_config=Float8WeightOnlyConfig())");
}

TEST_F(TorchAOBackendTest, QuantizesAndCompiles) {
  for (const char* scheme : {"int8wo", "int8dq"}) {
    SCOPED_TRACE(scheme);
    auto backend =
        BackendOf(kName, {{"quantization", scheme}, {"verdict", false}});
    EXPECT_EQ(backend->accuracy_bound(), std::nullopt);
    const absl::Status built = Build(*backend);
    ASSERT_TRUE(built.ok()) << built;
    const double cosine = Cosine(*backend);
    EXPECT_GT(cosine, 0.999);
    EXPECT_LT(cosine, 1 - 1e-9);
    EXPECT_EQ(backend->accuracy_bound(), AccuracyBound());
    ASSERT_TRUE(backend->Deactivate().ok());
    ASSERT_TRUE(backend->Activate().ok());
    EXPECT_EQ(Cosine(*backend), cosine);
  }
}

TEST_F(TorchAOBackendTest, LayersThatAreLeftAloneAreNoted) {
  auto backend = BackendOf(kName, {{"quantization", "int8wo"},
                                   {"verdict", false},
                                   {"skip_modules", ConfigList{"sec*"}},
                                   {"min_cosine", 0.99}});
  ASSERT_TRUE(Build(*backend).ok());
  EXPECT_EQ(backend->accuracy_bound()->min_cosine, 0.99);
  EXPECT_THAT(backend->Notes(),
              Contains("second is not quantised: filtered: its path is one of "
                       "'sec*'"));
}

TEST_F(TorchAOBackendTest, ACheckpointIsNotQuantizedAgain) {
  auto backend =
      BackendOf(kName, {{"quantization", "int8dq"}, {"verdict", false}});
  ASSERT_TRUE(Build(*backend).ok());
  const double cosine = Cosine(*backend);
  const auto state = backend->ToDict();
  ASSERT_TRUE(state.ok()) << state.status();
  const int64_t graphs = compileCounts().graphs;
  const auto again = Source();
  auto loaded = BackendFromDict(again, *state);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->state(), BackendState::kCheckpointLoaded);
  EXPECT_EQ((*loaded)->Key(), backend->Key());
  const absl::Status deployed = (*loaded)->Deploy(std::nullopt);
  ASSERT_TRUE(deployed.ok()) << deployed;
  EXPECT_EQ(Cosine(**loaded), cosine);
  EXPECT_EQ((*loaded)->accuracy_bound(), AccuracyBound());
  EXPECT_EQ(compileCounts().graphs, graphs);
}

TEST_F(TorchAOBackendTest, WrongConfigurationsAreErrors) {
  const auto error = [](const ConfigDict& config) {
    const auto backend = CreateBackend(kName, config);
    EXPECT_EQ(backend.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(backend.status().message());
  };
  const ConfigDict object = {{"type", "Int8WeightOnlyConfig"}};
  EXPECT_EQ(
      error({{"quantization", "int8wo"}, {"quantization_config", object}}),
      "Only one of quantization or quantization_config should be provided.");
  EXPECT_EQ(error({{"quantization", ConfigValue()}}),
            "Either quantization or quantization_config should be provided.");
  EXPECT_EQ(error({{"quantization", "int4"}}),
            "Invalid quantization: int4. Must be one of: ['int8wo', 'int8dq', "
            "'fp8wo', 'fp8dq']");
  EXPECT_THAT(error({{"quantization", "int8wo"}, {"min_cosine", 2.0}}),
              StartsWith("min_cosine can't be 2"));
}

TEST_F(TorchAOBackendTest, StatesAndDictsHaveTheirErrors) {
  auto backend =
      BackendOf(kName, {{"quantization", "int8wo"}, {"verdict", false}});
  EXPECT_EQ(backend->ToDict().status(),
            absl::FailedPreconditionError(
                "Backend has not been properly initialized. Please call "
                "build() first."));
  ASSERT_TRUE(Build(*backend).ok());
  auto state = backend->ToDict();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(BackendFromDict(nullptr, *state).status(),
            absl::InvalidArgumentError(
                "Module is required to create a backend from a state_dict."));
  state->set_type("TorchBackend");
  EXPECT_EQ(
      BackendFromDict(source_, *state).status(),
      absl::InvalidArgumentError("Invalid state_dict type: TorchBackend"));
}

TEST_F(TorchAOBackendTest, WhatTheCpuCannotDoIsAnErrorOfTheBuild) {
  auto backend = BackendOf(kName, {{"quantization", "fp8dq"}});
  EXPECT_EQ(Build(*backend),
            absl::FailedPreconditionError(
                "Float8 dynamic quantization requires CUDA compute capability "
                "≥8.9 or MI300+ or XPU."));
  EXPECT_EQ(backend->state(), BackendState::kInit);
  EXPECT_THAT(
      std::string(Build(*BackendOf(kName, {{"quantization", "int8wo"},
                                           {"skip_modules", ConfigList{"*"}}}))
                      .message()),
      HasSubstr("No layer of the model can be quantised with int8wo: 2 refused "
                "(2 filtered)"));
}

}  // namespace
}  // namespace aitune::frontend
