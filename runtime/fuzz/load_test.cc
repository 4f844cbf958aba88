// A short run of what the fuzzer does, with mutations of its own.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "google/protobuf/stubs/logging.h"
#include "runtime/fuzz/load_target.h"

namespace aitune {
namespace {

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = SeedInputs();
  std::ifstream file("runtime/cpu/testdata/scale.o", std::ios::binary);
  seeds.push_back(
      FuzzInput(FuzzedForm::kObject,
                std::string{std::istreambuf_iterator<char>(file), {}}));
  return seeds;
}

TEST(LoadAndRunBytes, TakesTheSeeds) {
  for (const std::string& seed : Seeds()) {
    const FuzzOutcome outcome = LoadAndRunBytes(seed);
    EXPECT_TRUE(outcome.read) << seed[0];
    EXPECT_EQ(outcome.ran, seed[0] == static_cast<char>(FuzzedForm::kPlan));
  }
  EXPECT_FALSE(LoadAndRunBytes("").read);
  EXPECT_FALSE(LoadAndRunBytes("?").read);
}

TEST(LoadAndRunBytes, ComesBackFromAnyBytes) {
  const google::protobuf::LogSilencer silence_parse_errors;
  const std::vector<std::string> seeds = Seeds();
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return random() % n; };
  int read = 0, refused = 0;
  for (int round = 0; round < 8000; ++round) {
    std::string input = seeds[below(seeds.size())];
    for (size_t edits = 1 + below(4); edits > 0 && input.size() > 1; --edits) {
      const size_t at = 1 + below(input.size() - 1);
      switch (below(5)) {
        case 0:
          input[at] = static_cast<char>(random());
          break;
        case 1:
          input[at] ^= static_cast<char>(1 << below(8));
          break;
        case 2:
          input.erase(at, 1 + below(8));
          break;
        case 3:
          input.insert(at, input.substr(at, 1 + below(32)));
          break;
        default:
          input.insert(at, 1 + below(8), static_cast<char>(random()));
          break;
      }
    }
    (LoadAndRunBytes(input).read ? read : refused) += 1;
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace aitune
