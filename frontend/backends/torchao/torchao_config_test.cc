#include "frontend/backends/torchao/torchao_config.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using testing::ElementsAre;
using torchao::Float8DynamicActivationFloat8WeightConfig;
using torchao::Float8WeightOnlyConfig;
using torchao::Int8DynamicActivationInt8WeightConfig;
using torchao::Int8WeightOnlyConfig;
using torchao::MappingType;
using torchao::PerRow;
using torchao::PerTensor;

TorchAOBackendConfig Named(const std::string& name) {
  TorchAOBackendConfig config;
  config.quantization = name;
  return config;
}

TorchAOBackendConfig Given(torchao::QuantizationConfig object) {
  TorchAOBackendConfig config;
  config.quantization_config = std::move(object);
  return config;
}

Float8DynamicActivationFloat8WeightConfig PerRowFloat8() {
  Float8DynamicActivationFloat8WeightConfig config;
  config.granularity = {PerRow(), PerRow()};
  return config;
}

// "" when `config` is valid.
std::string Error(const TorchAOBackendConfig& config) {
  const absl::Status status = config.Validate();
  if (status.ok()) return "";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

// Keys that AITune's Python gives with torchao 0.18.
TEST(TorchAOConfigTest, KeysAreThoseOfPython) {
  EXPECT_EQ(Named("int8wo").Key(),
            "acbed3c1056aecd1cfe85babd0d09aa60bd991a01ff19462de4f921cf515aceb");
  EXPECT_EQ(Named("int8dq").Key(),
            "c317c6aea234147fcbc8dd043831e9c31af5a47b53eeddbd705620003c39c121");
  EXPECT_EQ(Named("fp8wo").Key(),
            "77846e9028d5c77806f5d7753d2595c8561996375c18eef9150b35810a8013ff");
  EXPECT_EQ(Named("fp8dq").Key(),
            "800112b39c53684e7845ce52ef2906d6b29520ae0c5a49fdb356eae27135a0b5");
  EXPECT_EQ(Given(PerRowFloat8()).Key(),
            "ae287d0cee958f2f2b5a64cab86a00f0a8d2ddc9496aad017f973a2ccaa80d2d");
}

TEST(TorchAOConfigTest, ANameCountsAsTheObjectItStandsFor) {
  const std::pair<const char*, torchao::QuantizationConfig> kSame[] = {
      {"int8wo", Int8WeightOnlyConfig()},
      {"int8dq", Int8DynamicActivationInt8WeightConfig()},
      {"fp8wo", Float8WeightOnlyConfig()},
      {"fp8dq", Float8DynamicActivationFloat8WeightConfig()}};
  for (const auto& [name, object] : kSame) {
    EXPECT_EQ(Named(name).Key(), Given(object).Key());
    EXPECT_EQ(Named(name).Describe(), Given(object).Describe());
    EXPECT_EQ(ToPythonJson(Named(name).ToDict()),
              ToPythonJson(Given(object).ToDict()));
    EXPECT_EQ(Find(Named(name).ToDict(), "quantization"), nullptr);
  }
}

TEST(TorchAOConfigTest, DescribesTheClassAndWhatDiffersFromItsDefaults) {
  EXPECT_EQ(Named("int8wo").Describe(),
            "quantization_config=Int8WeightOnlyConfig()");
  EXPECT_EQ(Named("int8dq").Describe(),
            "quantization_config=Int8DynamicActivationInt8WeightConfig()");
  EXPECT_EQ(Named("fp8wo").Describe(),
            "quantization_config=Float8WeightOnlyConfig()");
  EXPECT_EQ(Named("fp8dq").Describe(),
            "quantization_config=Float8DynamicActivationFloat8WeightConfig()");
  EXPECT_EQ(Given(PerRowFloat8()).Describe(),
            "quantization_config=Float8DynamicActivationFloat8WeightConfig("
            "granularity=[PerRow(dim=-1), PerRow(dim=-1)])");
  Int8WeightOnlyConfig int8;
  int8.granularity = PerTensor();
  int8.set_inductor_config = false;
  EXPECT_EQ(Given(int8).Describe(),
            "quantization_config=Int8WeightOnlyConfig("
            "granularity=PerTensor(),set_inductor_config=False)");
  Float8DynamicActivationFloat8WeightConfig float8;
  float8.mm_config.use_fast_accum = false;
  EXPECT_EQ(Given(float8).Describe(),
            "quantization_config=Float8DynamicActivationFloat8WeightConfig("
            "mm_config=Float8MMConfig(emulate=False, use_fast_accum=False, "
            "pad_inner_dim=False))");
  EXPECT_EQ(Named("auto").Describe(), "quantization=auto");
}

TEST(TorchAOConfigTest, ExactlyOneOfNameAndObject) {
  EXPECT_EQ(Error(TorchAOBackendConfig()),
            "Either quantization or quantization_config should be provided.");
  TorchAOBackendConfig both = Named("int8wo");
  both.quantization_config = Int8WeightOnlyConfig();
  EXPECT_EQ(
      Error(both),
      "Only one of quantization or quantization_config should be provided.");
  for (const char* name : {"", "int4wo", "FP8WO"})
    EXPECT_EQ(Error(Named(name)),
              std::string("Invalid quantization: ") + name +
                  ". Must be one of: ['int8wo', 'int8dq', 'fp8wo', 'fp8dq']");
  for (const char* name : {"int8wo", "int8dq", "fp8wo", "fp8dq", "auto",
                           TorchAOBackendConfig::kDefaultQuantization})
    EXPECT_EQ(Error(Named(name)), "");
}

TEST(TorchAOConfigTest, OptionsAreWhatTheConfigurationSays) {
  const auto text = [](const TorchAOBackendConfig& config) {
    const auto options = config.Options();
    return options.ok() ? quant::ToString(*options)
                        : std::string(options.status().message());
  };
  EXPECT_EQ(text(Named("auto")), "auto");
  EXPECT_EQ(text(Named("int8wo")), "int8wo,granularity=row");
  EXPECT_EQ(text(Named("int8dq")), "int8dq,granularity=row");
  EXPECT_EQ(text(Named("fp8wo")), "fp8wo,granularity=row");
  EXPECT_EQ(text(Named("fp8dq")), "fp8dq,granularity=tensor");
  Float8DynamicActivationFloat8WeightConfig float8 = PerRowFloat8();
  float8.mm_config.use_fast_accum = false;
  TorchAOBackendConfig config = Given(float8);
  config.verdict = quant::Verdict::kOff;
  config.extended_layers = true;
  config.skip_modules = {"lm_head"};
  config.bound.min_cosine = 0.9;
  EXPECT_EQ(text(config),
            "fp8dq,granularity=row,fast_accumulation=off,verdict=off,"
            "extended_layers=on,skip=lm_head,min_cosine=0.9");
}

TEST(TorchAOConfigTest, RefusesVersionOneAsTorchaoDoes) {
  Int8WeightOnlyConfig weight_only;
  weight_only.version = 1;
  EXPECT_EQ(Error(Given(weight_only)),
            "version 1 of Int8WeightOnlyConfig has been removed, please use "
            "version 2, see https://github.com/pytorch/ao/issues/2752 for more "
            "details");
  Int8DynamicActivationInt8WeightConfig dynamic;
  dynamic.version = 1;
  EXPECT_EQ(Error(Given(dynamic)),
            "version 1 of Int8DynamicActivationInt8WeightConfig has been "
            "removed, please use version 2, see "
            "https://github.com/pytorch/ao/issues/2752 for more details");
  Float8WeightOnlyConfig float8;
  float8.version = 1;
  EXPECT_EQ(Error(Given(float8)),
            "Float8WeightOnlyConfig: version can't be 1: give 2");
}

TEST(TorchAOConfigTest, RefusesWhatItDoesNotDoByTheNameOfTheField) {
  Int8WeightOnlyConfig groups;
  groups.group_size = 32;
  EXPECT_EQ(Error(Given(groups)),
            "Int8WeightOnlyConfig: group_size can't be 32: give None");
  Int8WeightOnlyConfig columns;
  columns.granularity = PerRow{0};
  EXPECT_EQ(Error(Given(columns)),
            "Int8WeightOnlyConfig: granularity can't be PerRow(dim=0): give "
            "PerRow(dim=-1) or PerTensor()");
  Int8DynamicActivationInt8WeightConfig asymmetric;
  asymmetric.act_mapping_type = MappingType::kAsymmetric;
  EXPECT_EQ(Error(Given(asymmetric)),
            "Int8DynamicActivationInt8WeightConfig: act_mapping_type can't be "
            "MappingType.ASYMMETRIC: give MappingType.SYMMETRIC");
  Int8DynamicActivationInt8WeightConfig reduced;
  reduced.reduce_range = true;
  EXPECT_EQ(Error(Given(reduced)),
            "Int8DynamicActivationInt8WeightConfig: reduce_range can't be "
            "True: give False");
  Float8WeightOnlyConfig half;
  half.weight_dtype = DataType::kFloat16;
  EXPECT_EQ(Error(Given(half)),
            "Float8WeightOnlyConfig: weight_dtype can't be torch.float16: give "
            "torch.float8_e4m3fn");
}

TEST(TorchAOConfigTest, RefusesWhatDynamicFloat8DoesNotDo) {
  const std::string name = "Float8DynamicActivationFloat8WeightConfig: ";
  using Config = Float8DynamicActivationFloat8WeightConfig;
  const auto error = [](auto change) {
    Config config;
    change(config);
    return Error(Given(config));
  };
  EXPECT_EQ(error([](Config& c) { c.granularity[0] = PerRow(); }),
            name +
                "granularity can't be [PerRow(dim=-1), PerTensor()]: give "
                "the activation and the weight the same");
  EXPECT_EQ(error([](Config& c) { c.mm_config.emulate = true; }),
            name +
                "mm_config can't be Float8MMConfig(emulate=True, "
                "use_fast_accum=True, pad_inner_dim=False): give "
                "emulate=False");
  EXPECT_EQ(error([](Config& c) { c.activation_value_lb = 0.5; }),
            name + "activation_value_lb can't be 0.5: give None");
  EXPECT_EQ(error([](Config& c) { c.activation_value_ub = 2.0; }),
            name + "activation_value_ub can't be 2.0: give None");
  EXPECT_EQ(error([](Config& c) { c.packing_format = "sparse_cutlass"; }),
            name +
                "packing_format can't be sparse_cutlass: give "
                "Float8PackingFormat.PLAIN");
  EXPECT_EQ(error([](Config& c) { c.kernel_preference = "mslk"; }),
            name +
                "kernel_preference can't be mslk: give "
                "KernelPreference.AUTO");
  EXPECT_EQ(error([](Config& c) { c.activation_dtype = DataType::kInt8; }),
            name +
                "activation_dtype can't be torch.int8: give "
                "torch.float8_e4m3fn");
  EXPECT_EQ(error([](Config& c) { c.alg_id = 3; }),
            name + "alg_id can't be 3: give 0");
  EXPECT_EQ(error([](Config& c) { c.mm_config.pad_inner_dim = true; }), "");
  EXPECT_EQ(error([](Config& c) { c.mm_config.use_fast_accum = false; }), "");
}

TEST(TorchAOConfigTest, OwnFieldsArePartOfTheKeyOnceTheyDiffer) {
  const TorchAOBackendConfig base = Named("int8wo");
  TorchAOBackendConfig changed[6];
  for (TorchAOBackendConfig& config : changed) config = base;
  changed[0].verdict = quant::Verdict::kOff;
  changed[1].bound.min_cosine = 0.99;
  changed[2].bound.min_sqnr_db = 20;
  changed[3].bound.min_equal_integers = 1;
  changed[4].extended_layers = true;
  changed[5].skip_modules = {"head"};
  for (const TorchAOBackendConfig& config : changed)
    EXPECT_NE(config.Key(), base.Key()) << config.Describe();
  EXPECT_EQ(changed[0].Describe(),
            "quantization_config=Int8WeightOnlyConfig(),verdict=False");
  EXPECT_EQ(changed[5].Describe(),
            "quantization_config=Int8WeightOnlyConfig(),skip_modules=['head']");
  TorchAOBackendConfig wrong = base;
  wrong.bound.min_cosine = 2;
  EXPECT_EQ(Error(wrong),
            "min_cosine can't be 2: give a number of at least 0 and at most 1");
}

TEST(TorchAOConfigTest, FromOptionsSaysWhatOptionsSay) {
  const auto said = [](const char* text) -> std::string {
    const auto options = quant::ParseQuantizationOptions(text);
    if (!options.ok()) return std::string(options.status().message());
    const auto config = TorchAOBackendConfig::FromOptions(*options);
    if (!config.ok()) return std::string(config.status().message());
    return config->Describe();
  };
  EXPECT_EQ(said("fp8dq"),
            "quantization_config=Float8DynamicActivationFloat8WeightConfig()");
  EXPECT_EQ(said("fp8dq,granularity=row,min_cosine=0.9"),
            "quantization_config=Float8DynamicActivationFloat8WeightConfig("
            "granularity=[PerRow(dim=-1), PerRow(dim=-1)]),min_cosine=0.9");
  EXPECT_EQ(
      said("int8wo,granularity=tensor"),
      "quantization_config=Int8WeightOnlyConfig(granularity=PerTensor())");
  EXPECT_EQ(said("auto"), "quantization=auto");
  EXPECT_THAT(said("int8wo,arithmetic=eager"),
              testing::HasSubstr("that no configuration of torchao has"));
  EXPECT_THAT(said("auto,granularity=row"),
              testing::HasSubstr("name a scheme in place of auto"));
}

TEST(TorchAOConfigTest, FromDictIsTheInverseOfToDict) {
  std::vector<TorchAOBackendConfig> configs;
  for (const char* name : {"int8wo", "int8dq", "fp8wo", "fp8dq", "auto"}) {
    configs.push_back(Named(name));
    configs.push_back(Named(name));
    configs.back().verdict = quant::Verdict::kOff;
    configs.back().bound = {0.5, 3, 0.25};
    configs.back().extended_layers = true;
    configs.back().skip_modules = {"*.head", "a?"};
  }
  configs.push_back(Given(PerRowFloat8()));
  Float8WeightOnlyConfig per_tensor;
  per_tensor.granularity = PerTensor();
  per_tensor.set_inductor_config = false;
  configs.push_back(Given(per_tensor));
  for (const TorchAOBackendConfig& config : configs) {
    const auto read = TorchAOBackendConfig::FromDict(config.ToDict());
    ASSERT_TRUE(read.ok()) << read.status() << ToPythonStr(config.ToDict());
    EXPECT_EQ(ToPythonStr(read->ToDict()), ToPythonStr(config.ToDict()));
    EXPECT_EQ(read->Key(), config.Key());
    EXPECT_EQ(read->Describe(), config.Describe());
  }
}

TEST(TorchAOConfigTest, FromDictRefusesOtherFieldsAndTypes) {
  const auto error = [](ConfigDict dict) {
    return std::string(TorchAOBackendConfig::FromDict(dict).status().message());
  };
  const auto object = [&](ConfigDict fields) {
    return error({{"quantization_config", std::move(fields)}});
  };
  EXPECT_EQ(error({}),
            "Either quantization or quantization_config should be provided.");
  EXPECT_EQ(error({{"quantization", 3}}),
            "TorchAOBackendConfig: the field 'quantization' is of int, it must "
            "be of str");
  EXPECT_EQ(error({{"mode", "default"}}),
            "TorchAOBackendConfig: there is no field 'mode'; the fields are "
            "extended_layers, min_cosine, min_equal_integers, min_sqnr_db, "
            "quantization, quantization_config, skip_modules, verdict");
  EXPECT_EQ(
      error({{"quantization", "int8wo"}, {"skip_modules", ConfigList{"a", 1}}}),
      "TorchAOBackendConfig: skip_modules can't be ['a', 1]: give "
      "patterns as text");
  EXPECT_EQ(object({}),
            "quantization_config: the type can't be missing: give "
            "Int8WeightOnlyConfig, Int8DynamicActivationInt8WeightConfig, "
            "Float8WeightOnlyConfig or "
            "Float8DynamicActivationFloat8WeightConfig");
  EXPECT_EQ(object({{"type", "Int8WeightOnlyConfig"}, {"bits", 4}}),
            "Int8WeightOnlyConfig: there is no field 'bits'; the fields are "
            "granularity, group_size, set_inductor_config, type, version");
  EXPECT_EQ(object({{"type", "Int8WeightOnlyConfig"},
                    {"granularity", ConfigDict{{"group_size", 32}}}}),
            "Int8WeightOnlyConfig: granularity can't be {'group_size': 32}: "
            "give PerRow as {'dim': -1} or PerTensor as {}");
  const char* kFloat8 = "Float8DynamicActivationFloat8WeightConfig";
  EXPECT_EQ(object({{"type", kFloat8}, {"granularity", ConfigList{}}}),
            std::string(kFloat8) +
                ": granularity can't be []: give the activation's and the "
                "weight's");
  EXPECT_EQ(object({{"type", kFloat8}, {"mm_config", ConfigList{true, 1, 2}}}),
            std::string(kFloat8) +
                ": mm_config can't be [True, 1, 2]: give emulate, "
                "use_fast_accum and pad_inner_dim");
  EXPECT_EQ(object({{"type", "Int8DynamicActivationInt8WeightConfig"},
                    {"act_mapping_type", 9}}),
            "Int8DynamicActivationInt8WeightConfig: act_mapping_type can't be "
            "9: give MappingType.SYMMETRIC");
}

TEST(TorchAOConfigTest, FromDictTakesSomeFields) {
  const auto config = TorchAOBackendConfig::FromDict(
      {{"quantization_config", ConfigDict{{"type", "Float8WeightOnlyConfig"},
                                          {"granularity", ConfigDict{}}}}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->Describe(),
            "quantization_config=Float8WeightOnlyConfig("
            "granularity=PerTensor())");
}

}  // namespace
}  // namespace aitune::frontend
