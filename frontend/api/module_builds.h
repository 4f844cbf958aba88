// What a module remembers of the versions that were compiled of it, for its
// report and for the sizes at which it is checked.
#ifndef AITUNE_FRONTEND_API_MODULE_BUILDS_H_
#define AITUNE_FRONTEND_API_MODULE_BUILDS_H_

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frontend/api/module.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/model_versions.h"

namespace ait {

// The versions that were built of the module, by the backend's key.
// Thread-safe.
class Module::Builds {
 public:
  // With `inputs` the sizes to check on are those of the first version.
  void Add(
      const std::string& key,
      const std::shared_ptr<const aitune::frontend::CompiledModel>& version,
      const std::optional<aitune::frontend::ModelInputs>& inputs,
      uint64_t seed) {
    const bool is_first = Versions(key).empty();
    std::vector<std::vector<int64_t>> sizes;
    if (is_first && inputs.has_value()) {
      auto found = BoundarySizes(*version, *inputs, seed);
      if (found.ok()) sizes = *std::move(found);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    Built& built = built_[key];
    if (built.versions.empty()) built.sizes = std::move(sizes);
    built.versions.push_back({version, version->Describe()});
  }
  // `version`, which was added before, is another one now.
  void Replace(const std::string& key,
               const aitune::frontend::CompiledModel& version) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Version>& versions = built_[key].versions;
    const auto found = std::find_if(
        versions.begin(), versions.end(),
        [&](const Version& one) { return one.model.lock().get() == &version; });
    if (found != versions.end()) found->description = version.Describe();
  }
  std::vector<aitune::frontend::BuiltVersion> Versions(
      const std::string& key) const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<aitune::frontend::BuiltVersion> versions;
    const auto found = built_.find(key);
    if (found == built_.end()) return versions;
    for (const Version& version : found->second.versions) {
      versions.push_back(version.description);
      // What calls have shown since.
      if (const auto model = version.model.lock())
        versions.back().graph_reason = model->GraphReason();
    }
    return versions;
  }
  std::vector<std::vector<int64_t>> SizesToCheck(const std::string& key) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = built_.find(key);
    if (found == built_.end()) return {};
    return found->second.sizes;
  }

 private:
  struct Version {
    std::weak_ptr<const aitune::frontend::CompiledModel> model;
    aitune::frontend::BuiltVersion description;
  };
  struct Built {
    std::vector<Version> versions;
    std::vector<std::vector<int64_t>> sizes;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Built> built_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_MODULE_BUILDS_H_
