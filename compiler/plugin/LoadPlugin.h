// Loading of plug-ins (Plugin.h says what they are): all that a program needs
// that takes --plugin, without a header of MLIR.
#ifndef AITUNE_COMPILER_PLUGIN_LOADPLUGIN_H
#define AITUNE_COMPILER_PLUGIN_LOADPLUGIN_H

#include <string>

#include "absl/status/status.h"

namespace aitune {

/// Raised when a header that plug-ins include changes.
inline constexpr int kPluginVersion = 2;

/// What AITUNE_PLUGIN defines, as the C symbol aitunePlugin.
struct PluginEntry {
  int version;
  const char *llvmVersion;
  const char *name;
  void (*registerAll)();
};

/// Loads the shared library `path` and lets it register what it brings; it
/// stays loaded until the process ends and is listed by loadedPlugins(). Call
/// it before compiling, from one thread. Errors name the file: kInvalidArgument
/// if it cannot be loaded, is no plug-in or was compiled against other headers,
/// kAlreadyExists if one of the same name is loaded.
absl::Status loadPlugin(const std::string &path);

} // namespace aitune

#endif // AITUNE_COMPILER_PLUGIN_LOADPLUGIN_H
