// The types of containers in arguments. In a file that torch.save wrote, and in
// IValues that a program builds, the elements of lists and dicts have no common
// type; forward requires List[Tensor]. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_TYPES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_TYPES_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

namespace aitune::frontend {

// A copy of `value` in which lists, dicts and tuples have the element types
// that `type` says. Containers whose elements are of other types stay as they
// are. Tensors are shared.
c10::IValue WithContainerTypes(const c10::IValue& value,
                               const c10::TypePtr& type);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_TYPES_H_
