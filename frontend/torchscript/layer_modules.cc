#include "frontend/torchscript/layer_modules.h"

#include <ATen/ATen.h>
#include <fnmatch.h>

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "frontend/torchscript/model_internal.h"

namespace aitune::frontend {
namespace {

constexpr char kWeight[] = "weight";

std::string Join(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

}  // namespace

LayerModules FindLayerModules(const Model& model) {
  LayerModules found;
  const torch::jit::Module& root = model.impl().bare_module;
  // The paths of those that hold one tensor.
  std::map<std::tuple<const void*, int64_t, std::vector<int64_t>>,
           std::vector<std::string>>
      paths;
  for (const auto& module : root.named_modules()) {
    found.classes.emplace(module.name,
                          module.value.type()->name()->qualifiedName());
    bool is_layer = false;
    for (const auto& attribute :
         module.value.named_attributes(/*recurse=*/false)) {
      if (!attribute.value.isTensor()) continue;
      const at::Tensor& tensor = attribute.value.toTensor();
      if (!tensor.defined() || tensor.dim() < 2 || !tensor.has_storage())
        continue;
      is_layer = true;
      found.layers.push_back(Join(module.name, attribute.name));
      if (attribute.name == kWeight)
        paths[{tensor.storage().unsafeGetStorageImpl(), tensor.storage_offset(),
               tensor.sizes().vec()}]
            .push_back(module.name);
    }
    if (is_layer && !module.name.empty()) found.layers.push_back(module.name);
  }
  if (found.layers.empty()) found.classes.clear();
  for (const auto& [tensor, holders] : paths) {
    for (const std::string& path : holders)
      found.holders.emplace(Join(path, kWeight), holders);
  }
  return found;
}

absl::Status CheckLayerPatterns(const LayerModules& modules,
                                absl::Span<const std::string> patterns) {
  if (modules.classes.empty()) return absl::OkStatus();
  for (const std::string& pattern : patterns) {
    if (std::any_of(modules.layers.begin(), modules.layers.end(),
                    [&](const std::string& layer) {
                      return fnmatch(pattern.c_str(), layer.c_str(), 0) == 0;
                    }))
      continue;
    constexpr size_t kShown = 8;
    std::vector<std::string> some;
    for (const auto& [weight, paths] : modules.holders) {
      if (some.size() == kShown) break;
      some.emplace_back(absl::StripSuffix(weight, absl::StrCat(".", kWeight)));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "no layer is '", pattern,
        "', a pattern of layers to leave alone: give the path of a module with "
        "a weight",
        some.empty() ? ""
                     : absl::StrCat(", such as ", absl::StrJoin(some, ", ")),
        ", or a pattern such as 'encoder.*'"));
  }
  return absl::OkStatus();
}

}  // namespace aitune::frontend
