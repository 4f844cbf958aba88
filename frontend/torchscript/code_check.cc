#include "frontend/torchscript/code_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace aitune::frontend {
namespace {

// LibTorch 2.11 overflows a stack of 8 MiB at some 4,000 brackets, and at no
// fewer operators.
constexpr size_t kMostNested = 2000;

// Whether each line that begins with `import` ends with the name after it, and
// the next one is not indented, as otherwise it does not end for LibTorch.
bool ImportsEnd(absl::string_view code) {
  constexpr absl::string_view kImport = "import";
  while (!code.empty()) {
    const size_t end = code.find('\n');
    absl::string_view line = code.substr(0, end);
    code.remove_prefix(end == code.npos ? code.size() : end + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.substr(0, kImport.size()) != kImport) continue;
    line.remove_prefix(kImport.size());
    // A name such as `important`.
    if (!line.empty() && (absl::ascii_isalnum(line[0]) || line[0] == '_'))
      continue;
    if (code.empty() || !absl::ascii_isalpha(code[0]) ||
        !std::all_of(line.begin(), line.end(), [](char c) {
          return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == ' ';
        }))
      return false;
  }
  return true;
}

bool IsOperator(absl::string_view word) {
  constexpr std::array<absl::string_view, 8> kOperators = {
      "and", "else", "if", "in", "is", "lambda", "not", "or"};
  return std::find(kOperators.begin(), kOperators.end(), word) !=
         kOperators.end();
}

// The end of the string that begins at `begin` with a quote.
size_t EndOfString(absl::string_view code, size_t begin) {
  absl::string_view quote = code.substr(begin, 1);
  if (code.substr(begin, 3) == std::string{quote[0], quote[0], quote[0]})
    quote = code.substr(begin, 3);
  for (size_t i = begin + quote.size(); i < code.size(); ++i) {
    if (code[i] == '\\')
      ++i;
    else if (code.substr(i, quote.size()) == quote)
      return i + quote.size();
  }
  return code.size();
}

// How deep the deepest statement is nested, at most: a level for each bracket
// that is open, each operator, call and index since the last comma in each of
// these, and each space of indentation.
size_t Nesting(absl::string_view code) {
  std::vector<size_t> open = {0};  // by bracket: what follows the last comma
  size_t deepest = 0, operators = 0, indentation = 0;
  const auto reset = [&] {
    operators -= open.back();
    open.back() = 0;
  };
  const auto look = [&] {
    deepest = std::max(deepest, operators + open.size() + indentation);
  };
  const auto add = [&] {
    ++open.back();
    ++operators;
    look();
  };
  for (size_t i = 0; i < code.size();) {
    const char c = code[i];
    if (c == '\'' || c == '"') {
      i = EndOfString(code, i);
      continue;
    }
    if (absl::ascii_isalnum(c) || c == '_') {
      size_t end = i;
      while (end < code.size() &&
             (absl::ascii_isalnum(code[end]) || code[end] == '_'))
        ++end;
      if (IsOperator(code.substr(i, end - i))) add();
      i = end;
      continue;
    }
    ++i;
    if (c == '#') {
      i = std::min(code.find('\n', i), code.size());
    } else if (c == '\\') {
      ++i;  // the statement goes on behind the end of the line
    } else if (c == '\n') {
      if (open.size() > 1) continue;
      reset();
      const size_t begin = i;
      while (i < code.size() && absl::ascii_isblank(code[i])) ++i;
      indentation = i - begin;
    } else if (c == ',') {
      reset();
    } else if (c == '(' || c == '[' || c == '{') {
      open.push_back(0);
      look();
    } else if (c == ')' || c == ']' || c == '}') {
      reset();
      if (open.size() > 1) open.pop_back();
      add();  // a call or an index, which others may follow
    } else if (absl::ascii_ispunct(c) && c != '.' && c != ':') {
      add();
    }
  }
  return deepest;
}

}  // namespace

absl::Status CheckCode(absl::string_view what, absl::string_view code) {
  if (!ImportsEnd(code)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has an import without an end"));
  }
  if (const size_t nesting = Nesting(code); nesting > kMostNested) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " has a statement that is nested ", nesting,
        " levels deep, more than the ", kMostNested,
        " that LibTorch is sure to survive: compute parts of it in statements "
        "of their own"));
  }
  return absl::OkStatus();
}

}  // namespace aitune::frontend
