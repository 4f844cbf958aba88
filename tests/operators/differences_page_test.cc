// README.md beside this file lists what the tests' tables say, and no more.
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/operators/accepted_differences.h"
#include "tests/operators/left_out_calls.h"

namespace aitune {
namespace {

std::string OrAll(const char* text, const char* all = "all") {
  return *text == '\0' ? all : text;
}

std::vector<std::string> RowsOfTheCode() {
  std::vector<std::string> rows;
  for (const AcceptedDifference& one : AcceptedDifferences())
    rows.push_back(absl::StrCat(
        "| ", OrAll(one.ops), one.only_sums ? " (sums and products)" : "",
        " | ", *one.calls == '\0' ? "all" : absl::StrCat("`", one.calls, "`"),
        " | ", OrAll(one.dtypes), " | ", OrAll(one.sets), " | ",
        OrAll(one.devices), " | ", one.reason, " |"));
  for (const LeftOutCall& one : LeftOutCalls())
    rows.push_back(absl::StrCat(
        "| ", OrAll(one.ops), " | ",
        *one.calls == '\0' ? "all" : absl::StrCat("`", one.calls, "`"),
        *one.but == '\0' ? "" : absl::StrCat(" but `", one.but, "`"), " | ",
        one.of == LeftOutOf::kRounded    ? "rounded"
        : one.of == LeftOutOf::kRepeated ? "repeated"
                                         : "all",
        " | ", one.reason, " |"));
  return rows;
}

TEST(DifferencesPage, ItsRowsAreThoseOfTheCode) {
  std::ifstream page("tests/operators/README.md");
  ASSERT_TRUE(page.good());
  std::vector<std::string> rows;
  bool in_table = false;
  for (std::string line; std::getline(page, line);) {
    const bool is_row = absl::StartsWith(line, "|");
    if (in_table && is_row) rows.push_back(line);
    // The line of dashes below the head.
    in_table = is_row && (in_table || absl::StartsWith(line, "|--"));
  }
  EXPECT_THAT(rows, testing::ElementsAreArray(RowsOfTheCode()));
}

}  // namespace
}  // namespace aitune
