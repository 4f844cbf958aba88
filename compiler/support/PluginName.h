// Whose passes, schedules, cost models and search strategies are registered.
// Registries keep the text with each, for what they say when one is wrong, and
// call it so that an exception ends no process.
#ifndef AITUNE_COMPILER_SUPPORT_PLUGINNAME_H
#define AITUNE_COMPILER_SUPPORT_PLUGINNAME_H

#include <functional>
#include <string>

namespace aitune {

/// " of the plug-in 'NAME'" while the function of that plug-in registers its
/// additions, else empty. To be called where registering is allowed.
const std::string &ofPlugin();

/// Says so while it lives. By one thread at a time, as plug-ins are loaded.
class ScopedPlugin {
public:
  explicit ScopedPlugin(const std::string &name);
  ~ScopedPlugin();
  ScopedPlugin(const ScopedPlugin &) = delete;
};

/// Runs `body`, which calls what a plug-in registered. Says what it threw;
/// empty if it threw nothing.
std::string whatIsThrown(const std::function<void()> &body);

} // namespace aitune

#endif // AITUNE_COMPILER_SUPPORT_PLUGINNAME_H
