// A module's objects, visited without torch::jit::Module: each of those that
// LibTorch makes of a submodule allocates a table where nothing may be thrown,
// so that lack of memory there ends the process. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODULE_OBJECTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODULE_OBJECTS_H_

#include <ATen/core/ivalue.h>

#include <string>

#include "absl/functional/function_ref.h"

namespace aitune::frontend {

// Calls `visit` with each attribute of the module and of its submodules and its
// name, such as "layer.0.weight", in the order of
// torch::jit::Module::named_attributes: a submodule before its attributes.
void VisitAttributes(
    const c10::ivalue::Object& module,
    absl::FunctionRef<void(const std::string& name, const c10::IValue& value)>
        visit);

// Calls `visit` with the module and each of its submodules.
void VisitModules(c10::ivalue::Object& module,
                  absl::FunctionRef<void(c10::ivalue::Object& module)> visit);

// What torch::jit::Module::eval does.
void SetEvaluating(c10::ivalue::Object& module);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_MODULE_OBJECTS_H_
