// Loads plug-ins (Plugin.h says what they are). A program that accepts --plugin
// needs this header only, which includes no header of MLIR.
#ifndef AITUNE_COMPILER_PLUGIN_LOADPLUGIN_H
#define AITUNE_COMPILER_PLUGIN_LOADPLUGIN_H

#include <string>

#include "absl/status/status.h"

namespace aitune {

/// The version of the plug-in interface. Increase it when a header that
/// plug-ins include changes.
inline constexpr int kPluginVersion = 3;

/// The contents of the C symbol aitunePlugin, which AITUNE_PLUGIN defines.
struct PluginEntry {
  int version;             ///< kPluginVersion of its headers
  const char *llvmVersion; ///< version of its LLVM headers
  const char *name;        ///< name of the plug-in
  void (*registerAll)();   ///< registers its passes, schedules, ...
};

/// Loads the shared library `path` and calls its registerAll. The library stays
/// loaded until the process ends and is listed by loadedPlugins(). To be called
/// before compiling, by one thread at a time. Errors name the file:
/// kInvalidArgument if it cannot be loaded, is not a plug-in or was compiled
/// against other headers, kAlreadyExists if a plug-in of the same name is
/// loaded.
absl::Status loadPlugin(const std::string &path);

} // namespace aitune

#endif // AITUNE_COMPILER_PLUGIN_LOADPLUGIN_H
