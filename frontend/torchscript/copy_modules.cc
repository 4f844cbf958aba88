#include "frontend/torchscript/copy_modules.h"

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "frontend/torchscript/module_objects.h"
#include "frontend/values/pytree.h"

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

// Whether LibTorch's freezing would put other tensors in the place of those of
// `value`, a list, dict or tuple: parameters that need no gradient.
bool HoldsParameters(const c10::IValue& value) {
  if (!value.isList() && !value.isGenericDict() && !value.isTuple())
    return false;
  const std::vector<at::Tensor> tensors = TensorLeaves(value);
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const at::Tensor& tensor) {
                       return tensor.defined() && tensor.requires_grad();
                     });
}

// Gives the modules that were copied their own lists, dicts and tuples of
// parameters, which hold the same tensors. What is one of two names stays one.
void CopyHoldersOfParameters(const Copies& copies) {
  std::map<const void*, c10::IValue> holders;
  for (const auto& [original, copy] : copies) {
    for (size_t i = 0; i < copy->slots().size(); ++i) {
      const c10::IValue& value = copy->getSlot(i);
      if (!HoldsParameters(value)) continue;
      c10::IValue& holder = holders[value.internalToPointer()];
      if (holder.isNone())
        holder = MapTensors(value, [](const at::Tensor& tensor, int /*index*/) {
          return tensor;
        });
      copy->setSlot(i, holder);
    }
  }
}

void CollectClasses(const Object& original, const Object& copy,
                    CopiedClasses& classes) {
  if (!classes.emplace(original.type().get(), copy.type()).second) return;
  for (size_t i = 0; i < original.slots().size(); ++i) {
    if (original.type()->getAttribute(i)->is_module())
      CollectClasses(original.getSlot(i).toObjectRef(),
                     copy.getSlot(i).toObjectRef(), classes);
  }
}

// Puts the first copy of a submodule of `original` in the place of the others
// in `copy`.
void Share(const Object& original, Object& copy, Copies& copies) {
  for (size_t i = 0; i < original.slots().size(); ++i) {
    if (!original.type()->getAttribute(i)->is_module()) continue;
    const Object& submodule = original.getSlot(i).toObjectRef();
    const auto [first, is_new] =
        copies.emplace(&submodule, copy.getSlot(i).toObject());
    if (is_new)
      Share(submodule, *first->second, copies);
    else
      copy.setSlot(i, first->second);
  }
}

// Copies of the functions that a program calls by themselves, not as methods,
// which LibTorch leaves in the unit where they are.
class CopiedFunctions {
 public:
  // `unit` gets them.
  CopiedFunctions(torch::jit::CompilationUnit& unit,
                  const CopiedClasses& classes)
      : unit_(unit), classes_(classes) {}

  // The hooks of submodules, which LibTorch's clones have not. `top` is the
  // class of the module itself, whose hooks are not called by its program.
  void CopyHooks(const c10::ClassType& top) {
    for (const auto& [type, copied] : classes_) {
      const auto& original = static_cast<const c10::ClassType&>(*type);
      const auto copy = copied->expect<c10::ClassType>();
      if (copy.get() == &top || !copy->getForwardPreHooks().empty() ||
          !copy->getForwardHooks().empty())
        continue;
      for (torch::jit::Function* const hook : original.getForwardPreHooks())
        copy->addForwardPreHook(
            Copy(*hook, c10::QualifiedName(*copy->name(), hook->name())));
      for (torch::jit::Function* const hook : original.getForwardHooks())
        copy->addForwardHook(
            Copy(*hook, c10::QualifiedName(*copy->name(), hook->name())));
    }
  }

  void ReplaceIn(torch::jit::Function& function) {
    if (!function.isGraphFunction()) return;
    function.ensure_defined();
    ReplaceIn(*torch::jit::toGraphFunction(function).graph()->block());
  }

 private:
  void ReplaceIn(torch::jit::Block& block) {
    for (torch::jit::Node* node : block.nodes()) {
      for (torch::jit::Block* inner : node->blocks()) ReplaceIn(*inner);
      if (node->hasAttribute(c10::attr::Subgraph))
        ReplaceIn(*node->g(c10::attr::Subgraph)->block());
      if (node->kind() != c10::prim::CallFunction) continue;
      const auto type = node->input(0)->type()->cast<c10::FunctionType>();
      if (type != nullptr)
        node->input(0)->setType(
            c10::FunctionType::create(CopyOf(*type->function())));
    }
  }

  torch::jit::Function* CopyOf(torch::jit::Function& function) {
    const c10::QualifiedName& name = function.qualname();
    if (!function.isGraphFunction() || unit_.find_function(name) == &function)
      return &function;
    return Copy(function, name);
  }

  torch::jit::Function* Copy(torch::jit::Function& function,
                             const c10::QualifiedName& name) {
    torch::jit::Function*& copy = copies_[&function];
    if (copy != nullptr) return copy;
    function.ensure_defined();
    std::shared_ptr<torch::jit::Graph> graph =
        torch::jit::toGraphFunction(function).graph()->copy();
    UseCopiedClasses(classes_, *graph);
    copy = unit_.create_function(
        unit_.find_function(name) == nullptr ? name : unit_.mangle(name),
        std::move(graph));
    ReplaceIn(*copy);
    return copy;
  }

  torch::jit::CompilationUnit& unit_;
  const CopiedClasses& classes_;
  std::map<const torch::jit::Function*, torch::jit::Function*> copies_;
};

}  // namespace

torch::jit::ObjectPtr CopyObjects(const torch::jit::Module& module) {
  Copies copies;
  return Copy(module._ivalue(), module._ivalue()->compilation_unit(), copies);
}

torch::jit::Module CopyModulesWithUnit(const torch::jit::Module& module) {
  Copies copies;
  const c10::intrusive_ptr<Object> copy =
      Copy(module._ivalue(), std::make_shared<torch::jit::CompilationUnit>(),
           copies);
  CopyHoldersOfParameters(copies);
  return torch::jit::Module(copy);
}

CopiedClasses ClassesOfCopy(const torch::jit::Module& original,
                            const torch::jit::Module& copy) {
  CopiedClasses classes;
  CollectClasses(*original._ivalue(), *copy._ivalue(), classes);
  return classes;
}

void UseCopiedClasses(const CopiedClasses& classes, torch::jit::Graph& graph) {
  graph.remapTypes([&](const c10::TypePtr& type) {
    const auto found = classes.find(type.get());
    return found == classes.end() ? type : found->second;
  });
}

void CopyCalledFunctions(const torch::jit::Module& module,
                         const CopiedClasses& classes) {
  CopiedFunctions functions(*module._ivalue()->compilation_unit(), classes);
  functions.CopyHooks(*module.type());
  VisitModules(*module._ivalue(), [&](Object& inner) {
    for (torch::jit::Function* const method : inner.type()->methods())
      functions.ReplaceIn(*method);
  });
}

void ShareSubmodulesAsIn(const torch::jit::Module& module,
                         const torch::jit::Module& clone) {
  Copies copies;
  Share(*module._ivalue(), *clone._ivalue(), copies);
}

torch::jit::Module CloneProgram(const torch::jit::Module& module) {
  const torch::jit::Module clone =
      CopyModulesWithUnit(module).clone(/*inplace=*/true);
  ShareSubmodulesAsIn(module, clone);
  CopyCalledFunctions(clone, ClassesOfCopy(module, clone));
  return clone;
}

}  // namespace aitune::frontend
