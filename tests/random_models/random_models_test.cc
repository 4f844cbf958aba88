// Random models agree with eager, at many sizes of their inputs' ranges and at
// the second call too.
//
// A model that does not is made smaller, as long as it still fails, and printed
// with its seed. More than a run of all tests takes:
//
//   AITUNE_RANDOM_MODELS=20000   so many models
//   AITUNE_FIRST_MODEL=500       beginning with that of this seed
//   AITUNE_RANDOM_DEVICE=cuda    compiled for, and compared on, a GPU
//   AITUNE_RANDOM_MEASURE=1      kernels chosen by measuring, not by rule
//   AITUNE_RANDOM_SOURCE=1       prints each program
//   AITUNE_REDUCED_MODELS=0      makes none of those that fail smaller
//
// Several processes may run side by side, each with a range of seeds.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "frontend/testing/environment.h"
#include "frontend/values/gpu.h"
#include "gtest/gtest.h"
#include "tests/random_models/check_program.h"
#include "tests/random_models/child.h"
#include "tests/random_models/generator.h"
#include "tests/random_models/program.h"

namespace aitune::random_models {
namespace {

constexpr int kModels = 240;
constexpr int kShards = 2;
// Models of one process: what a new one costs is spread, and memory is freed.
constexpr int kModelsOfAChild = 40;
// Seconds of processors' time for a model; most take half of one, and on a GPU
// several for each of their versions.
constexpr unsigned kTimeLimit = 60;
constexpr unsigned kTimeLimitOnGpu = 300;
// Failures that are made smaller and printed in full.
constexpr int kReduced = 20;

CheckConfig Config() {
  CheckConfig config;
  if (const char* const device = std::getenv("AITUNE_RANDOM_DEVICE"))
    config.device = device;
  config.measures = FromEnvironment("AITUNE_RANDOM_MEASURE", 0) != 0;
  return config;
}

unsigned TimeLimit() {
  return Config().device == "cpu" ? kTimeLimit : kTimeLimitOnGpu;
}

struct Checked {
  ProgramResult result;
  int statements = 0;
  std::string source;
};

// In a child: generates, reduces and checks; tells, with tabs between,
// "seed SEED", "program SEED STATEMENTS SOURCE", and
// "result OUTCOME SIZES VERSIONS DETAIL".
void CheckSeed(uint64_t seed, const Reduction& reduction,
               const TellFunction& tell) {
  tell(absl::StrCat("seed\t", seed));
  const Program program = Reduced(GenerateProgram(seed), reduction);
  const std::string source = absl::StrCat(
      "# ", absl::StrJoin(program.inputs, " "), "\n", SourceOf(program));
  // Known even where the check dies.
  tell(absl::StrCat("program\t", seed, "\t", program.statements.size(), "\t",
                    absl::StrReplaceAll(source, {{"\n", "\x1f"}})));
  const ProgramResult result = CheckProgram(program, Config());
  tell(absl::StrCat("result\t", static_cast<int>(result.outcome), "\t",
                    result.sizes, "\t", result.versions, "\t", result.detail));
}

void Start() {
  if (Config().device == "cpu") return;
  const absl::Status started = frontend::StartLibTorchCuda(Device::Gpu(0));
  if (started.ok()) return;
  std::cerr << started << "\n";
  std::_Exit(3);
}

// What the lines tell; the last program died if there is no result of it.
std::map<uint64_t, Checked> Parse(const ChildLines& told) {
  std::map<uint64_t, Checked> checked;
  Checked* last = nullptr;
  for (const std::string& line : told.lines) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    uint64_t seed = 0;
    if (fields[0] == "seed" && fields.size() == 2 &&
        absl::SimpleAtoi(fields[1], &seed)) {
      last = &checked[seed];
      // Eager runs it alone as long as it is being generated.
      last->result = {Outcome::kEagerRaises, told.death};
    } else if (fields[0] == "program" && fields.size() == 4 &&
               last != nullptr) {
      last->result = {Outcome::kDies, told.death};
      (void)absl::SimpleAtoi(fields[2], &last->statements);
      last->source = absl::StrReplaceAll(fields[3], {{"\x1f", "\n"}});
    } else if (fields[0] == "result" && fields.size() == 5 && last != nullptr) {
      int outcome = 0;
      (void)absl::SimpleAtoi(fields[1], &outcome);
      (void)absl::SimpleAtoi(fields[2], &last->result.sizes);
      (void)absl::SimpleAtoi(fields[3], &last->result.versions);
      last->result.outcome = static_cast<Outcome>(outcome);
      last->result.detail = fields[4];
    }
  }
  return checked;
}

bool IsFailure(Outcome outcome) {
  return outcome != Outcome::kAgrees && outcome != Outcome::kEagerRaises;
}

// Leaves out statements as long as the program fails in the same way: first
// many at once, then single ones.
Checked MakeSmaller(uint64_t seed, Checked failed) {
  Reduction reduction;
  const int count = failed.statements;
  const auto fails = [&](const Reduction& smaller) {
    std::map<uint64_t, Checked> checked = Parse(RunInChild(
        [&](const TellFunction& tell) {
          Start();
          CheckSeed(seed, smaller, tell);
        },
        TimeLimit()));
    const auto found = checked.find(seed);
    if (found == checked.end() ||
        found->second.result.outcome != failed.result.outcome)
      return false;
    failed = found->second;
    reduction = smaller;
    return true;
  };
  for (int size = count / 2; size > 1; size /= 2) {
    for (int end = count; end > 0; end -= size) {
      Reduction smaller = reduction;
      for (int i = std::max(end - size, 0); i < end; ++i)
        smaller.dropped.insert(i);
      if (smaller.dropped.size() > reduction.dropped.size()) fails(smaller);
    }
  }
  for (int before = -1; before != failed.statements;) {
    before = failed.statements;
    for (int i = count - 1; i >= 0; --i) {
      if (reduction.dropped.count(i)) continue;
      Reduction smaller = reduction;
      smaller.dropped.insert(i);
      if (fails(smaller) || reduction.bypassed.count(i)) continue;
      smaller = reduction;
      smaller.bypassed.insert(i);
      fails(smaller);
    }
  }
  return failed;
}

class RandomModels : public testing::TestWithParam<int> {};

TEST_P(RandomModels, AgreeWithEager) {
  const int all = FromEnvironment("AITUNE_RANDOM_MODELS", kModels);
  const int begin = all * GetParam() / kShards;
  const int models = all * (GetParam() + 1) / kShards - begin;
  const int first = FromEnvironment("AITUNE_FIRST_MODEL", 0) + begin;
  const bool prints = FromEnvironment("AITUNE_RANDOM_SOURCE", 0) != 0;
  const int most_reduced = FromEnvironment("AITUNE_REDUCED_MODELS", kReduced);
  std::map<Outcome, int> outcomes;
  int statements = 0, sizes = 0, versions = 0, reduced = 0;
  for (int next = first; next < first + models;) {
    const int end = std::min(next + kModelsOfAChild, first + models);
    const std::map<uint64_t, Checked> checked = Parse(RunInChild(
        [&](const TellFunction& tell) {
          Start();
          for (int i = next; i < end; ++i)
            CheckSeed(static_cast<uint64_t>(i), {}, tell);
        },
        TimeLimit()));
    ASSERT_FALSE(checked.empty()) << "no program could be made from " << next;
    for (const auto& [seed, one] : checked) {
      next = static_cast<int>(seed) + 1;
      ++outcomes[one.result.outcome];
      statements += one.statements;
      sizes += one.result.sizes;
      versions += one.result.versions;
      if (prints) {
        std::cout << "model " << seed << ": " << OutcomeName(one.result.outcome)
                  << "\n"
                  << one.source;
      }
      if (!IsFailure(one.result.outcome)) continue;
      const Checked shown =
          reduced < most_reduced ? MakeSmaller(seed, one) : one;
      ++reduced;
      ADD_FAILURE() << "model " << seed << " "
                    << OutcomeName(shown.result.outcome) << ": "
                    << shown.result.detail << "\n"
                    << shown.source;
    }
  }
  std::cout << models << " models from " << first << ":";
  for (const auto& [outcome, count] : outcomes)
    std::cout << " " << count << " " << OutcomeName(outcome) << ",";
  std::cout << " " << statements << " statements, " << sizes << " sizes, "
            << versions << " versions\n";
  // The generator makes programs that eager runs.
  EXPECT_LE(outcomes[Outcome::kEagerRaises], models / 5 + 1);
}

INSTANTIATE_TEST_SUITE_P(, RandomModels, testing::Range(0, kShards));

}  // namespace
}  // namespace aitune::random_models
