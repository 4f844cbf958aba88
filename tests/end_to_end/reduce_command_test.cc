// aitune reduce: an operator that is made wrong on purpose, by a replacement
// that computes something else, is found in a longer program.
#include <torch/script.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/program.h"
#include "tests/end_to_end/program_models.h"

namespace aitune {
namespace {

using testing::HasSubstr;
using testing::Not;

class Files : public testing::Environment {
 public:
  void SetUp() override {
    torch::jit::Module part("__torch__.Part");
    part.register_attribute("training", c10::BoolType::get(), false);
    part.register_parameter("weight", torch::randn({16, 16}) / 4, false);
    part.define(
        "def forward(self, x: Tensor):\n"
        "    return torch.relu(torch.linear(x, self.weight)) + x\n");
    torch::jit::Module whole("__torch__.Whole");
    whole.register_attribute("training", c10::BoolType::get(), false);
    whole.register_module("part", part);
    whole.define(
        "def forward(self, x: Tensor):\n"
        "    a = self.part.forward(torch.exp(-x))\n"
        "    b = torch.tanh(self.part.forward(a) * 0.5)\n"
        "    c = torch.softmax(self.part.forward(b), -1)\n"
        "    return self.part.forward(c).sum(-1), torch.sigmoid(a)\n");
    whole.save(Path("whole.pt"));

    SaveProgram("raising.pt",
                "def forward(self, x: Tensor):\n    return x.view(3, 5)\n");

    std::ofstream(Path("wrong.py"))
        << "def tanh(x: Tensor):\n    return torch.sigmoid(x)\n";
  }
};

constexpr char kReduce[] = "reduce whole.pt --input 'float32[8,16]' ";
constexpr char kWrong[] = "--substitute aten::tanh=wrong.py --no-measure ";

TEST(Reduce, FindsTheOperatorThatIsWrong) {
  const Outcome outcome = Aitune(std::string(kReduce) + kWrong +
                                 "--output smallest --json reduced.json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("wrong: sample: output"));
  const auto json = nlohmann::json::parse(ReadFile(Path("reduced.json")));
  EXPECT_EQ(json["command"], "reduce");
  EXPECT_EQ(json["failure"]["kind"], "wrong");
  EXPECT_EQ(json["complete"], true);
  EXPECT_GT(json["operators"]["before"], 10);
  EXPECT_EQ(json["operators"]["after"], 1) << outcome.out;
  const std::string text = ReadFile(Path("smallest/model.txt"));
  EXPECT_THAT(text, HasSubstr("torch.tanh(x0)"));
  EXPECT_THAT(text, HasSubstr("x0: float32[1,1]"));
  // The command that it gives shows the failure; without the replacement there
  // is none.
  std::string show = json["show"];
  ASSERT_EQ(show.rfind("aitune ", 0), 0u);
  EXPECT_THAT(text, HasSubstr(show));
  EXPECT_EQ(Aitune(show.substr(7)).code, 3);
  EXPECT_EQ(Aitune("tune smallest/model.pt --seconds 0 --no-cache").code, 0);
}

TEST(Reduce, AFileMayBeNamed) {
  const Outcome outcome =
      Aitune(std::string(kReduce) + kWrong + "--seconds 1 --output best.pt");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(Path("best.pt")));
  EXPECT_TRUE(std::filesystem::exists(Path("best.inputs.pt")));
  EXPECT_THAT(ReadFile(Path("best.txt")), HasSubstr("torch.tanh"));
}

TEST(Reduce, InterruptionKeepsTheBestSoFar) {
  // Ctrl-C once something smaller has been found: the text has changed.
  const Outcome outcome =
      Shell("unset BUILD_WORKING_DIRECTORY; rm -rf early; " + ProgramPath() +
            " " + kReduce + kWrong +
            "--output early & "
            "until [ -e early/model.txt ]; do sleep 0.05; done; "
            "cp early/model.txt first.txt; "
            "while cmp -s early/model.txt first.txt && kill -0 $! 2>/dev/null; "
            "do sleep 0.05; done; kill -INT $!; wait $!");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("best so far"));
  const Outcome shown = Aitune(std::string("tune early/model.pt --seconds 0 "
                                           "--no-cache ") +
                               kWrong);
  EXPECT_EQ(shown.code, 3) << shown.err;
}

TEST(Reduce, AHangIsOneAfterTheLimit) {
  const Outcome outcome =
      Aitune(std::string(kReduce) + "--limit 0.1 --seconds 2 --output hanging");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("hang: not done in 0.1 s"));
}

TEST(Reduce, WhatDoesNotFailSaysSo) {
  const Outcome right = Aitune(kReduce);
  EXPECT_EQ(right.code, 4) << right.err;
  EXPECT_THAT(ErrorLine(right), HasSubstr("whole.pt does not fail"));
  const Outcome eager = Aitune("reduce raising.pt --input 'float32[2]'");
  EXPECT_EQ(eager.code, 4) << eager.err;
  EXPECT_THAT(ErrorLine(eager), HasSubstr("eager itself raises"));
  const Outcome other =
      Aitune(std::string(kReduce) + kWrong + "--failure crash");
  EXPECT_EQ(other.code, 4) << other.err;
  EXPECT_THAT(ErrorLine(other),
              HasSubstr("does not show the failure crash but wrong"));
}

TEST(Reduce, FindingNothingLeavesNoFolder) {
  EXPECT_EQ(Aitune(std::string(kReduce) + "--output none/inner").code, 4);
  EXPECT_FALSE(std::filesystem::exists(Path("none")));
}

TEST(Reduce, ASavedModelIsNotReplaced) {
  ASSERT_EQ(Aitune("deploy whole.pt --input 'float32[8,16]' --no-cache "
                   "--no-measure --seconds 0.02 --save saved/")
                .code,
            0);
  const Outcome outcome = Aitune(std::string(kReduce) + "--output saved");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(ErrorLine(outcome),
              HasSubstr("holds what `aitune deploy` saved"));
}

TEST(Reduce, AClosedTerminalLeavesNothingBehind) {
  const Outcome outcome = Shell(
      "unset BUILD_WORKING_DIRECTORY; mkdir -p temporary; "
      "TMPDIR=$PWD/temporary " +
      ProgramPath() + " " + kReduce + kWrong +
      "--output closed & "
      "until [ -e closed/model.txt ]; do sleep 0.05; done; "
      "kill -HUP $!; wait $!; ls -A temporary");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("best so far"));
  EXPECT_TRUE(std::filesystem::is_empty(Path("temporary"))) << outcome.out;
}

TEST(Reduce, RefusesWhatHasNoMeaning) {
  for (const auto& [arguments, code, text] :
       {std::tuple("reduce none.pt", 1, "none.pt"),
        {"reduce whole.pt --input 'float32[8,16]' --disable part", 1,
         "--disable"},
        {"reduce whole.pt --input 'float32[8,16]' --substitute part=wrong.py",
         1, "--substitute part"},
        {"reduce whole.pt --input 'float32[8,16]' --output /dev/null/x", 1,
         "/dev/null/x"},
        {"reduce whole.pt --failure other", 2, "other"}}) {
    const Outcome outcome = Aitune(arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_THAT(ErrorLine(outcome), HasSubstr(text));
  }
}

const testing::Environment* const kFiles =
    testing::AddGlobalTestEnvironment(new Files);

}  // namespace
}  // namespace aitune
