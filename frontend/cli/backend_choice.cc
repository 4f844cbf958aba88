#include "frontend/cli/backend_choice.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace aitune::cli {
namespace {

ConfigValue ParseValue(absl::string_view text) {
  if (text == "None") return None{};
  if (absl::EqualsIgnoreCase(text, "true")) return true;
  if (absl::EqualsIgnoreCase(text, "false")) return false;
  int64_t integer = 0;
  if (absl::SimpleAtoi(text, &integer)) return integer;
  double number = 0;
  if (absl::SimpleAtod(text, &number)) return number;
  const std::string name(absl::StripPrefix(text, "torch."));
  if (std::optional<DataType> dtype = ParseDataType(name)) return *dtype;
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

}  // namespace

absl::StatusOr<std::pair<std::string, ConfigDict>> ParseBackendChoice(
    const std::string& text) {
  const auto error = [&](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat("--backend \"", text, "\": ", why,
                     "; such as \"TorchInductorBackend(mode=max-autotune)\""));
  };
  absl::string_view rest(text);
  const size_t open = rest.find('(');
  std::pair<std::string, ConfigDict> choice;
  choice.first = std::string(absl::StripAsciiWhitespace(rest.substr(0, open)));
  if (choice.first.empty()) return error("no kind of backend is named");
  if (open == absl::string_view::npos) return choice;
  rest.remove_prefix(open + 1);
  if (!absl::ConsumeSuffix(&rest, ")")) return error("the last ) is missing");
  if (absl::StripAsciiWhitespace(rest).empty()) return choice;
  for (absl::string_view part : absl::StrSplit(rest, ',')) {
    const std::vector<absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(field[0]);
    if (field.size() != 2 || name.empty())
      return error(absl::StrCat("\"", absl::StripAsciiWhitespace(part),
                                "\" is not NAME=VALUE"));
    const std::vector<absl::string_view> path =
        absl::StrSplit(name, absl::MaxSplits('.', 1));
    ConfigDict* dict =
        path.size() == 1 ? &choice.second : DictIn(choice.second, path[0]);
    if (dict == nullptr)
      return error(absl::StrCat("\"", path[0], "\" has a value already"));
    if (Find(*dict, std::string(path.back())) != nullptr)
      return error(absl::StrCat("\"", name, "\" is given twice"));
    dict->emplace_back(std::string(path.back()),
                       ParseValue(absl::StripAsciiWhitespace(field[1])));
  }
  return choice;
}

}  // namespace aitune::cli
