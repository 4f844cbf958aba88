#include "tests/end_to_end/program.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "gtest/gtest.h"

namespace aitune {
namespace {

std::string& Program() {
  static auto& program = *new std::string;
  return program;
}

}  // namespace

const std::string& ProgramPath() { return Program(); }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Path(const std::string& name) {
  return testing::TempDir() + "/" + name;
}

Outcome Shell(const std::string& command) {
  const std::string out = Path("stdout"), err = Path("stderr");
  const int status = std::system(("{ cd " + testing::TempDir() + "; " +
                                  command + "; } >" + out + " 2>" + err)
                                     .c_str());
  EXPECT_TRUE(WIFEXITED(status)) << "crashed: " << command;
  return {WEXITSTATUS(status), ReadFile(out), ReadFile(err)};
}

Outcome Aitune(const std::string& arguments) {
  return Shell("unset BUILD_WORKING_DIRECTORY; " + ProgramPath() + " " +
               arguments);
}

std::string ErrorLine(const Outcome& outcome) {
  std::istringstream lines(outcome.err);
  std::string line, last;
  while (std::getline(lines, line)) last = line;
  return last;
}

}  // namespace aitune

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) {
    std::cerr << "give the path of aitune\n";
    return 1;
  }
  char* path = realpath(argv[1], nullptr);
  if (path == nullptr) {
    std::cerr << argv[1] << " is not there\n";
    return 1;
  }
  aitune::Program() = path;
  free(path);
  return RUN_ALL_TESTS();
}
