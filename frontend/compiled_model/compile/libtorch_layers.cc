#include "frontend/compiled_model/compile/libtorch_layers.h"

#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace aitune::frontend {
namespace {

// The weights of linear layers among the arguments of `op`.
std::vector<ValueId> WeightsOf(const TraceOp& op) {
  for (size_t i = 0; i < op.arguments.size() && i < op.argument_names.size();
       ++i) {
    const ValueId* weight = std::get_if<ValueId>(&op.arguments[i]);
    if (op.name == "aten::linear" && op.argument_names[i] == "weight" &&
        weight != nullptr)
      return {*weight};
    // As TraceBuilder::AddRegion gives them.
    const auto* weights = std::get_if<std::vector<ValueId>>(&op.arguments[i]);
    if (op.argument_names[i] == "linear_weights" && weights != nullptr)
      return *weights;
  }
  return {};
}

}  // namespace

std::vector<QuantizedLayer> LayersOfLibTorch(
    const Trace& trace, const std::map<int, std::string>& fallbacks,
    const std::string& scheme, std::map<int64_t, std::string>* weights) {
  std::vector<QuantizedLayer> layers;
  std::set<std::pair<int32_t, std::string>> seen;
  for (const auto& [position, reason] : fallbacks) {
    const TraceOp& op = trace.ops[static_cast<size_t>(position)];
    for (const ValueId id : WeightsOf(op)) {
      if (id < 0) continue;
      const TraceValue& value = trace.values[static_cast<size_t>(id)];
      if (value.kind != TraceValue::Kind::kConstant ||
          value.type.sizes.size() != 2 ||
          !seen.emplace(value.constant, reason).second)
        continue;
      if (weights != nullptr) weights->emplace(value.constant, reason);
      const ConstantTensor& weight =
          trace.constants[static_cast<size_t>(value.constant)];
      QuantizedLayer& layer = layers.emplace_back();
      layer.layer = weight.name.empty()
                        ? op.scope
                        : std::string(absl::StripSuffix(
                              absl::StripSuffix(weight.name, "weight"), "."));
      layer.n = weight.view.sizes[0];
      layer.k = weight.view.sizes[1];
      layer.scheme = scheme;
      layer.refusal = absl::StrCat("LibTorch runs it: ", reason);
    }
  }
  return layers;
}

}  // namespace aitune::frontend
