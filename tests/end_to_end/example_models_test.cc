// `aitune tune` on each example model (tests/models/make_models.py): agrees
// with eager, and compiles all but a hundredth of the FLOPs. The first argument
// is the program; the models are in the folder AITUNE_MODELS.
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace aitune {
namespace {

std::string* program = nullptr;

class ExampleModel : public testing::TestWithParam<std::string> {};

TEST_P(ExampleModel, AgreesWithEager) {
  const char* folder = std::getenv("AITUNE_MODELS");
  ASSERT_NE(folder, nullptr) << "run the tests with ./bazelw";
  const std::string report = testing::TempDir() + "/" + GetParam() + ".json";
  const std::string command = *program + " tune " + folder + "/" + GetParam() +
                              ".pt --no-measure --seconds 0 --json " + report +
                              " 2>&1";
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);
  std::ifstream file(report);
  const auto json = nlohmann::json::parse(file);
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

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) {
    std::cerr << "give the path of aitune\n";
    return 1;
  }
  aitune::program = new std::string(argv[1]);
  return RUN_ALL_TESTS();
}
