#include "frontend/torchscript/keyword_arguments.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/model_internal.h"

namespace aitune::frontend {

absl::StatusOr<ValueList> WithKeywordArguments(
    const Model& model, const ValueList& positional,
    absl::Span<const std::string> names, const ValueList& named) {
  const auto refuse = [&](const std::string& what) {
    return absl::InvalidArgumentError(
        absl::StrCat("a call ", what, "; the model is ", model.Signature()));
  };
  if (names.size() != static_cast<size_t>(named.size()))
    return refuse(absl::StrCat("has ", names.size(), " names for ",
                               named.size(), " values"));
  const std::vector<Parameter>& parameters = model.parameters();
  if (static_cast<size_t>(positional.size()) > parameters.size())
    return refuse(absl::StrCat("has ", positional.size(),
                               " positional arguments, which are more than "
                               "there are parameters"));
  std::vector<std::optional<c10::IValue>> given(parameters.size());
  size_t count = positional.values().size();  // up to the last given one
  for (size_t i = 0; i < count; ++i) given[i] = positional.values()[i];
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = std::find_if(
        parameters.begin(), parameters.end(),
        [&](const Parameter& one) { return one.name == names[i]; });
    if (found == parameters.end())
      return refuse(absl::StrCat("names the argument '", names[i],
                                 "', which there is not"));
    const size_t index = found - parameters.begin();
    if (given[index].has_value())
      return refuse(absl::StrCat("gives the argument '", names[i], "' twice"));
    given[index] = named.values()[i];
    count = std::max(count, index + 1);
  }
  const std::vector<c10::Argument>& declared =
      model.impl().ForwardSchema().arguments();
  std::vector<c10::IValue> values;
  for (size_t i = 0; i < count; ++i) {
    if (!given[i].has_value()) {
      if (!parameters[i].has_default)
        return refuse(
            absl::StrCat("lacks the argument '", parameters[i].name, "'"));
      given[i] = *declared[i + 1].default_value();
    }
    values.push_back(*std::move(given[i]));
  }
  return ValueList(std::move(values));
}

}  // namespace aitune::frontend
