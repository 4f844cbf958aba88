#include "frontend/api/backend_choice.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

using aitune::ConfigDict;
using aitune::ConfigList;
using aitune::ConfigValue;
using aitune::DataType;

ConfigValue ParseScalar(absl::string_view text) {
  if (text == "None") return aitune::None{};
  if (absl::EqualsIgnoreCase(text, "true")) return true;
  if (absl::EqualsIgnoreCase(text, "false")) return false;
  int64_t integer = 0;
  if (absl::SimpleAtoi(text, &integer)) return integer;
  double number = 0;
  if (absl::SimpleAtod(text, &number)) return number;
  const std::string name(absl::StripPrefix(text, "torch."));
  if (std::optional<DataType> dtype = aitune::ParseDataType(name))
    return *dtype;
  return std::string(text);
}

// The dict called `name` in `config`, which is made if there is none; null when
// `name` is something else there.
ConfigDict* DictIn(ConfigDict& config, absl::string_view name) {
  for (auto& [other, value] : config) {
    if (other != name) continue;
    return const_cast<ConfigDict*>(value.get_if<ConfigDict>());
  }
  config.emplace_back(std::string(name), ConfigDict());
  return const_cast<ConfigDict*>(config.back().second.get_if<ConfigDict>());
}

// Objects and lists within each other, of which no configuration has more.
constexpr int kMostNested = 8;

// Reads a text from its start; errors say what was wrong, without the text.
class Parser {
 public:
  explicit Parser(absl::string_view text) : rest_(text) {}

  // "NAME(FIELD=VALUE, ...)", or "NAME" alone.
  absl::StatusOr<BackendChoice> ParseBackend() {
    BackendChoice choice;
    choice.first = std::string(TakeUntil("("));
    if (choice.first.empty())
      return absl::InvalidArgumentError("no kind of backend is named");
    if (rest_.empty()) return choice;
    AITUNE_ASSIGN_OR_RETURN(choice.second, ParseFields(ConfigDict()));
    if (const absl::string_view more = TakeUntil(""); !more.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("\"", more, "\" stands behind the last )"));
    return choice;
  }

 private:
  // What is before one of the characters `ends`, without spaces around it.
  absl::string_view TakeUntil(absl::string_view ends) {
    const size_t end = std::min(rest_.find_first_of(ends), rest_.size());
    const absl::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return absl::StripAsciiWhitespace(taken);
  }

  bool Consume(absl::string_view character) {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return absl::ConsumePrefix(&rest_, character);
  }

  // What `parse_one` reads, again behind each comma, and `close`.
  absl::Status ParseUntil(absl::string_view close,
                          absl::FunctionRef<absl::Status()> parse_one) {
    if (Consume(close)) return absl::OkStatus();
    do {
      AITUNE_RETURN_IF_ERROR(parse_one());
    } while (Consume(","));
    if (Consume(close)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the last ", close, " is missing"));
  }

  // "(FIELD=VALUE, ...)", added to `fields`.
  absl::StatusOr<ConfigDict> ParseFields(ConfigDict fields) {
    Consume("(");
    AITUNE_RETURN_IF_ERROR(ParseUntil(")", [&]() -> absl::Status {
      const absl::string_view name = TakeUntil("=,()");
      if (name.empty() || !Consume("="))
        return absl::InvalidArgumentError(
            absl::StrCat("\"", name, "\" is not NAME=VALUE"));
      const std::vector<absl::string_view> path =
          absl::StrSplit(name, absl::MaxSplits('.', 1));
      AITUNE_ASSIGN_OR_RETURN(ConfigValue value, ParseValue());
      ConfigDict* dict = path.size() == 1 ? &fields : DictIn(fields, path[0]);
      if (dict == nullptr)
        return absl::InvalidArgumentError(
            absl::StrCat("\"", path[0], "\" has a value already"));
      return Add(name, std::string(path.back()), std::move(value), *dict);
    }));
    return fields;
  }

  // `shown` is what errors call the key.
  static absl::Status Add(absl::string_view shown, std::string key,
                          ConfigValue value, ConfigDict& dict) {
    if (aitune::Find(dict, key) != nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("\"", shown, "\" is given twice"));
    dict.emplace_back(std::move(key), std::move(value));
    return absl::OkStatus();
  }

  absl::StatusOr<ConfigValue> ParseValue() {
    if (++nested_ > kMostNested)
      return absl::InvalidArgumentError(absl::StrCat(
          "more than ", kMostNested, " values are within each other"));
    AITUNE_ASSIGN_OR_RETURN(ConfigValue value, ParseAnyValue());
    --nested_;
    return value;
  }

  absl::StatusOr<ConfigValue> ParseAnyValue() {
    if (Consume("[")) return ParseList();
    if (Consume("{")) return ParseDict();
    AITUNE_ASSIGN_OR_RETURN(std::optional<std::string> quoted, ParseQuoted());
    if (quoted) return ConfigValue(*std::move(quoted));
    const absl::string_view text = TakeUntil("(),[]{}");
    if (text.empty() || !absl::StartsWith(rest_, "(")) return ParseScalar(text);
    AITUNE_ASSIGN_OR_RETURN(ConfigDict object,
                            ParseFields({{"type", std::string(text)}}));
    return ConfigValue(std::move(object));
  }

  // A text in quotes, without them; not set where no quote is next.
  absl::StatusOr<std::optional<std::string>> ParseQuoted() {
    for (const absl::string_view quote : {"'", "\""}) {
      if (!Consume(quote)) continue;
      const size_t end = rest_.find(quote);
      if (end == absl::string_view::npos)
        return absl::InvalidArgumentError(
            absl::StrCat("the last ", quote, " is missing"));
      std::string text(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      return text;
    }
    return std::nullopt;
  }

  // The elements and the ].
  absl::StatusOr<ConfigValue> ParseList() {
    ConfigList list;
    AITUNE_RETURN_IF_ERROR(ParseUntil("]", [&]() -> absl::Status {
      AITUNE_ASSIGN_OR_RETURN(ConfigValue element, ParseValue());
      list.push_back(std::move(element));
      return absl::OkStatus();
    }));
    return ConfigValue(std::move(list));
  }

  // The "'KEY': VALUE" of a dict as Python prints it, and the }.
  absl::StatusOr<ConfigValue> ParseDict() {
    ConfigDict dict;
    AITUNE_RETURN_IF_ERROR(ParseUntil("}", [&]() -> absl::Status {
      AITUNE_ASSIGN_OR_RETURN(std::optional<std::string> key, ParseQuoted());
      if (!key) key = std::string(TakeUntil(":,}"));
      if (!Consume(":"))
        return absl::InvalidArgumentError(
            absl::StrCat("\"", *key, "\" is not 'KEY': VALUE"));
      AITUNE_ASSIGN_OR_RETURN(ConfigValue value, ParseValue());
      return Add(*key, *key, std::move(value), dict);
    }));
    return ConfigValue(std::move(dict));
  }

  absl::string_view rest_;
  int nested_ = 0;
};

}  // namespace

absl::StatusOr<BackendChoice> ParseBackendChoice(const std::string& text) {
  auto choice = Parser(text).ParseBackend();
  if (choice.ok()) return choice;
  return absl::InvalidArgumentError(
      absl::StrCat("the backend \"", text, "\": ", choice.status().message(),
                   "; such as \"TorchInductorBackend(mode=max-autotune)\""));
}

}  // namespace ait
