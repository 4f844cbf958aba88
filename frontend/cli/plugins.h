// Loads the libraries of --library and the plug-ins of --plugin, before a
// command starts.
#ifndef AITUNE_FRONTEND_CLI_PLUGINS_H_
#define AITUNE_FRONTEND_CLI_PLUGINS_H_

#include "absl/status/status.h"
#include "frontend/cli/options.h"

namespace aitune::cli {

// Loads the libraries and the plug-ins, then checks that the search strategy
// and the cost model asked for are there: a plug-in may have brought them.
// Errors: those of LoadOperatorLibrary
// (frontend/torchscript/operator_library.h) and of loadPlugin
// (compiler/plugin/LoadPlugin.h); kInvalidArgument for a name that nobody
// registered, with those that there are.
absl::Status LoadPlugins(const Options& options);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_PLUGINS_H_
