#include "frontend/importer/registry.h"

namespace aitune::frontend {

const Registry& Registry::Get() {
  // Never destroyed: builders may be in use while the process exits.
  static const Registry& registry = *[] {
    auto* made = new Registry;
#define AITUNE_REGISTER_FAMILY(name) Register##name##Ops(*made);
    AITUNE_OPERATOR_FAMILIES(AITUNE_REGISTER_FAMILY)
#undef AITUNE_REGISTER_FAMILY
    return made;
  }();
  return registry;
}

void Registry::Add(std::initializer_list<const char*> names,
                   const Builder& builder) {
  for (const char* name : names) {
    const std::string text = name;
    builders_.emplace(
        text.find("::") == std::string::npos ? "aten::" + text : text, builder);
  }
}

const Builder* Registry::Find(const std::string& name) const {
  auto found = builders_.find(name);
  return found == builders_.end() ? nullptr : &found->second;
}

}  // namespace aitune::frontend
