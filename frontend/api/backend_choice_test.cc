#include "frontend/api/backend_choice.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/backends/torchao/torchao_config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ait {
namespace {

namespace frontend = aitune::frontend;
using aitune::ConfigDict;
using aitune::ConfigList;

using testing::HasSubstr;

TEST(ParseBackendChoice, KindAlone) {
  for (const char* text : {"TorchScriptBackend", "TorchScriptBackend()"}) {
    const auto choice = ParseBackendChoice(text);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(choice->first, "TorchScriptBackend");
    EXPECT_TRUE(choice->second.empty());
  }
}

TEST(ParseBackendChoice, ValuesOfEveryType) {
  const auto choice = ParseBackendChoice(
      "B(mode=max-autotune, fullgraph=True, dynamic=None, a=3, b=0.5,"
      "autocast_dtype=torch.bfloat16, options.x=false, options.y=2)");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->second,
            (ConfigDict{{"mode", "max-autotune"},
                        {"fullgraph", true},
                        {"dynamic", aitune::None{}},
                        {"a", 3},
                        {"b", 0.5},
                        {"autocast_dtype", aitune::DataType::kBFloat16},
                        {"options", ConfigDict{{"x", false}, {"y", 2}}}}));
}

TEST(ParseBackendChoice, ListsAndObjects) {
  const auto choice = ParseBackendChoice(
      "B(quantization_config=C(granularity=[PerRow(dim=-1), PerTensor()],"
      "mm=D(fast=False)),options={'a': 2, 'b': [1]},none={},skip_modules=['a, "
      "b', \"it's\"],empty=[],e=)");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(
      choice->second,
      (ConfigDict{
          {"quantization_config",
           ConfigDict{{"type", "C"},
                      {"granularity",
                       ConfigList{ConfigDict{{"type", "PerRow"}, {"dim", -1}},
                                  ConfigDict{{"type", "PerTensor"}}}},
                      {"mm", ConfigDict{{"type", "D"}, {"fast", false}}}}},
          {"options", ConfigDict{{"a", 2}, {"b", ConfigList{1}}}},
          {"none", ConfigDict()},
          {"skip_modules", ConfigList{"a, b", "it's"}},
          {"empty", ConfigList()},
          {"e", ""}}));
}

// What reports print of a backend chooses it again.
TEST(ParseBackendChoice, ReadsDescriptions) {
  frontend::torchao::Float8DynamicActivationFloat8WeightConfig float8;
  float8.granularity = {frontend::torchao::PerRow(),
                        frontend::torchao::PerRow()};
  float8.mm_config.use_fast_accum = false;
  frontend::torchao::Float8WeightOnlyConfig weight_only;
  weight_only.granularity = frontend::torchao::PerTensor();
  frontend::torchao::Int8DynamicActivationInt8WeightConfig int8;
  int8.weight_only_decode = true;
  for (const frontend::torchao::QuantizationConfig& object :
       {frontend::torchao::QuantizationConfig(float8), {weight_only}, {int8}}) {
    frontend::TorchAOBackendConfig config;
    config.quantization_config = object;
    config.skip_modules = {"lm_head", "blocks.*.mlp"};
    config.bound.min_cosine = 0.95;
    const std::string text =
        absl::StrCat("TorchAOBackend(", config.Describe(), ")");
    const auto choice = ParseBackendChoice(text);
    ASSERT_TRUE(choice.ok()) << choice.status();
    const auto read = frontend::TorchAOBackendConfig::FromDict(choice->second);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->Describe(), config.Describe());
    EXPECT_EQ(read->Key(), config.Key());
  }
}

TEST(ParseBackendChoice, SaysWhatIsWrong) {
  for (const auto& [text, problem] :
       {std::pair("", "no kind of backend"),
        {"(a=1)", "no kind of backend"},
        {"B(a=1", "the last ) is missing"},
        {"B(a)", "\"a\" is not NAME=VALUE"},
        {"B(a=1,,b=2)", "\"\" is not NAME=VALUE"},
        {"B(a=1, a=2)", "\"a\" is given twice"},
        {"B(a=1, a.b=2)", "\"a\" has a value already"},
        {"B(a=1) c", "\"c\" stands behind the last )"},
        {"B(a=[1, 2)", "the last ] is missing"},
        {"B(a=')", "the last ' is missing"},
        {"B(a={'b': 1)", "the last } is missing"},
        {"B(a={b})", "\"b\" is not 'KEY': VALUE"},
        {"B(a={'b': 1, \"b\": 2})", "\"b\" is given twice"},
        {"B(a=[[[[[[[[[1]]]]]]]]])", "more than 8 values"}}) {
    const auto choice = ParseBackendChoice(text);
    ASSERT_FALSE(choice.ok()) << text;
    EXPECT_THAT(std::string(choice.status().message()), HasSubstr(problem));
  }
}

}  // namespace
}  // namespace ait
