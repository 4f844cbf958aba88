#include "frontend/torchscript/module_objects.h"

#include <ATen/core/jit_type.h>

#include "absl/strings/str_cat.h"

namespace aitune::frontend {
namespace {

void Visit(
    const c10::ivalue::Object& object, const std::string& prefix,
    absl::FunctionRef<void(const std::string&, const c10::IValue&)> visit) {
  const c10::ClassTypePtr type = object.type();
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const std::string name = absl::StrCat(prefix, type->getAttributeName(i));
    const c10::IValue& value = object.getSlot(i);
    visit(name, value);
    if (type->getAttribute(i)->is_module())
      Visit(value.toObjectRef(), absl::StrCat(name, "."), visit);
  }
}

}  // namespace

void VisitAttributes(
    const c10::ivalue::Object& module,
    absl::FunctionRef<void(const std::string& name, const c10::IValue& value)>
        visit) {
  Visit(module, "", visit);
}

void VisitModules(c10::ivalue::Object& module,
                  absl::FunctionRef<void(c10::ivalue::Object& module)> visit) {
  visit(module);
  const c10::ClassTypePtr type = module.type();
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    if (type->getAttribute(i)->is_module())
      VisitModules(*module.getSlot(i).toObject(), visit);
  }
}

void SetEvaluating(c10::ivalue::Object& module) {
  VisitModules(module, [](c10::ivalue::Object& object) {
    if (const auto slot = object.type()->findAttributeSlot("training"))
      object.setSlot(*slot, false);
  });
}

}  // namespace aitune::frontend
