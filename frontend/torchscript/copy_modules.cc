#include "frontend/torchscript/copy_modules.h"

#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <utility>

namespace aitune::frontend {
namespace {

using Object = c10::ivalue::Object;
// The objects that were copied before.
using Copies = std::map<const Object*, c10::intrusive_ptr<Object>>;

c10::intrusive_ptr<Object> Copy(
    const c10::intrusive_ptr<Object>& object,
    const std::shared_ptr<torch::jit::CompilationUnit>& unit, Copies& copies) {
  if (const auto found = copies.find(object.get()); found != copies.end())
    return found->second;
  const c10::ClassTypePtr type = object->type();
  const size_t slots = object->slots().size();
  auto made = Object::create(c10::StrongTypePtr(unit, type), slots);
  copies.emplace(object.get(), made);
  for (size_t i = 0; i < slots; ++i) {
    const c10::IValue& value = object->getSlot(i);
    made->setSlot(i, type->getAttribute(i)->is_module()
                         ? c10::IValue(Copy(value.toObject(), unit, copies))
                         : value);
  }
  return made;
}

}  // namespace

torch::jit::ObjectPtr CopyObjects(const torch::jit::Module& module) {
  Copies copies;
  return Copy(module._ivalue(), module._ivalue()->compilation_unit(), copies);
}

torch::jit::Module CopyModulesWithUnit(const torch::jit::Module& module) {
  Copies copies;
  return torch::jit::Module(
      Copy(module._ivalue(), std::make_shared<torch::jit::CompilationUnit>(),
           copies));
}

torch::jit::Module CloneProgram(const torch::jit::Module& module) {
  return CopyModulesWithUnit(module).clone(/*inplace=*/true);
}

}  // namespace aitune::frontend
