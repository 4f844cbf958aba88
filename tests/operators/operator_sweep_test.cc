// Every operator that the importer knows x dtype x size x values, compiled and
// compared with eager.
//
// A run takes a sample: each call with some dtypes and sizes, together all.
// AITUNE_OPERATOR_SWEEP=all takes everything, in about half an hour, and then
// also fails for an accepted difference that no longer occurs:
//
//   ./bazelw test //tests/operators:operator_sweep_test --test_output=all
//     --test_env=AITUNE_OPERATOR_SWEEP=all --test_timeout=7200
//
// AITUNE_OPERATOR_DEVICE=cuda does so on a GPU; AITUNE_OPERATOR_SWEEP="conv1d
// sort" takes all calls of these operators.
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/operators/accepted_differences.h"
#include "tests/operators/operator_table.h"
#include "tests/operators/sweep.h"

namespace aitune {
namespace {

const at::ScalarType kDataTypes[] = {
    at::kFloat, at::kDouble, at::kHalf, at::kInt,  at::kBFloat16,
    at::kLong,  at::kShort,  at::kByte, at::kChar, at::kBool};
// None, one, two, not a whole vector, whole vectors, and one more.
constexpr int64_t kSizes[] = {0, 1, 2, 17, 64, 65};
// The part of the calls that a combination has in a sample.
constexpr size_t kSampled = 12;

bool TakesAll() {
  const char* const choice = std::getenv("AITUNE_OPERATOR_SWEEP");
  return choice != nullptr && std::string(choice) == "all";
}

// Whether a call of `op` is asked for by name.
bool IsNamed(const std::string& op) {
  const char* const names = std::getenv("AITUNE_OPERATOR_SWEEP");
  return names != nullptr && absl::StrContains(absl::StrCat(" ", names, " "),
                                               absl::StrCat(" ", op, " "));
}

std::string TheDevice() {
  const char* const device = std::getenv("AITUNE_OPERATOR_DEVICE");
  return device != nullptr ? device : "cpu";
}

// Of all tests of this process.
struct Totals {
  std::map<Outcome, int64_t> outcomes;
  std::set<int> accepted;  // positions in AcceptedDifferences()
  int64_t accepted_results = 0;
};

Totals& TheTotals() {
  static auto& totals = *new Totals;
  return totals;
}

bool IsFailure(Outcome outcome) {
  return outcome == Outcome::kDiffers || outcome == Outcome::kRefused ||
         outcome == Outcome::kDies;
}

class OperatorSweep
    : public testing::TestWithParam<std::tuple<at::ScalarType, int64_t>> {};

TEST_P(OperatorSweep, AgreesWithEager) {
  const auto [dtype, size] = GetParam();
  const Combination combination{dtype, size};
  const std::vector<OperatorCall> calls = OperatorCalls();
  const size_t turn = static_cast<size_t>(
      (std::find(std::begin(kDataTypes), std::end(kDataTypes), dtype) -
       std::begin(kDataTypes)) *
          std::size(kSizes) +
      (std::find(std::begin(kSizes), std::end(kSizes), size) -
       std::begin(kSizes)));
  std::vector<int> positions;
  const bool by_name =
      !TakesAll() && std::getenv("AITUNE_OPERATOR_SWEEP") != nullptr;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (by_name ? IsNamed(calls[i].op)
                : TakesAll() || (i + turn) % kSampled == 0)
      positions.push_back(static_cast<int>(i));
  }
  Totals& totals = TheTotals();
  for (const CallResult& result :
       Sweep(combination, calls, positions, TheDevice())) {
    const OperatorCall& call = calls[static_cast<size_t>(result.call)];
    if (IsFailure(result.outcome)) {
      const int accepted =
          FindAcceptedDifference(combination, call, result, TheDevice());
      if (accepted >= 0) {
        totals.accepted.insert(accepted);
        ++totals.accepted_results;
        continue;
      }
      ADD_FAILURE() << call.op << " as " << call.call << " on "
                    << c10::toString(dtype) << " n=" << size << ", "
                    << result.set << " values: " << Name(result.outcome) << ": "
                    << result.detail;
    }
    ++totals.outcomes[result.outcome];
  }
}

INSTANTIATE_TEST_SUITE_P(
    , OperatorSweep,
    testing::Combine(testing::ValuesIn(kDataTypes), testing::ValuesIn(kSizes)),
    [](const testing::TestParamInfo<OperatorSweep::ParamType>& info) {
      return absl::StrCat(c10::toString(std::get<0>(info.param)), "_",
                          std::get<1>(info.param));
    });

// Prints the counts, and what is accepted, after all tests.
class Summary : public testing::Environment {
 public:
  void TearDown() override {
    const Totals& totals = TheTotals();
    for (const auto& [outcome, count] : totals.outcomes)
      std::cout << count << " " << Name(outcome) << "\n";
    std::cout << totals.accepted_results << " accepted differences\n";
    const std::vector<AcceptedDifference>& accepted = AcceptedDifferences();
    for (const int position : totals.accepted) {
      const AcceptedDifference& one = accepted[static_cast<size_t>(position)];
      std::cout << "accepted: " << (*one.ops ? one.ops : "any operator") << " "
                << one.calls << " " << one.dtypes << " " << one.sets << ": "
                << one.reason << "\n";
    }
    const bool is_whole = std::getenv("TEST_TOTAL_SHARDS") == nullptr &&
                          GTEST_FLAG_GET(filter) == "*";
    if (!TakesAll() || !is_whole || TheDevice() != "cpu") return;
    for (size_t i = 0; i < accepted.size(); ++i) {
      if (absl::StrContains(accepted[i].devices, "cuda") ||
          !MayOccur(accepted[i]))
        continue;
      EXPECT_TRUE(totals.accepted.count(static_cast<int>(i)))
          << "this difference no longer occurs; delete it: " << accepted[i].ops
          << " " << accepted[i].calls << ": " << accepted[i].reason;
    }
  }
};

const testing::Environment* const kSummary =
    testing::AddGlobalTestEnvironment(new Summary);

}  // namespace
}  // namespace aitune
