#include "runtime/backend/registry.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/fake_backend.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

BackendFactory MakeFactory() {
  return {
      "Compiles the model.",
      [](const ConfigDict& dict) -> absl::StatusOr<std::unique_ptr<Backend>> {
        AITUNE_ASSIGN_OR_RETURN(const FakeBackendConfig config,
                                FakeBackendConfig::FromDict(dict));
        return MakeFakeBackend(std::make_shared<FakeBehavior>(), config);
      }};
}

class RegistryTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(RegisterBackend("TorchInductorBackend", MakeFactory()).ok());
  }
};

TEST_F(RegistryTest, ListBackendsHasNamesAndHelp) {
  const std::vector<BackendDescription> list = ListBackends();
  ASSERT_GE(list.size(), 1u);
  EXPECT_EQ(list[0].name, "TorchInductorBackend");
  EXPECT_EQ(list[0].help, "Compiles the model.");
}

TEST_F(RegistryTest, ListBackendsTellsWhichDevicesCanBeUsed) {
  const std::vector<BackendDescription> before = ListBackends();
  ASSERT_EQ(before.size(), 1u);
  ASSERT_FALSE(before[0].devices.empty());
  EXPECT_EQ(before[0].devices[0].type, "cpu");
  EXPECT_EQ(before[0].devices[0].reason, "");
  EXPECT_TRUE(before[0].is_usable());
  BackendFactory broken = MakeFactory();
  broken.check_device = [](const Device& device) {
    return absl::FailedPreconditionError("no " + device.type);
  };
  ASSERT_TRUE(RegisterBackend("Broken", broken).ok());
  broken.create = [](const ConfigDict&) {
    return absl::InvalidArgumentError("give it a file");
  };
  ASSERT_TRUE(RegisterBackend("BrokenToo", broken).ok());
  const std::vector<BackendDescription> list = ListBackends();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_FALSE(list[0].is_usable());
  for (const BackendDevice& device : list[0].devices)
    EXPECT_EQ(device.reason, "no " + device.type);
  EXPECT_FALSE(list[1].is_usable());
  ASSERT_EQ(list[1].devices.size(), 1u);
  EXPECT_EQ(list[1].devices[0].reason, "give it a file");
}

TEST_F(RegistryTest, ANameIsTakenOnce) {
  EXPECT_EQ(RegisterBackend("TorchInductorBackend", MakeFactory()).code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(RegistryTest, CreateBackendWithAConfiguration) {
  const auto backend =
      CreateBackend("TorchInductorBackend", {{"mode", "max-autotune"}});
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ((*backend)->Describe(), "TorchInductorBackend(mode=max-autotune)");
  EXPECT_EQ(
      CreateBackend("TorchInductorBackend", {{"mode", "x"}}).status().code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(RegistryTest, AnUnknownNameGetsTheKnownOnes) {
  EXPECT_THAT(std::string(CreateBackend("Inductor").status().message()),
              testing::MatchesRegex("there is no backend 'Inductor'; there "
                                    "are: .*TorchInductorBackend"));
}

TEST_F(RegistryTest, ACheckpointFindsItsKindAndConfiguration) {
  const auto backend =
      *CreateBackend("TorchInductorBackend", {{"fullgraph", true}});
  ASSERT_TRUE(backend->Build(MakeFakeRequest()).ok());
  const auto loaded =
      BackendFromDict(std::make_shared<FakeModel>(), *backend->ToDict());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->state(), BackendState::kCheckpointLoaded);
  EXPECT_EQ((*loaded)->Key(), backend->Key());
}

TEST_F(RegistryTest, ACheckpointOfAnUnknownKindIsAnError) {
  BackendStateProto state;
  EXPECT_EQ(BackendFromDict(nullptr, state).status().message(),
            "Invalid state_dict type: None");
  state.set_type("TensorRTBackend");
  EXPECT_EQ(BackendFromDict(nullptr, state).status().message(),
            "Invalid state_dict type: TensorRTBackend");
}

}  // namespace
}  // namespace aitune
