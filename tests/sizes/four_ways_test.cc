// Generated programs that decide by sizes agree with eager at each of 130
// sizes, whichever way they are run.
//
// A run of all tests takes a sample. More:
//
//   AITUNE_SIZE_PROGRAMS=200      so many programs
//   AITUNE_FIRST_PROGRAM=1000     beginning with that of this seed
//   AITUNE_COMMAND_SIZES=130      sizes at which the commands are called too
#include "tests/sizes/four_ways.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/testing/environment.h"
#include "frontend/testing/models.h"
#include "tests/sizes/compare_sizes.h"
#include "tests/sizes/size_programs.h"

namespace aitune::sizes {
namespace {

using frontend::ValueList;

// What was compared.
struct Counts {
  int calls = 0, commands = 0, raised = 0;
};

// Compares all ways at all sizes, in an order that jumps, each twice: the
// second call has its version. Empty, or what differs.
std::string Compare(const SizeProgram& program,
                    const std::filesystem::path& folder, int64_t command_sizes,
                    Counts& counts) {
  const auto made = FourWays::Of(program, folder);
  if (!made.ok()) return made.status().ToString();
  const FourWays& program_ways = **made;
  if (program_ways.ways().empty()) return "";
  for (int64_t i = 0; i < kLargest; ++i) {
    const int64_t rows = i * 37 % kLargest + 1;
    const at::Tensor x = InputOf(rows);
    const auto eager = program_ways.model().RunEager(ValueList({x}));
    counts.raised += !eager.ok();
    const auto differs = [&](const FourWays::Way& way) {
      const std::string difference = Difference(way.run(x), eager);
      return difference.empty()
                 ? ""
                 : absl::StrCat(way.name, " at ", rows, ": ", difference);
    };
    for (const FourWays::Way& way : program_ways.ways()) {
      for (int call = 0; call < 2; ++call, ++counts.calls) {
        if (std::string difference = differs(way); !difference.empty())
          return difference;
      }
    }
    if (i >= command_sizes) continue;
    for (const FourWays::Way& way : program_ways.commands()) {
      ++counts.commands;
      if (std::string difference = differs(way); !difference.empty())
        return difference;
    }
  }
  return "";
}

TEST(FourWaysTest, GeneratedProgramsAgreeAtEverySize) {
  const int programs = FromEnvironment("AITUNE_SIZE_PROGRAMS", 3);
  const int first = FromEnvironment("AITUNE_FIRST_PROGRAM", 1000);
  const int command_sizes = FromEnvironment("AITUNE_COMMAND_SIZES", 2);
  const std::filesystem::path folder = frontend::EmptyFolder();
  Counts counts;
  int wrong = 0;
  for (int seed = first; seed < first + programs; ++seed) {
    const SizeProgram program = GeneratedProgram(static_cast<uint64_t>(seed));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const std::string difference =
        Compare(program, folder, command_sizes, counts);
    if (!difference.empty()) {
      ++wrong;
      ADD_FAILURE() << program.name << ", " << difference << "\n"
                    << program.source;
    }
    std::printf("%s: %d calls so far, %d wrong\n", program.name.c_str(),
                counts.calls, wrong);
    std::fflush(stdout);
  }
  std::printf(
      "%d programs from %d: %d wrong; %d calls and %d commands compared, eager "
      "raises at %d sizes\n",
      programs, first, wrong, counts.calls, counts.commands, counts.raised);
}

}  // namespace
}  // namespace aitune::sizes
