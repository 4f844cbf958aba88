// The modules of a model as its linear layers are told apart by: the class of
// each, and which of them hold one weight. Quantisation asks for them.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_LAYER_MODULES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_LAYER_MODULES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "frontend/torchscript/model.h"

namespace aitune::frontend {

struct LayerModules {
  // By path, the TorchScript class of each module, such as
  // "__torch__.torch.nn.modules.linear.Linear"; "" is the path of the model.
  std::map<std::string, std::string> classes;
  // By each name that state_dict has for a module's parameter `weight`, the
  // paths of all modules whose `weight` is the same tensor, in the order of the
  // model.
  std::map<std::string, std::vector<std::string>> holders;
  // The paths of modules that hold a tensor of two axes or more, and the names
  // of these tensors.
  std::vector<std::string> layers;
};

// All empty for a model without such tensors, as frozen ones are: theirs are
// constants of no module. Thread-safe.
LayerModules FindLayerModules(const Model& model);

// kInvalidArgument for a pattern, as in a shell, of which no layer is; the text
// names some that there are. Thread-safe.
absl::Status CheckLayerPatterns(const LayerModules& modules,
                                absl::Span<const std::string> patterns);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_LAYER_MODULES_H_
