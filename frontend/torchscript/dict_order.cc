#include "frontend/torchscript/dict_order.h"

#include <algorithm>
#include <set>
#include <string>

#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

bool LooksUp(const Node& node) {
  static const auto* const kLookups = new std::set<std::string>{
      "aten::__getitem__", "aten::__contains__", "aten::get",       "aten::len",
      "prim::TupleIndex",  "prim::TupleUnpack",  "prim::ListUnpack"};
  return kLookups->count(node.kind().toQualString()) > 0;
}

bool HoldsDict(const c10::Type& type) {
  return type.kind() == c10::TypeKind::DictType ||
         std::any_of(type.containedTypes().begin(), type.containedTypes().end(),
                     [](const c10::TypePtr& part) { return HoldsDict(*part); });
}

// Whether nothing but looking up is done with the value, nor with the dicts
// that were looked up in it.
bool IsOnlyLookedUp(const Value& value) {
  if (!HoldsDict(*value.type())) return true;
  return std::all_of(
      value.uses().begin(), value.uses().end(), [](const Use& use) {
        const auto outputs = use.user->outputs();
        return LooksUp(*use.user) &&
               std::all_of(outputs.begin(), outputs.end(),
                           [](const Value* v) { return IsOnlyLookedUp(*v); });
      });
}

}  // namespace

bool SeesDictOrder(const Model& model) {
  bool sees = true;
  // A program that can't be read may see anything.
  CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
    const auto graph =
        model.impl().bare_module.get_method("forward").graph()->copy();
    InlineCalls(*graph);
    sees = !std::all_of(
        graph->inputs().begin() + 1, graph->inputs().end(),
        [](const Value* argument) { return IsOnlyLookedUp(*argument); });
    return absl::OkStatus();
  }).IgnoreError();
  return sees;
}

}  // namespace aitune::frontend
