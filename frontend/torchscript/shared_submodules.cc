#include "frontend/torchscript/shared_submodules.h"

#include <ATen/core/ivalue.h>

#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/any_node.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/module_flags.h"

namespace aitune::frontend {
namespace {

using c10::ivalue::Object;
using torch::jit::Node;
using torch::jit::Value;
using Objects = std::unordered_set<const Object*>;

// Adds the submodules of `module`, and itself; those that are there already to
// `shared`, with all that they hold.
void Collect(const Object& module, bool is_shared, Objects& seen,
             Objects& shared) {
  is_shared |= !seen.insert(&module).second;
  if (is_shared && !shared.insert(&module).second) return;
  for (size_t i = 0; i < module.slots().size(); ++i) {
    if (module.type()->getAttribute(i)->is_module())
      Collect(module.getSlot(i).toObjectRef(), is_shared, seen, shared);
  }
}

}  // namespace

std::string WhySubmodulesMustStayShared(const torch::jit::Module& module) {
  Objects seen, shared;
  Collect(*module._ivalue(), /*is_shared=*/false, seen, shared);
  if (shared.empty()) return "";
  const auto graph = module.get_method("forward").graph()->copy();
  InlineCalls(*graph);
  const auto may_be_shared = [&](const Value* value) {
    if (!value->type()->is_module()) return false;
    const auto object = AttributeValue(value, module._ivalue());
    return !object || shared.count(&object->toObjectRef()) > 0;
  };
  std::string why;
  AnyNode(graph->block(), [&](Node* node) {
    if (node->kind() == c10::prim::SetAttr && may_be_shared(node->input(0))) {
      why = absl::StrCat("it sets the attribute ", node->s(c10::attr::name),
                         " of a submodule that has several names");
    } else if ((node->kind() == c10::aten::__is__ ||
                node->kind() == c10::aten::__isnot__) &&
               may_be_shared(node->input(0)) && may_be_shared(node->input(1))) {
      why = "it asks whether two names are those of one submodule";
    }
    return !why.empty();
  });
  return why;
}

}  // namespace aitune::frontend
