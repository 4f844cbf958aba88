// Which plug-ins this process has loaded: what was compiled depends on them, so
// the cache's key names them. Apart from LoadPlugin.h, for programs without
// LLVM.
#ifndef AITUNE_COMPILER_PLUGIN_LOADEDPLUGINS_H
#define AITUNE_COMPILER_PLUGIN_LOADEDPLUGINS_H

#include <string>
#include <vector>

namespace aitune {

struct LoadedPlugin {
  std::string name, path;
  std::string sha256; ///< of the file
};

/// In the order of loading. loadPlugin appends; not thread-safe beside it.
std::vector<LoadedPlugin> &loadedPlugins();

} // namespace aitune

#endif // AITUNE_COMPILER_PLUGIN_LOADEDPLUGINS_H
