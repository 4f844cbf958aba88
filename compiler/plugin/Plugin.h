// The interface of plug-ins: shared libraries that add passes, schedules, cost
// models and search strategies to the compiler without a change of the tree.
//
// A plug-in defines one entry with AITUNE_PLUGIN. `aitune --plugin FILE` loads
// the plug-in before anything is compiled and calls its function, which
// registers its additions. A plug-in is compiled against this tree's headers
// and links no library: the program provides all symbols, so that there is only
// one registry and one identity of each MLIR type. examples/plugin/README.md
// builds one plug-in of each kind.
//
// Only the plug-in's function should register; registering is not thread-safe
// while something is compiled.
#ifndef AITUNE_COMPILER_PLUGIN_PLUGIN_H
#define AITUNE_COMPILER_PLUGIN_PLUGIN_H

#include "compiler/pipelines/ExtensionPoints.h"
#include "compiler/plugin/LoadPlugin.h"
#include "compiler/schedule/ScheduleProviders.h"
#include "compiler/tune/CostModel.h"
#include "compiler/tune/Search.h"
#include "llvm/Config/llvm-config.h"

/// Defines the plug-in's entry. `name` is a string literal; `function` is a
/// void function without parameters that registers the plug-in's additions.
#define AITUNE_PLUGIN(name, function)                                          \
  extern "C" __attribute__((visibility("default")))                            \
  const aitune::PluginEntry aitunePlugin = {                                   \
      aitune::kPluginVersion, LLVM_VERSION_STRING, name, function}

#endif // AITUNE_COMPILER_PLUGIN_PLUGIN_H
