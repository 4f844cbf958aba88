#include "runtime/backend/config_reader.h"

#include "absl/strings/str_join.h"

namespace aitune {

const ConfigValue* ConfigReader::Take(std::string_view name) {
  names_.emplace(name);
  return Find(dict_, name);
}

void ConfigReader::Refuse(std::string_view name, const ConfigValue& given,
                          std::string_view expected) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(
      absl::StrCat(class_name_, ": the field '", std::string(name), "' is of ",
                   std::string(PythonTypeName(given)), ", it must be of ",
                   std::string(expected)));
}

absl::Status ConfigReader::Finish() {
  if (!status_.ok()) return status_;
  for (const auto& [name, value] : dict_) {
    if (names_.count(name) > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(class_name_, ": there is no field '", name,
                     "'; the fields are ", absl::StrJoin(names_, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace aitune
