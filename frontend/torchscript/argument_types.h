// Types of the containers in arguments. A file that torch.save wrote and a
// program that builds an IValue keep lists and dicts of anything; forward asks
// for List[Tensor]. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_TYPES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_TYPES_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

namespace aitune::frontend {

// `value` with its lists, dicts and tuples as containers of what `type` says;
// those that hold something else as they are. Tensors are shared.
c10::IValue WithContainerTypes(const c10::IValue& value,
                               const c10::TypePtr& type);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_TYPES_H_
