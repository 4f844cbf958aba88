#include "frontend/cli/table.h"

#include "gtest/gtest.h"

namespace aitune::cli {
namespace {

TEST(Table, AlignsColumns) {
  Table table({"name", ">ms", "note"});
  table.AddRow({"eager", "12.5", "x"});
  table.AddRow({"a", "3"});
  EXPECT_EQ(table.ToString(1),
            " name     ms  note\n"
            " eager  12.5  x\n"
            " a         3\n");
}

TEST(Table, DropsSurplusCells) {
  Table table({"a"});
  table.AddRow({"1", "2"});
  EXPECT_EQ(table.ToString(0), "a\n1\n");
}

}  // namespace
}  // namespace aitune::cli
