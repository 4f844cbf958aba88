#include "tests/random_models/program.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace aitune::random_models {
namespace {

// Numbers of c10::ScalarType.
constexpr int kFloatingPoint[] = {5, 6, 7, 15};
constexpr int kLastDataType = 15;

// Of the values that others are made of, this part is a result too.
constexpr int kResultEvery = 6;

int NumberOf(DataType dtype) { return dtype == DataType::kFloat64 ? 7 : 6; }

}  // namespace

std::string Name(int value) { return absl::StrCat("v", value); }

std::string WithDataTypes(const std::string& text,
                          std::optional<DataType> floats) {
  std::vector<std::pair<std::string, std::string>> numbers;
  for (int number = 0; number <= kLastDataType; ++number) {
    const bool replaced =
        floats &&
        std::find(std::begin(kFloatingPoint), std::end(kFloatingPoint),
                  number) != std::end(kFloatingPoint);
    numbers.emplace_back(absl::StrCat("$(", number, ")"),
                         absl::StrCat(replaced ? NumberOf(*floats) : number));
  }
  return absl::StrReplaceAll(text, numbers);
}

std::string Widened(const std::string& text, const std::vector<int>& values,
                    int number) {
  std::string widened;
  const auto is_word = [&](size_t i) {
    return i < text.size() && (absl::ascii_isalnum(text[i]) || text[i] == '_');
  };
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (is_word(end)) ++end;
    const std::string word = text.substr(i, std::max<size_t>(end - i, 1));
    absl::StrAppend(&widened, word);
    for (const int value : values) {
      if (word == Name(value)) absl::StrAppend(&widened, ".to(", number, ")");
    }
    i += word.size();
  }
  return widened;
}

Program Reduced(const Program& program, const Reduction& reduction) {
  Program reduced;
  reduced.seed = program.seed;
  reduced.inputs = program.inputs;
  std::set<int> missing;
  for (size_t i = 0; i < program.statements.size(); ++i) {
    Statement statement = program.statements[i];
    const int position = static_cast<int>(i);
    if (statement.like >= 0 && reduction.bypassed.count(position)) {
      statement.text = absl::StrCat(Name(statement.makes[0]), " = ",
                                    Name(statement.like), ".clone()");
      statement.reads = {statement.like};
      statement.measures.clear();
      statement.promotes.clear();
    }
    const auto is_missing = [&](int value) { return missing.count(value) > 0; };
    if (reduction.dropped.count(position) ||
        std::any_of(statement.reads.begin(), statement.reads.end(),
                    is_missing) ||
        std::any_of(statement.measures.begin(), statement.measures.end(),
                    is_missing)) {
      missing.insert(statement.makes.begin(), statement.makes.end());
      continue;
    }
    reduced.statements.push_back(std::move(statement));
  }
  return reduced;
}

std::string SourceOf(const Program& program, std::optional<DataType> floats) {
  std::vector<std::string> parameters;
  std::vector<int> made;
  for (size_t i = 0; i < program.inputs.size(); ++i)
    parameters.push_back(Name(static_cast<int>(i)) + ": Tensor");
  std::string source = absl::StrCat("def forward(self, ",
                                    absl::StrJoin(parameters, ", "), "):\n");
  std::set<int> read;
  for (const Statement& statement : program.statements) {
    const std::string text =
        floats ? Widened(statement.text, statement.promotes, NumberOf(*floats))
               : statement.text;
    for (const absl::string_view line : absl::StrSplit(text, '\n'))
      absl::StrAppend(&source, "    ", line, "\n");
    made.insert(made.end(), statement.makes.begin(), statement.makes.end());
    // A write is seen in what it writes to, which is then a result.
    if (!statement.makes.empty())
      read.insert(statement.reads.begin(), statement.reads.end());
  }
  std::vector<std::string> results;
  for (const int value : made) {
    if (!read.count(value) || value % kResultEvery == 0)
      results.push_back(Name(value));
  }
  if (results.empty()) results.push_back("v0.clone()");
  absl::StrAppend(&source, "    return (", absl::StrJoin(results, ", "),
                  ",)\n");
  return WithDataTypes(source, floats);
}

}  // namespace aitune::random_models
