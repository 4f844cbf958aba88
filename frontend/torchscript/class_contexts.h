// `with` statements on objects of classes that a program defines. Internal:
// includes LibTorch, which this throws the errors of.
//
// TorchScript enters and leaves such a context by an operator without a schema,
// which says neither what its methods write nor what they compute.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_CLASS_CONTEXTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_CLASS_CONTEXTS_H_

#include <torch/csrc/jit/api/module.h>

namespace aitune::frontend {

// Replaces entering and leaving by calls of __enter__ and __exit__ in the
// methods of `module`, of its submodules and of what these call, in place. Not
// for the classes of PyTorch itself, such as autocast, which have passes of
// their own. A program that raises in a context no longer leaves it. Not
// thread-safe.
void CallContextMethods(const torch::jit::Module& module);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_CLASS_CONTEXTS_H_
