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

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/plugin/LoadPlugin.h"
#include "compiler/tune/CostModel.h"
#include "compiler/tune/Schedule.h"
#include "compiler/tune/Search.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Config/llvm-config.h"

namespace aitune {

/// Where in the compiler a pass runs.
enum class PassPoint {
  AfterImport,     ///< the graph in @main, as it was imported
  AfterTransforms, ///< simplified, normalisations taken apart, layouts chosen
  AfterFusion,     ///< @main launches kernels, each a function of its own
  BeforeCodegen,   ///< a module with one kernel, just before its code is made
};

using PassFactory = std::function<std::unique_ptr<mlir::Pass>()>;

/// Runs the pass at `point` of each compilation, after those registered before
/// it. A pass on func.func runs on each function.
void registerPass(PassPoint point, PassFactory factory);

/// For the pipelines: adds what is registered for `point`.
void addRegisteredPasses(PassPoint point, mlir::OpPassManager &passManager);

/// More schedules for `kernel`, whose space so far is `space`: its form names
/// the template, its schedules show how that writes its parameters. Features
/// must be as many as theirs, in the same order.
using ScheduleProvider = std::function<std::vector<Schedule>(
    mlir::func::FuncOp kernel, const KernelSpace &space)>;

/// Adds to the search space of every kernel. Schedules that the template
/// cannot generate are recorded as failed and skipped by the search.
void registerSchedules(ScheduleProvider provider);

/// For the tuner: inserts what the registered providers give behind the
/// default. Fails with `reason` for a schedule whose text is no attribute, or
/// with another number of features than the template's own.
mlir::LogicalResult addRegisteredSchedules(mlir::func::FuncOp kernel,
                                           KernelSpace &space,
                                           std::string &reason);

} // namespace aitune

/// Defines the plug-in's entry. `function` is a void function without
/// parameters that registers what it brings.
#define AITUNE_PLUGIN(name, function)                                          \
  extern "C" __attribute__((visibility("default")))                            \
  const aitune::PluginEntry aitunePlugin = {                                   \
      aitune::kPluginVersion, LLVM_VERSION_STRING, name, function}

#endif // AITUNE_COMPILER_PLUGIN_PLUGIN_H
