#include "compiler/plugin/LoadedPlugins.h"

namespace aitune {

std::vector<LoadedPlugin> &loadedPlugins() {
  static auto *const plugins = new std::vector<LoadedPlugin>();
  return *plugins;
}

} // namespace aitune
