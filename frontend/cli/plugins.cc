#include "frontend/cli/plugins.h"

#include "compiler/plugin/LoadPlugin.h"
#include "compiler/tune/CostModel.h"
#include "compiler/tune/Search.h"
#include "frontend/torchscript/operator_library.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {

absl::Status LoadPlugins(const Options& options) {
  for (const std::string& library : options.libraries)
    AITUNE_RETURN_IF_ERROR(frontend::LoadOperatorLibrary(library));
  for (const std::string& plugin : options.plugins)
    AITUNE_RETURN_IF_ERROR(loadPlugin(plugin));
  AITUNE_RETURN_IF_ERROR(
      createSearchStrategy(options.compile.tuning.strategy).status());
  return createCostModel(options.compile.tuning.costModel, Roofline()).status();
}

}  // namespace aitune::cli
