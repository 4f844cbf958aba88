// Runs the program `aitune` in tests. They link //tests/end_to_end:program,
// which has main(), and get the program's path as their first argument.
#ifndef AITUNE_TESTS_END_TO_END_PROGRAM_H_
#define AITUNE_TESTS_END_TO_END_PROGRAM_H_

#include <string>

namespace aitune {

struct Outcome {
  int code = 0;
  std::string out, err;
};

// A file in the tests' folder, and what is in it.
std::string Path(const std::string& name);
std::string ReadFile(const std::string& path);

// Runs a command in the tests' folder. A crash is a failed test.
Outcome Shell(const std::string& command);

// The program's absolute path.
const std::string& ProgramPath();

// The program, with arguments as for a shell.
Outcome Aitune(const std::string& arguments);

// The last line of stderr: progress comes before it.
std::string ErrorLine(const Outcome& outcome);

}  // namespace aitune

#endif  // AITUNE_TESTS_END_TO_END_PROGRAM_H_
