#include "compiler/support/PluginName.h"

#include <exception>

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

std::string whatIsThrown(const std::function<void()> &body) {
  try {
    body();
  } catch (const std::exception &thrown) {
    return std::string("it throws an exception: ") + thrown.what();
  } catch (...) {
    return "it throws what is no std::exception";
  }
  return "";
}

} // namespace aitune
