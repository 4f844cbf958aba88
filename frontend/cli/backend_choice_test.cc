#include "frontend/cli/backend_choice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::cli {
namespace {

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
                        {"dynamic", None{}},
                        {"a", 3},
                        {"b", 0.5},
                        {"autocast_dtype", DataType::kBFloat16},
                        {"options", ConfigDict{{"x", false}, {"y", 2}}}}));
}

TEST(ParseBackendChoice, SaysWhatIsWrong) {
  for (const auto& [text, problem] :
       {std::pair("", "no kind of backend"),
        {"(a=1)", "no kind of backend"},
        {"B(a=1", "the last ) is missing"},
        {"B(a)", "\"a\" is not NAME=VALUE"},
        {"B(a=1,,b=2)", "\"\" is not NAME=VALUE"},
        {"B(a=1, a=2)", "\"a\" is given twice"},
        {"B(a=1, a.b=2)", "\"a\" has a value already"}}) {
    const auto choice = ParseBackendChoice(text);
    ASSERT_FALSE(choice.ok()) << text;
    EXPECT_THAT(std::string(choice.status().message()), HasSubstr(problem));
  }
}

}  // namespace
}  // namespace aitune::cli
