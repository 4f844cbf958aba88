// What a shared library adds to the compiler: passes, schedules, cost models
// and search strategies, without a change to the tree.
//
// A plug-in defines one entry with AITUNE_PLUGIN; `aitune --plugin FILE` loads
// it before anything is compiled and calls its function, which registers what
// it brings. It is compiled against this tree's headers and links nothing: the
// program has all symbols, so that there is one registry and one identity of
// each MLIR type. examples/plugin/README.md builds one of each kind.
//
// Registering is for the plug-in's function; it is not thread-safe beside a
// compilation.
#ifndef AITUNE_COMPILER_PLUGIN_PLUGIN_H
#define AITUNE_COMPILER_PLUGIN_PLUGIN_H

#include "compiler/pipelines/ExtensionPoints.h"
#include "compiler/plugin/LoadPlugin.h"
#include "compiler/schedule/ScheduleProviders.h"
#include "compiler/tune/CostModel.h"
#include "compiler/tune/Search.h"
#include "llvm/Config/llvm-config.h"

/// Defines the plug-in's entry. `function` is a void function without
/// parameters that registers what it brings.
#define AITUNE_PLUGIN(name, function)                                          \
  extern "C" __attribute__((visibility("default")))                            \
  const aitune::PluginEntry aitunePlugin = {                                   \
      aitune::kPluginVersion, LLVM_VERSION_STRING, name, function}

#endif // AITUNE_COMPILER_PLUGIN_PLUGIN_H
