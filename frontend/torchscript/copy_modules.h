// Copies of a program's modules that share their tensors. Internal: includes
// LibTorch.
//
// LibTorch registers the types and functions of what it clones or freezes in
// the compilation unit of the module, where they stay as long as that lives:
// each trace of a model would make it larger. A copy of the modules with a unit
// of its own takes them along when it goes.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_COPY_MODULES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_COPY_MODULES_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>

namespace aitune::frontend {

// The object of a module that is as `module`, with objects of its own for
// itself and its submodules, which hold the same tensors, lists and dicts. A
// submodule of two names stays one. Thread-safe, while nobody sets attributes.
torch::jit::ObjectPtr CopyObjects(const torch::jit::Module& module);

// Such a module with a compilation unit of its own, for what LibTorch makes of
// the result. The functions are `module`'s, whose unit must outlive the result.
// Lists, dicts and tuples that hold parameters are its own, too: freezing puts
// tensors without gradients into them, which would change the state of `module`
// and what its calls read meanwhile.
torch::jit::Module CopyModulesWithUnit(const torch::jit::Module& module);

// The class of the copy, by the class of the original, of a module and its
// submodules.
using CopiedClasses = std::map<const c10::Type*, c10::TypePtr>;
CopiedClasses ClassesOfCopy(const torch::jit::Module& original,
                            const torch::jit::Module& copy);

// Replaces the classes of originals in `graph`.
void UseCopiedClasses(const CopiedClasses& classes, torch::jit::Graph& graph);

// Gives the compilation unit of `module` copies, for `classes`, of the
// functions of others that its methods call, which they call from then on. May
// throw LibTorch's exceptions.
void CopyCalledFunctions(const torch::jit::Module& module,
                         const CopiedClasses& classes);

// LibTorch's `clone` of a module has a copy of a submodule for each of its
// names: makes these one in `clone`, which was made of `module`, as they are
// one there.
void ShareSubmodulesAsIn(const torch::jit::Module& module,
                         const torch::jit::Module& clone);

// As CopyModulesWithUnit, with types and functions of its own, too, which may
// be changed. May throw LibTorch's exceptions.
torch::jit::Module CloneProgram(const torch::jit::Module& module);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_COPY_MODULES_H_
