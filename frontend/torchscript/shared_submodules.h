// Submodules that several names lead to. Internal: includes LibTorch.
//
// LibTorch's freezing copies a submodule once for each of its names. That
// changes a program that compares the names with `is`, or that sets an
// attribute by one name and reads it by another.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SHARED_SUBMODULES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SHARED_SUBMODULES_H_

#include <torch/csrc/jit/api/module.h>

#include <string>

namespace aitune::frontend {

// Why freezing `module` may change what its forward computes, as above; empty:
// it does not. May throw LibTorch's exceptions.
std::string WhySubmodulesMustStayShared(const torch::jit::Module& module);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SHARED_SUBMODULES_H_
