#include "quant/transforms/find_layers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace aitune::quant {
namespace {

namespace ait = mlir::ait;

// The path of the submodule that an operation was traced in, from its location.
std::string ScopeOf(mlir::Operation* op) {
  std::string scope;
  op->getLoc()->walk([&](mlir::Location location) {
    if (auto name = mlir::dyn_cast<mlir::NameLoc>(location);
        name && scope.empty() && name.getName().getValue().contains('/')) {
      scope = name.getName().getValue().rsplit('/').first.str();
    }
    return mlir::WalkResult::advance();
  });
  return scope;
}

// torch.nn.MultiheadAttention holds its projections of inputs as one parameter,
// or three, and its output's in a class that torchao leaves alone.
bool IsPartOfAttention(const std::string& path,
                       const llvm::StringSet<>& names) {
  if (!absl::EndsWith(path, "out_proj")) return false;
  const std::string owner = path.substr(0, path.size() - 8);
  return names.contains(owner + "in_proj_weight") ||
         names.contains(owner + "q_proj_weight");
}

// The module that a layer is of, among those that hold its weight: the one that
// it was traced in, else the first torch.nn.Linear, else the first.
std::string ModuleOf(mlir::Operation* op,
                     const std::vector<std::string>& holders,
                     const QuantizationContext& context) {
  const std::string scope = ScopeOf(op);
  if (llvm::is_contained(holders, scope)) return scope;
  for (const std::string& path : holders) {
    const auto found = context.classes.find(path);
    if (found != context.classes.end() && IsLinearClass(found->second))
      return path;
  }
  return holders.front();
}

}  // namespace

std::vector<Layer> FindLayers(mlir::func::FuncOp function,
                              const QuantizationContext& context) {
  llvm::StringSet<> names;
  function.walk([&](ait::ConstantOp op) { names.insert(op.getName()); });
  std::vector<Layer> layers;
  function.walk([&](ait::MatmulOp matmul) {
    auto weight = matmul.getRhs().getDefiningOp<ait::ConstantOp>();
    if (!weight || matmul.getRhs().getType().getRank() != 2 ||
        matmul.getType().getElementType() !=
            matmul.getRhs().getType().getElementType()) {
      return;
    }
    const std::string name = weight.getName().str();
    Layer layer{matmul, weight, name, {}, ""};
    const bool is_weight = name == "weight" || absl::EndsWith(name, ".weight");
    if (is_weight)
      layer.path =
          name.substr(0, name.size() - std::min<size_t>(name.size(), 7));
    if (name.empty()) layer.path = ScopeOf(matmul);
    if (const auto found = context.holders.find(name);
        found != context.holders.end()) {
      layer.holders = found->second;
      layer.path = ModuleOf(matmul, layer.holders, context);
    }
    if (!matmul.getTransposeRhs()) {
      layer.no_linear = "its weight is [K, N], that of a Linear is [N, K]";
    } else if (!is_weight && !name.empty()) {
      layer.no_linear = "its weight is no module's parameter 'weight'";
    } else if (IsPartOfAttention(layer.path, names)) {
      layer.no_linear = "it is the output of a MultiheadAttention";
    }
    layers.push_back(std::move(layer));
  });
  return layers;
}

}  // namespace aitune::quant
