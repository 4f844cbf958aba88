// `aitune tune` on each example model (tests/models/make_models.py): agrees
// with eager, and compiles all but a hundredth of the FLOPs. The first argument
// is the program; the models are in the folder AITUNE_MODELS.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/end_to_end/program.h"

namespace aitune {
namespace {

class ExampleModel : public testing::TestWithParam<std::string> {};

TEST_P(ExampleModel, AgreesWithEager) {
  const char* folder = std::getenv("AITUNE_MODELS");
  ASSERT_NE(folder, nullptr) << "run the tests with ./bazelw";
  const Outcome outcome =
      Aitune(std::string("tune ") + folder + "/" + GetParam() +
             ".pt --no-measure --seconds 0 --json -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["check"]["agrees"], true);
  EXPECT_GE(json["coverage"]["flop_share"].get<double>(), 0.99)
      << json["coverage"]["fallbacks"].dump(1);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const char* name :
       {"mlp", "lstm", "control_flow", "minilm", "resnet50",
        "mobilenet_v3_large", "vit_b_16", "bert", "gpt2", "llama_block"}) {
    names.push_back(name);
    names.push_back(std::string(name) + "_bf16");
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(, ExampleModel, testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace aitune
