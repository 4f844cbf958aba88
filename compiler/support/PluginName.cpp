#include "compiler/support/PluginName.h"

namespace aitune {
namespace {

std::string &registering() {
  static auto *const text = new std::string();
  return *text;
}

} // namespace

const std::string &ofPlugin() { return registering(); }

ScopedPlugin::ScopedPlugin(const std::string &name) {
  registering() = " of the plug-in '" + name + "'";
}

ScopedPlugin::~ScopedPlugin() { registering().clear(); }

} // namespace aitune
