// The types of values in arguments. In a file that torch.save wrote, and in
// IValues that a program builds, the elements of lists and dicts have no common
// type, and numbers are those of Python; forward requires List[Tensor] or a
// float. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_TYPES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_TYPES_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <vector>

#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

// The one type of all `values`, an Optional if some are None; null if there is
// none. Containers have the types that follow from their elements.
c10::TypePtr CommonType(const std::vector<c10::IValue>& values);

// A copy of `value` in which lists, dicts and tuples have the element types
// that `type` says. Of a Union they have those of the member that Python's
// binding finds, by the types of the elements, or else of the first that fits.
// What is Any has the types of its elements. Containers whose elements are of
// other types stay as they are. Tensors are shared.
c10::IValue WithContainerTypes(const c10::IValue& value,
                               const c10::TypePtr& type);

// Positional arguments of a call as Python's binding passes them to forward:
// with the types of its containers, and its types of numbers. 1 and a tensor of
// one element are a float for a parameter that is a float; a tuple is a list
// and a text a device for parameters that are. What does not fit stays as it
// is. May throw LibTorch's exceptions. Thread-safe.
ValueList WithParameterTypes(const Model& model, const ValueList& arguments);
// The same for parameters of these types.
ValueList WithTypes(const std::vector<c10::TypePtr>& types,
                    const ValueList& arguments);

// The types of forward's parameters, without the module.
std::vector<c10::TypePtr> ParameterTypes(const Model& model);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_TYPES_H_
