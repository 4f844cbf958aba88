// Values of a module's attributes in the graph of its program. Internal:
// includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODULE_FLAGS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODULE_FLAGS_H_

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <optional>

namespace aitune::frontend {

// What `value` is before the program runs, if it is the graph's first input,
// whose value is the module `self`, or an attribute of that or of an attribute.
std::optional<c10::IValue> AttributeValue(const torch::jit::Value* value,
                                          const c10::IValue& self);

// Whether operators write running statistics depends on flags of the modules,
// such as `training`: makes constants of those that the program, in which calls
// are inlined, does not set. Does nothing to a program without such operators.
void FoldFlags(std::shared_ptr<torch::jit::Graph>& graph,
               const c10::IValue& self);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_MODULE_FLAGS_H_
