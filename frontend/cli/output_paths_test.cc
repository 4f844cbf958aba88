#include "frontend/cli/output_paths.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::cli {
namespace {

using ::testing::HasSubstr;

class OutputPathsTest : public ::testing::Test {
 protected:
  OutputPathsTest() {
    std::filesystem::create_directories(folder_);
    options_.model = Made("model.pt");
  }

  std::string Made(const std::string& name) {
    std::ofstream((folder_ + name)) << "kept";
    return folder_ + name;
  }

  std::string Problem() const {
    return std::string(CheckOutputPaths(options_).message());
  }

  const std::string folder_ = ::testing::TempDir() + "/output_paths/";
  Options options_;
};

TEST_F(OutputPathsTest, WhatIsReadIsNotReplaced) {
  for (std::string Options::* output :
       {&Options::json, &Options::html, &Options::output_file,
        &Options::save}) {
    options_.*output = folder_ + "../output_paths/model.pt";
    EXPECT_THAT(Problem(), HasSubstr("model.pt, which is read (the model)"));
    (options_.*output).clear();
  }
  options_.inputs_file = Made("inputs.pt");
  options_.json = options_.inputs_file;
  EXPECT_THAT(Problem(), HasSubstr("which is read (--inputs)"));
  options_.json = Made("f.txt");
  options_.substitutes = {"aten::tanh=" + options_.json};
  EXPECT_THAT(Problem(), HasSubstr("which is read (--substitute)"));
  options_.json = "-";
  EXPECT_EQ(Problem(), "");
}

TEST_F(OutputPathsTest, AKeyIsNotReplaced) {
  options_.save = options_.sign = Made("key.pem");
  EXPECT_THAT(Problem(), HasSubstr("which is read (--sign)"));
  options_.save = folder_ + "checkpoint";
  options_.sign = Made("checkpoint.sig");
  EXPECT_THAT(Problem(), HasSubstr("--sign " + options_.sign +
                                   " would replace " + options_.sign));
  options_.sign = Made("key.pem");
  EXPECT_EQ(Problem(), "");
}

TEST_F(OutputPathsTest, EachFileIsWrittenOnce) {
  options_.json = folder_ + "report";
  options_.html = folder_ + "./report";
  EXPECT_THAT(Problem(), HasSubstr("--json and --html would both write"));
  options_.html = folder_ + "page";
  options_.save = folder_ + "page/";
  EXPECT_THAT(Problem(), HasSubstr("--html and --save would both write"));
}

}  // namespace
}  // namespace aitune::cli
