#include "frontend/backends/compiled/torch_inductor_config.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::Status Validate(const ConfigDict& options) {
  TorchInductorBackendConfig config;
  config.options = options;
  return config.Validate();
}

TEST(TorchInductorConfigTest, Defaults) {
  const TorchInductorBackendConfig config;
  EXPECT_FALSE(config.fullgraph);
  EXPECT_FALSE(config.dynamic.has_value());
  EXPECT_FALSE(config.mode.has_value());
  EXPECT_FALSE(config.options.has_value());
  EXPECT_FALSE(config.autocast_enabled);
  EXPECT_FALSE(config.autocast_dtype.has_value());
  EXPECT_TRUE(config.Validate().ok());
}

TEST(TorchInductorConfigTest, ModeAndOptionsExcludeEachOther) {
  TorchInductorBackendConfig config;
  config.mode = "default";
  config.options = ConfigDict{};
  EXPECT_EQ(config.Validate().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(config.Validate().message(),
            "Cannot specify both 'mode' and 'options' parameters in config. "
            "Use either 'mode' for predefined configurations or 'options' for "
            "custom configurations, but not both.");
}

TEST(TorchInductorConfigTest, EveryModeIsTaken) {
  std::vector<std::string> names;
  for (const ModeDescription& mode : ListModeOptions()) {
    TorchInductorBackendConfig config;
    config.mode = mode.name;
    EXPECT_TRUE(config.Validate().ok()) << mode.name;
    EXPECT_FALSE(mode.help.empty()) << mode.name;
    names.push_back(mode.name);
  }
  EXPECT_THAT(names, ElementsAre("default", "reduce-overhead",
                                 "max-autotune-no-cudagraphs", "max-autotune"));
}

TEST(TorchInductorConfigTest, AWrongModeIsRefused) {
  TorchInductorBackendConfig config;
  config.mode = "fastest";
  EXPECT_EQ(config.Validate().message(),
            "Invalid mode: fastest. It must be one of default, "
            "reduce-overhead, max-autotune-no-cudagraphs, max-autotune.");
}

TEST(TorchInductorConfigTest, AModeIsItsOptions) {
  for (const ModeDescription& mode : ListModeOptions()) {
    TorchInductorBackendConfig by_mode, by_options;
    by_mode.mode = mode.name;
    by_options.options = mode.options;
    const InductorOptions a = *ResolveOptions(by_mode);
    const InductorOptions b = *ResolveOptions(by_options);
    EXPECT_EQ(a.max_autotune, b.max_autotune) << mode.name;
    EXPECT_EQ(a.cudagraphs, b.cudagraphs) << mode.name;
  }
}

TEST(TorchInductorConfigTest, WhatTheModesSet) {
  const auto resolve = [](const char* mode) {
    TorchInductorBackendConfig config;
    config.mode = mode;
    return *ResolveOptions(config);
  };
  EXPECT_FALSE(resolve("default").max_autotune);
  EXPECT_FALSE(resolve("default").cudagraphs);
  EXPECT_TRUE(resolve("reduce-overhead").cudagraphs);
  EXPECT_FALSE(resolve("reduce-overhead").max_autotune);
  EXPECT_TRUE(resolve("max-autotune").cudagraphs);
  EXPECT_TRUE(resolve("max-autotune").max_autotune);
  EXPECT_TRUE(resolve("max-autotune-no-cudagraphs").max_autotune);
  EXPECT_FALSE(resolve("max-autotune-no-cudagraphs").cudagraphs);
}

TEST(TorchInductorConfigTest, EveryOptionIsListedWithHelpAndTakesItsDefault) {
  std::set<std::string> names;
  for (const OptionDescription& option : ListOptions()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_TRUE(Validate({{option.name, option.default_value}}).ok())
        << option.name;
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"triton.cudagraphs", "max_autotune",
                                            "guard_filter_fn"}));
}

TEST(TorchInductorConfigTest, OptionsReachTheResult) {
  TorchInductorBackendConfig config;
  config.options = ConfigDict{{"triton.cudagraphs", true},
                              {"max_autotune", true},
                              {"emulate_precision_casts", true},
                              {"backends.cuda.matmul.allow_tf32", true},
                              {"backends.cudnn.allow_tf32", false},
                              {"cpp.threads", 3},
                              {"recompile_limit", 5},
                              {"guard_filter_fn", "keep_tensor_guards_unsafe"},
                              {"trace.debug_dir", "/dumps"},
                              {"unchecked_indices", true}};
  const absl::StatusOr<InductorOptions> options = ResolveOptions(config);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->cudagraphs);
  EXPECT_TRUE(options->max_autotune);
  EXPECT_TRUE(options->emulate_precision_casts);
  EXPECT_TRUE(options->unchecked_indices);
  EXPECT_TRUE(options->tf32_matmul);
  EXPECT_FALSE(options->tf32_convolution);
  EXPECT_EQ(options->cpp_threads, 3);
  EXPECT_EQ(options->recompile_limit, 5);
  EXPECT_EQ(options->guard_filter_fn, "keep_tensor_guards_unsafe");
  EXPECT_EQ(options->debug_dir, "/dumps");
}

TEST(TorchInductorConfigTest, AnOptionThatThereIsNotIsRefused) {
  EXPECT_THAT(std::string(Validate({{"cudagraphs", true}}).message()),
              HasSubstr("Unexpected optimization option cudagraphs, known "
                        "options are backends.cuda.matmul.allow_tf32, "));
}

TEST(TorchInductorConfigTest, AnOptionOfAnotherTypeIsRefused) {
  EXPECT_EQ(Validate({{"max_autotune", 1}}).message(),
            "Unexpected type of option max_autotune, got int, should be bool");
}

TEST(TorchInductorConfigTest, AnOptionOutOfItsRangeIsRefused) {
  EXPECT_EQ(
      Validate({{"cpp.threads", 0}}).message(),
      "Invalid value of option cpp.threads: 0; it must be -1 or 1 to 1024");
  EXPECT_FALSE(Validate({{"recompile_limit", 0}}).ok());
  EXPECT_FALSE(Validate({{"guard_filter_fn", "none"}}).ok());
  EXPECT_EQ(Validate({{"recompile_wait_seconds", -2}}).message(),
            "Invalid value of option recompile_wait_seconds: -2; it must be -1 "
            "or seconds that are not negative");
  EXPECT_FALSE(Validate({{"recompile_total_seconds", "1"}}).ok());
  EXPECT_TRUE(Validate({{"recompile_total_seconds", 0.5}}).ok());
}

TEST(TorchInductorConfigTest, AutocastDtypes) {
  TorchInductorBackendConfig config;
  config.autocast_enabled = true;
  EXPECT_TRUE(config.Validate().ok());
  config.autocast_dtype = DataType::kFloat16;
  EXPECT_TRUE(config.Validate().ok());
  config.autocast_dtype = DataType::kBFloat16;
  EXPECT_TRUE(config.Validate().ok());
  config.autocast_dtype = DataType::kInt64;
  EXPECT_EQ(config.Validate().message(),
            "autocast can't compute in torch.int64. Set autocast_dtype to "
            "torch.float16, torch.bfloat16 or None (the default of the "
            "device).");
}

}  // namespace
}  // namespace aitune::frontend
