#include "runtime/backend/backend_config.h"

#include <fstream>
#include <sstream>

#include "frontend/backends/compiled/torch_inductor_config.h"
#include "frontend/backends/eager/torch_eager_config.h"
#include "frontend/backends/torchscript/torch_script_config.h"
#include "gtest/gtest.h"
#include "runtime/hash/sha256.h"

namespace aitune::frontend {
namespace {

// Keys that AITune's Python gives.
TEST(BackendConfigTest, KeysOfTheDefaults) {
  EXPECT_EQ(TorchInductorBackendConfig().Key(),
            "968546feca89006f602383244f9b3d9489aab783d76efaab7ff61532ebacfeb7");
  EXPECT_EQ(TorchEagerBackendConfig().Key(),
            "82fe5785dff5e19519e7c88b54b150928b4c10e9a4caf0b109f701c56aef2f64");
}

TEST(BackendConfigTest, KeyIsTheHashOfTheJsonInFieldOrder) {
  TorchInductorBackendConfig config;
  config.dynamic = true;
  config.options = ConfigDict{{"triton.cudagraphs", true},
                              {"cpp.threads", 2},
                              {"trace.debug_dir", "\u00e9"}};
  config.autocast_enabled = true;
  config.autocast_dtype = DataType::kFloat16;
  EXPECT_EQ(
      config.Key(),
      Sha256Hex(
          R"({"fullgraph": false, "dynamic": true, "mode": null, "options": )"
          R"({"triton.cudagraphs": true, "cpp.threads": 2, )"
          R"("trace.debug_dir": "\u00e9"}, )"
          R"("autocast_enabled": true, "autocast_dtype": "torch.float16"})"));
}

TEST(BackendConfigTest, EveryFieldIsPartOfTheKey) {
  const TorchInductorBackendConfig base;
  TorchInductorBackendConfig changed[6];
  changed[0].fullgraph = true;
  changed[1].dynamic = false;
  changed[2].mode = "default";
  changed[3].options = ConfigDict{};
  changed[4].autocast_enabled = true;
  changed[5].autocast_dtype = DataType::kBFloat16;
  for (const TorchInductorBackendConfig& config : changed)
    EXPECT_NE(config.Key(), base.Key()) << config.Describe();
}

TEST(BackendConfigTest, DescribeShowsOnlyChangedFields) {
  TorchInductorBackendConfig config;
  EXPECT_EQ(config.Describe(), "");
  config.autocast_dtype = DataType::kFloat16;
  config.autocast_enabled = true;
  config.mode = "max-autotune";
  EXPECT_EQ(config.Describe(),
            "mode=max-autotune,autocast_enabled=True,"
            "autocast_dtype=torch.float16");
  config.mode.reset();
  config.dynamic = false;
  config.fullgraph = true;
  config.options = ConfigDict{{"max_autotune", true}, {"cpp.threads", 4}};
  EXPECT_EQ(config.Describe(),
            "fullgraph=True,dynamic=False,options={'max_autotune': True, "
            "'cpp.threads': 4},autocast_enabled=True,"
            "autocast_dtype=torch.float16");
}

TEST(BackendConfigTest, ToJsonSavesTheConfigurationToAFile) {
  TorchInductorBackendConfig config;
  config.options = ConfigDict{{"max_autotune", true}};
  const std::string path = testing::TempDir() + "/config.json";
  ASSERT_TRUE(config.ToJson(path).ok());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(),
            "{\n  \"fullgraph\": false,\n  \"dynamic\": null,\n"
            "  \"mode\": null,\n  \"options\": {\n"
            "    \"max_autotune\": true\n  },\n"
            "  \"autocast_enabled\": false,\n  \"autocast_dtype\": null\n}");
}

TEST(BackendConfigTest, ToJsonNamesThePathItCannotWrite) {
  const absl::Status status =
      TorchEagerBackendConfig().ToJson("/no/such/folder/config.json");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_NE(status.message().find("/no/such/folder/config.json"),
            std::string::npos)
      << status;
}

template <typename Config>
void ExpectRoundTrip(const Config& config) {
  const absl::StatusOr<Config> read = Config::FromDict(config.ToDict());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Key(), config.Key());
}

TEST(BackendConfigTest, FromDictIsTheInverseOfToDict) {
  TorchInductorBackendConfig inductor;
  ExpectRoundTrip(inductor);
  inductor.fullgraph = true;
  inductor.dynamic = false;
  inductor.options = ConfigDict{{"cpp.threads", 2}};
  inductor.autocast_enabled = true;
  inductor.autocast_dtype = DataType::kBFloat16;
  ExpectRoundTrip(inductor);
  inductor.options.reset();
  inductor.mode = "reduce-overhead";
  ExpectRoundTrip(inductor);
  TorchEagerBackendConfig eager;
  eager.autocast_enabled = true;
  ExpectRoundTrip(eager);
  TorchScriptBackendConfig script;
  script.optimize_for_inference = false;
  script.freeze = false;
  script.autocast_dtype = DataType::kFloat16;
  ExpectRoundTrip(script);
}

TEST(BackendConfigTest, FromDictTakesSomeFields) {
  const auto config = TorchInductorBackendConfig::FromDict({{"dynamic", true}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->Describe(), "dynamic=True");
}

TEST(BackendConfigTest, FromDictRefusesOtherFieldsAndTypes) {
  EXPECT_EQ(TorchEagerBackendConfig::FromDict({{"mode", ConfigValue()}})
                .status()
                .message(),
            "TorchEagerBackendConfig: there is no field 'mode'; the fields are "
            "autocast_dtype, autocast_enabled");
  EXPECT_EQ(TorchInductorBackendConfig::FromDict({{"fullgraph", 1}})
                .status()
                .message(),
            "TorchInductorBackendConfig: the field 'fullgraph' is of int, it "
            "must be of bool");
  EXPECT_EQ(TorchInductorBackendConfig::FromDict({{"dynamic", "auto"}})
                .status()
                .message(),
            "TorchInductorBackendConfig: the field 'dynamic' is of str, it "
            "must be of bool");
}

TEST(TorchScriptBackendConfigTest, OptimizingNeedsFreezing) {
  TorchScriptBackendConfig config;
  EXPECT_TRUE(config.Validate().ok());
  config.freeze = false;
  EXPECT_EQ(config.Validate().message(),
            "optimize_for_inference needs a frozen model. Set freeze to True, "
            "or optimize_for_inference to False.");
}

}  // namespace
}  // namespace aitune::frontend
