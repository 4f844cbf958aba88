#include "frontend/compiled_model/model_signature.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/trace/trace.h"
#include "runtime/plan/plan.h"

namespace aitune::frontend {
namespace {

// Adds the names of the tensors in `structure`, which is called `name`.
void AddNames(const Structure& structure, const std::string& name,
              std::vector<std::string>& names) {
  switch (structure.kind) {
    case Structure::Kind::kTensor:
      names.push_back(name);
      return;
    case Structure::Kind::kNone:
    case Structure::Kind::kConstant:
      return;
    case Structure::Kind::kTuple:
    case Structure::Kind::kList:
      for (size_t i = 0; i < structure.children.size(); ++i)
        AddNames(structure.children[i], absl::StrCat(name, "[", i, "]"), names);
      return;
    case Structure::Kind::kDict:
      for (size_t i = 0; i < structure.children.size(); ++i)
        AddNames(structure.children[i],
                 absl::StrCat(name, "[", structure.keys[i], "]"), names);
      return;
  }
}

TensorSignature TensorOf(const TensorTypeProto& proto,
                         const ExecutablePlan& plan) {
  TensorSignature tensor;
  const auto type = FromProto(proto, plan.symbols_size());
  if (proto.dtype() == 0 || !type.ok()) return tensor;  // LibTorch's
  tensor.dtype = type->dtype;
  for (const SizeExpression& size : type->sizes) {
    SizeRange& range = tensor.axes.emplace_back();
    if (size.constant()) {
      range = {*size.constant(), *size.constant()};
    } else if (size.kind() == SizeExpression::Kind::kSymbol) {
      const SymbolProto& symbol = plan.symbols(size.symbol());
      range = {symbol.min(), symbol.max()};
    }
  }
  return tensor;
}

template <typename Types>
std::vector<TensorSignature> TensorsOf(const Types& types,
                                       const ExecutablePlan& plan,
                                       std::vector<std::string> names) {
  std::vector<TensorSignature> tensors;
  for (const TensorTypeProto& type : types) {
    TensorSignature& tensor = tensors.emplace_back(TensorOf(type, plan));
    if (tensors.size() <= names.size())
      tensor.name = std::move(names[tensors.size() - 1]);
  }
  return tensors;
}

}  // namespace

Signature SignatureOf(const CompiledModel& version,
                      const std::vector<Parameter>& parameters) {
  std::vector<std::string> inputs, outputs;
  const std::vector<Structure>& arguments = version.input_structure().children;
  for (size_t i = 0; i < arguments.size(); ++i)
    AddNames(
        arguments[i],
        i < parameters.size() ? parameters[i].name : absl::StrCat("input", i),
        inputs);
  AddNames(version.output_structure(), "output", outputs);
  const ExecutablePlan& plan = version.plan();
  return {TensorsOf(plan.inputs(), plan, std::move(inputs)),
          TensorsOf(plan.outputs(), plan, std::move(outputs))};
}

}  // namespace aitune::frontend
