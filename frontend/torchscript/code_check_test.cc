// Texts of TorchScript that end LibTorch's process, and those that do not.
#include "frontend/torchscript/code_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/substitution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Repeat(int count, absl::string_view text) {
  std::string repeated;
  for (int i = 0; i < count; ++i) absl::StrAppend(&repeated, text);
  return repeated;
}

std::string Returning(const std::string& value) {
  return absl::StrCat("def forward(self, x: Tensor):\n  return ", value, "\n");
}

// Each of these ended the process.
TEST(CodeCheck, WhatIsNestedTooDeepIsRefused) {
  constexpr int kMany = 40000;
  for (const std::string& value :
       {Repeat(kMany, "(") + "x" + Repeat(kMany, ")"),
        Repeat(kMany, "torch.neg(") + "x" + Repeat(kMany, ")"),
        Repeat(kMany, "[") + "1" + Repeat(kMany, "]"),
        Repeat(kMany, "- ") + "x", Repeat(kMany, "not ") + "True",
        Repeat(kMany, "2 ** ") + "2", Repeat(kMany, "1 if True else ") + "2",
        "x" + Repeat(kMany, " + 1"), "x" + Repeat(kMany, " + \\\n 1"),
        "x" + Repeat(kMany, "[0]"), "True" + Repeat(kMany, " and True"),
        "(x," + Repeat(kMany, "'\\'(' + ") + "'')"}) {
    EXPECT_THAT(
        std::string(Model::FromSource(Returning(value)).status().message()),
        AllOf(HasSubstr("TorchScript source has a statement that is nested"),
              HasSubstr("in statements of their own")))
        << value.substr(0, 40);
  }
  EXPECT_THAT(std::string(SubstituteInGraph("aten::relu",
                                            Returning(Repeat(kMany, "not ")))
                              .message()),
              HasSubstr("the replacement of aten::relu has a statement"));
}

TEST(CodeCheck, BlocksAreNestedToo) {
  std::string code = "def forward(self, x: Tensor):\n";
  for (int i = 1; i < 2500; ++i)
    absl::StrAppend(&code, std::string(i, ' '), "if True:\n");
  EXPECT_FALSE(CheckCode("it", code).ok());
}

// LibTorch takes a thousand levels, and any number of them one after the other.
TEST(CodeCheck, WhatLibTorchSurvivesIsTaken) {
  constexpr int kMany = 40000;
  EXPECT_TRUE(
      CheckCode("it", "x = [" + Repeat(kMany, "(1 + 2) * 3, ") + "]").ok());
  EXPECT_TRUE(CheckCode("it", Repeat(kMany, "x = (x + 1) * f(x)[0]\n")).ok());
  EXPECT_TRUE(CheckCode("it", "x = '" + Repeat(kMany, "(") + "'").ok());
  EXPECT_TRUE(CheckCode("it", "x = '''" + Repeat(kMany, "'(\n") + "'''").ok());
  EXPECT_TRUE(CheckCode("it", "# " + Repeat(kMany, "(") + "\nx = 1\n").ok());
  EXPECT_TRUE(CheckCode("it", "x = " + Repeat(kMany, "android_")).ok());
  EXPECT_TRUE(CheckCode("it", Repeat(kMany, ")")).ok());
  EXPECT_TRUE(
      Model::FromSource(Returning(Repeat(1000, "(") + "x" + Repeat(1000, ")")))
          .ok());
}

TEST(CodeCheck, CodeWithoutAnEndIsTaken) {
  for (const char* code : {"", "'", "'''", "x = '\\", "\\", "#", "(", "x\n  "})
    EXPECT_TRUE(CheckCode("it", code).ok()) << code;
}

}  // namespace
}  // namespace aitune::frontend
