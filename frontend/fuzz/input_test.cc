// A short run of what the fuzzer does, with mutations of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "frontend/fuzz/input_target.h"
#include "google/protobuf/stubs/logging.h"
#include "runtime/fuzz/mutation.h"

namespace aitune::frontend {
namespace {

constexpr char kCorpus[] = "frontend/fuzz/corpus";

TEST(ReadInput, TakesTheSeeds) {
  for (const std::string& seed : SeedInputs())
    EXPECT_TRUE(ReadInput(seed)) << seed;
  EXPECT_FALSE(ReadInput(""));
  EXPECT_FALSE(ReadInput("?"));
}

// The corpus has the seeds of when it was written, and what was found since.
TEST(ReadInput, ComesBackFromTheCorpus) {
  if (const char* folder = std::getenv("AITUNE_WRITE_CORPUS")) {
    std::map<char, int> count;
    for (const std::string& seed : SeedInputs())
      std::ofstream(
          std::filesystem::path(folder) / (std::string("seed_") + seed[0] +
                                           std::to_string(count[seed[0]]++)),
          std::ios::binary)
          << seed;
  }
  const google::protobuf::LogSilencer silence_parse_errors;
  const std::vector<std::string> corpus = ReadCorpus(kCorpus);
  EXPECT_GE(corpus.size(), 6u);
  for (const std::string& input : corpus) ReadInput(input);
}

TEST(ReadInput, ComesBackFromAnyBytes) {
  const google::protobuf::LogSilencer silence_parse_errors;
  // By turns from inputs that are accepted and from those that were found.
  std::map<char, std::vector<std::string>> from[2];
  for (std::string& input : SeedInputs())
    from[0][input[0]].push_back(std::move(input));
  for (std::string& input : ReadCorpus(kCorpus))
    from[1][input[0]].push_back(std::move(input));
  std::mt19937 random(7);
  // Loading a model takes milliseconds, reading a text next to nothing.
  for (const auto& [form, rounds] : std::map<char, int>{{'m', 60},
                                                        {'c', 300},
                                                        {'d', 150},
                                                        {'s', 5000},
                                                        {'i', 500},
                                                        {'a', 100}}) {
    int read = 0, refused = 0;
    for (int round = 0; round < rounds; ++round) {
      const std::vector<std::string>& seeds = from[round % 2][form];
      const std::string& seed = seeds[round / 2 % seeds.size()];
      ++(ReadInput(Mutated(seed, random)) ? read : refused);
    }
    EXPECT_GT(read, 0) << form;
    EXPECT_GT(refused, 5) << form;
  }
}

}  // namespace
}  // namespace aitune::frontend
