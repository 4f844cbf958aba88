// A short run of what the fuzzer does, with mutations of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "google/protobuf/stubs/logging.h"
#include "runtime/fuzz/fuzzed_plans.h"
#include "runtime/fuzz/load_target.h"
#include "runtime/fuzz/message_mutation.h"
#include "runtime/fuzz/mutation.h"

namespace aitune {
namespace {

constexpr char kCorpus[] = "runtime/fuzz/corpus";

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

// The corpus has the seeds of when it was written, and what was found since.
TEST(LoadAndRunBytes, ComesBackFromTheCorpus) {
  if (const char* folder = std::getenv("AITUNE_WRITE_CORPUS")) {
    std::map<char, int> count;
    for (const std::string& seed : Seeds())
      std::ofstream(
          std::filesystem::path(folder) / (std::string("seed_") + seed[0] +
                                           std::to_string(count[seed[0]]++)),
          std::ios::binary)
          << seed;
  }
  const google::protobuf::LogSilencer silence_parse_errors;
  const std::vector<std::string> corpus = ReadCorpus(kCorpus);
  EXPECT_GE(corpus.size(), 4u);
  for (const std::string& input : corpus) LoadAndRunBytes(input);
}

TEST(LoadAndRunBytes, ComesBackFromAnyBytes) {
  const google::protobuf::LogSilencer silence_parse_errors;
  std::vector<std::string> seeds = Seeds();
  for (std::string& input : ReadCorpus(kCorpus))
    seeds.push_back(std::move(input));
  std::mt19937 random(7);
  int read = 0, refused = 0;
  for (int round = 0; round < 12000; ++round)
    (LoadAndRunBytes(Mutated(seeds[random() % seeds.size()], random)).read
         ? read
         : refused) += 1;
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

// Plans that stay well-formed get further than damaged bytes.
TEST(LoadAndRunBytes, ComesBackFromPlansThatWereChanged) {
  std::mt19937 random(11);
  for (const ExecutablePlan& plan : {MatmulPlan(), ConvolutionPlan()}) {
    int ran = 0, refused = 0;
    for (int round = 0; round < 1000; ++round) {
      ExecutablePlan changed = plan;
      for (size_t edits = 1 + random() % 3; edits > 0; --edits)
        MutateMessage(changed, plan, random);
      (LoadAndRunBytes(
           FuzzInput(FuzzedForm::kPlan, changed.SerializeAsString()))
               .ran
           ? ran
           : refused) += 1;
    }
    EXPECT_GT(ran, 100);
    EXPECT_GT(refused, 300);
  }
}

}  // namespace
}  // namespace aitune
