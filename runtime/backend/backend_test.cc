// What the documents of AITune's Backend say, one test a statement. The table
// of states is in backend_state_test.cc.
#include "runtime/backend/backend.h"

#include <fstream>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/fake_backend.h"
#include "runtime/logging/logging.h"

namespace aitune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BackendTest : public testing::Test {
 protected:
  absl::StatusOr<BackendStateProto> SavedState() {
    auto built = MakeFakeBackend(std::make_shared<FakeBehavior>());
    EXPECT_TRUE(built->Build(MakeFakeRequest()).ok());
    return built->ToDict();
  }

  const std::shared_ptr<FakeBehavior> behavior_ =
      std::make_shared<FakeBehavior>();
  const std::unique_ptr<Backend> backend_ = MakeFakeBackend(behavior_);
  const Sample sample_ = {MakeTensor({2}, {1, 2})};
};

TEST_F(BackendTest, TheInitialStateIsInit) {
  EXPECT_EQ(backend_->state(), BackendState::kInit);
  EXPECT_FALSE(backend_->is_active());
  EXPECT_FALSE(backend_->device().has_value());
}

TEST_F(BackendTest, NameOfABackend) {
  EXPECT_EQ(backend_->name(), "TorchInductorBackend");
}

TEST_F(BackendTest, IsJitIsTrueForABackendThatCompilesInTheProcess) {
  EXPECT_TRUE(backend_->is_jit());
  EXPECT_FALSE(MakeFakeBackend("AotBackend", behavior_)->is_jit());
}

TEST_F(BackendTest, AfterBuildingTheBackendIsActivated) {
  ASSERT_TRUE(backend_->Build(MakeFakeRequest()).ok());
  EXPECT_TRUE(backend_->is_active());
  EXPECT_TRUE(backend_->Infer(Values(sample_)).ok());
}

TEST_F(BackendTest, InferReturnsTheResultOfTheInference) {
  ASSERT_TRUE(backend_->Build(MakeFakeRequest()).ok());
  const auto outputs = backend_->Infer(Values(sample_));
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT(Elements(outputs->at(0).value), ElementsAre(2, 4));
}

TEST_F(BackendTest, IsActiveIsTrueInStateActiveOnly) {
  ASSERT_TRUE(backend_->Build(MakeFakeRequest()).ok());
  EXPECT_TRUE(backend_->is_active());
  ASSERT_TRUE(backend_->Deactivate().ok());
  EXPECT_FALSE(backend_->is_active());
  auto loaded = MakeFakeBackend(std::make_shared<FakeBehavior>());
  ASSERT_TRUE(
      loaded->FromDict(std::make_shared<FakeModel>(), *SavedState()).ok());
  EXPECT_FALSE(loaded->is_active());
  ASSERT_TRUE(loaded->Deploy(std::nullopt).ok());
  EXPECT_FALSE(loaded->is_active());
}

TEST_F(BackendTest, DeviceIsTheOneTheModuleIsUsing) {
  BuildRequest request = MakeFakeRequest();
  request.device = *Device::Parse("cuda:1");
  ASSERT_TRUE(backend_->Build(request).ok());
  EXPECT_EQ(backend_->device()->ToString(), "cuda:1");
}

TEST_F(BackendTest, ADeviceThatTheBackendDoesNotKnowIsRefused) {
  BuildRequest request = MakeFakeRequest();
  request.device.type = "tpu";
  EXPECT_EQ(
      backend_->Build(request),
      absl::InvalidArgumentError("Device tpu is not supported by the backend "
                                 "TorchInductorBackend"));
  EXPECT_EQ(behavior_->builds, 0);
  EXPECT_FALSE(backend_->device().has_value());
  EXPECT_TRUE(backend_->Build(MakeFakeRequest()).ok());
}

TEST_F(BackendTest, BuildCallsASampleAtMostOnce) {
  absl::Status first, second, missing;
  behavior_->build = [&](BuildContext& context) {
    first = context.CallSample(1).status();
    second = context.CallSample(1).status();
    missing = context.CallSample(2).status();
    return absl::OkStatus();
  };
  const BuildRequest request = MakeFakeRequest(2);
  ASSERT_TRUE(backend_->Build(request).ok());
  EXPECT_TRUE(first.ok());
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("sample 1 was called already"));
  EXPECT_EQ(missing.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(static_cast<FakeModel&>(*request.model).calls, 1);
}

TEST_F(BackendTest, AFailedBuildIsLogged) {
  std::vector<std::string> errors;
  SetLogSink([&](LogChannel channel, std::string_view text) {
    if (channel == LogChannel::kError) errors.emplace_back(text);
  });
  behavior_->build = [](BuildContext&) {
    return absl::InternalError("no code for aten::foo");
  };
  EXPECT_FALSE(backend_->Build(MakeFakeRequest()).ok());
  SetLogSink(nullptr);
  EXPECT_THAT(errors, ElementsAre("Failed to build backend("
                                  "TorchInductorBackend): INTERNAL: no code "
                                  "for aten::foo"));
}

TEST_F(BackendTest, DeactivateFreesMemoryAndActivateDoesNotCompile) {
  ASSERT_TRUE(backend_->Build(MakeFakeRequest()).ok());
  EXPECT_TRUE(behavior_->holds_memory);
  ASSERT_TRUE(backend_->Deactivate().ok());
  EXPECT_FALSE(behavior_->holds_memory);
  ASSERT_TRUE(backend_->Activate().ok());
  EXPECT_TRUE(behavior_->holds_memory);
  EXPECT_EQ(behavior_->compiles, 1);
  EXPECT_TRUE(backend_->Infer(Values(sample_)).ok());
}

TEST_F(BackendTest, AfterDeactivatingTheBackendCannotInfer) {
  ASSERT_TRUE(backend_->Build(MakeFakeRequest()).ok());
  ASSERT_TRUE(backend_->Deactivate().ok());
  EXPECT_FALSE(backend_->Infer(Values(sample_)).ok());
  EXPECT_EQ(behavior_->infers, 0);
}

TEST_F(BackendTest, KeyIsTheClassAndTheKeyOfTheConfiguration) {
  EXPECT_EQ(backend_->Key(),
            "TorchInductorBackend_" + FakeBackendConfig().Key());
}

TEST_F(BackendTest, DescribeIsTheClassAndTheChangedFields) {
  EXPECT_EQ(backend_->Describe(), "TorchInductorBackend()");
  FakeBackendConfig config;
  config.fullgraph = true;
  config.mode = "max-autotune";
  EXPECT_EQ(MakeFakeBackend(behavior_, config)->Describe(),
            "TorchInductorBackend(fullgraph=True,mode=max-autotune)");
}

TEST_F(BackendTest, ABackendTakesNoInvalidConfiguration) {
  auto config = std::make_unique<FakeBackendConfig>();
  config->mode = "fastest";
  const auto backend =
      Backend::Create({"TorchInductorBackend"}, std::move(config),
                      MakeFakeImplementation(behavior_));
  EXPECT_THAT(std::string(backend.status().message()),
              HasSubstr("Invalid mode: fastest"));
}

TEST_F(BackendTest, ToDictBeforeBuildIsAnError) {
  EXPECT_EQ(backend_->ToDict().status(),
            absl::FailedPreconditionError(
                "Backend has not been properly initialized. Please call "
                "build() first."));
}

TEST_F(BackendTest, ToDictHoldsTypeConfigurationAndDevice) {
  ASSERT_TRUE(backend_->Build(MakeFakeRequest()).ok());
  const absl::StatusOr<BackendStateProto> state = backend_->ToDict();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->type(), "TorchInductorBackend");
  EXPECT_EQ(state->config().fields_size(), 2);
  EXPECT_EQ(state->device(), "cpu");
  EXPECT_EQ(state->implementation(), "artifact");
}

TEST_F(BackendTest, FromDictGivesCheckpointLoaded) {
  ASSERT_TRUE(
      backend_->FromDict(std::make_shared<FakeModel>(), *SavedState()).ok());
  EXPECT_EQ(backend_->state(), BackendState::kCheckpointLoaded);
  EXPECT_EQ(backend_->device()->ToString(), "cpu");
  EXPECT_EQ(behavior_->compiles, 0);
}

TEST_F(BackendTest, FromDictOfAnotherTypeIsAnError) {
  BackendStateProto state = *SavedState();
  state.set_type("TensorRTBackend");
  EXPECT_EQ(
      backend_->FromDict(std::make_shared<FakeModel>(), state),
      absl::InvalidArgumentError("Invalid state_dict type: TensorRTBackend"));
  EXPECT_EQ(backend_->FromDict(std::make_shared<FakeModel>(), {}),
            absl::InvalidArgumentError("Invalid state_dict type: None"));
  EXPECT_EQ(backend_->state(), BackendState::kInit);
}

TEST_F(BackendTest, FromDictNeedsTheModule) {
  EXPECT_EQ(backend_->FromDict(nullptr, *SavedState()),
            absl::InvalidArgumentError("Module is required to create a backend "
                                       "from a state_dict."));
}

TEST_F(BackendTest, FromDictOfAnotherConfigurationIsAnError) {
  FakeBackendConfig config;
  config.fullgraph = true;
  const std::unique_ptr<Backend> other = MakeFakeBackend(behavior_, config);
  EXPECT_EQ(
      other->FromDict(std::make_shared<FakeModel>(), *SavedState()).code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(BackendTest, FromDictThatFailsKeepsTheState) {
  BackendStateProto state = *SavedState();
  state.clear_implementation();
  EXPECT_EQ(backend_->FromDict(std::make_shared<FakeModel>(), state).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(backend_->state(), BackendState::kInit);
  EXPECT_FALSE(backend_->device().has_value());
  state.set_implementation("artifact");
  state.set_device("no device");
  EXPECT_EQ(backend_->FromDict(std::make_shared<FakeModel>(), state).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(
      backend_->FromDict(std::make_shared<FakeModel>(), *SavedState()).ok());
}

TEST_F(BackendTest, FromDictIntoABackendInUseIsAnError) {
  ASSERT_TRUE(backend_->Build(MakeFakeRequest()).ok());
  EXPECT_EQ(
      backend_->FromDict(std::make_shared<FakeModel>(), *SavedState()).code(),
      absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(backend_->is_active());
}

TEST_F(BackendTest, AfterDeployingTheBackendInfersAndCannotBeDeactivated) {
  ASSERT_TRUE(
      backend_->FromDict(std::make_shared<FakeModel>(), *SavedState()).ok());
  ASSERT_TRUE(backend_->Deploy(*Device::Parse("cuda:0")).ok());
  EXPECT_EQ(backend_->device()->ToString(), "cuda:0");
  EXPECT_TRUE(backend_->Infer(Values(sample_)).ok());
  EXPECT_FALSE(backend_->Deactivate().ok());
  EXPECT_EQ(behavior_->compiles, 0);
}

TEST_F(BackendTest, DeployWithoutADeviceTakesTheCheckpoints) {
  ASSERT_TRUE(
      backend_->FromDict(std::make_shared<FakeModel>(), *SavedState()).ok());
  ASSERT_TRUE(backend_->Deploy(std::nullopt).ok());
  EXPECT_EQ(backend_->device()->ToString(), "cpu");
}

TEST_F(BackendTest, DeployWithNoDeviceAnywhereIsAnError) {
  BackendStateProto state = *SavedState();
  state.clear_device();
  ASSERT_TRUE(backend_->FromDict(std::make_shared<FakeModel>(), state).ok());
  const absl::Status no_device = absl::InvalidArgumentError(
      "Device is not set. Please set the device before deploying.");
  EXPECT_EQ(backend_->Deploy(std::nullopt), no_device);
  EXPECT_EQ(backend_->Activate(), no_device);
  EXPECT_EQ(backend_->state(), BackendState::kCheckpointLoaded);
  EXPECT_TRUE(backend_->Deploy(Device()).ok());
}

TEST_F(BackendTest, AFailedDeployKeepsTheDevice) {
  ASSERT_TRUE(
      backend_->FromDict(std::make_shared<FakeModel>(), *SavedState()).ok());
  behavior_->deploy = [] { return absl::ResourceExhaustedError("memory"); };
  EXPECT_FALSE(backend_->Deploy(*Device::Parse("cuda:0")).ok());
  EXPECT_EQ(backend_->device()->ToString(), "cpu");
  EXPECT_EQ(backend_->Deploy(*Device::Parse("tpu")).message(),
            "Device tpu is not supported by the backend TorchInductorBackend");
}

TEST_F(BackendTest, ALoadedBackendCanBeActivatedAndSavedAgain) {
  ASSERT_TRUE(
      backend_->FromDict(std::make_shared<FakeModel>(), *SavedState()).ok());
  ASSERT_TRUE(backend_->Activate().ok());
  EXPECT_TRUE(backend_->is_active());
  const absl::StatusOr<BackendStateProto> again = backend_->ToDict();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->SerializeAsString(), SavedState()->SerializeAsString());
}

TEST_F(BackendTest, FailedChecksAreToldByWhatRuns) {
  behavior_->take_failed_check = [] {
    return absl::InvalidArgumentError("index 40 is out of range");
  };
  EXPECT_TRUE(backend_->TakeFailedCheck().ok());
  ASSERT_TRUE(backend_->Build(MakeFakeRequest()).ok());
  EXPECT_EQ(backend_->TakeFailedCheck().message(), "index 40 is out of range");
  ASSERT_TRUE(backend_->Deactivate().ok());
  EXPECT_TRUE(backend_->TakeFailedCheck().ok());
}

TEST_F(BackendTest, ToJsonWritesTheConfiguration) {
  const std::string path = testing::TempDir() + "/backend.json";
  ASSERT_TRUE(backend_->ToJson(path).ok());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("\"fullgraph\": false"));
}

}  // namespace
}  // namespace aitune
