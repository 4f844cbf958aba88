// Text tables for a terminal.
#ifndef AITUNE_FRONTEND_CLI_TABLE_H_
#define AITUNE_FRONTEND_CLI_TABLE_H_

#include <string>
#include <vector>

namespace aitune::cli {

// Columns are as wide as their widest cell; a column whose header starts with
// '>' is aligned to the right (the mark is not printed). Cells are ASCII.
class Table {
 public:
  explicit Table(std::vector<std::string> headers);

  // Adds a row with one cell for each column. Missing cells are empty; surplus
  // cells are ignored.
  void AddRow(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // Every line starts with `indent` spaces and ends without trailing blanks.
  std::string ToString(int indent = 2) const;

 private:
  std::vector<std::string> headers_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// A share of 1 as a cell prints it: "87.5 %". Rounded down, so that "100 %"
// means all.
std::string Percent(double share);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_TABLE_H_
