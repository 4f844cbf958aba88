// The plug-ins that this process has loaded. Compiled models depend on them, so
// they are part of cache keys. This header is separate from LoadPlugin.h for
// programs without LLVM.
#ifndef AITUNE_COMPILER_PLUGIN_LOADEDPLUGINS_H
#define AITUNE_COMPILER_PLUGIN_LOADEDPLUGINS_H

#include <string>
#include <vector>

namespace aitune {

struct LoadedPlugin {
  std::string name, path;
  std::string sha256; ///< hash of the file
};

/// The loaded plug-ins in the order of loading. loadPlugin appends to the list;
/// it must not be read at the same time.
std::vector<LoadedPlugin> &loadedPlugins();

} // namespace aitune

#endif // AITUNE_COMPILER_PLUGIN_LOADEDPLUGINS_H
