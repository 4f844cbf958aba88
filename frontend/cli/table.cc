#include "frontend/cli/table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace aitune::cli {

Table::Table(std::vector<std::string> headers) : headers_(std::move(headers)) {
  for (std::string& header : headers_) {
    right_.push_back(!header.empty() && header[0] == '>');
    if (right_.back()) header.erase(0, 1);
  }
}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(headers_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::ToString(int indent) const {
  std::vector<size_t> widths;
  for (const std::string& header : headers_) widths.push_back(header.size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  auto line = [&](const std::vector<std::string>& cells) {
    std::string out(indent, ' ');
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += "  ";
      const std::string padding(widths[i] - cells[i].size(), ' ');
      out += right_[i] ? padding + cells[i] : cells[i] + padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + '\n';
  };
  line(headers_);
  for (const auto& row : rows_) line(row);
  return text;
}

std::string Percent(double share) {
  return absl::StrFormat("%.4g %%", std::floor(share * 1e4) / 1e2);
}

}  // namespace aitune::cli
