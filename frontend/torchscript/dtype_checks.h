// Dtypes that a program computes or is given as numbers. Internal: includes
// LibTorch.
//
// TorchScript's dtypes are ints, and LibTorch's operators read beyond a table
// where one is no dtype's number: the process may end by a signal.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_DTYPE_CHECKS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_DTYPE_CHECKS_H_

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/ir/ir.h>

namespace aitune::frontend {

// Whether an operator's argument is a dtype. Some schemas call it an int.
bool TakesDtype(const c10::Argument& argument);

// Lets `graph`, in which all functions are inlined, raise before each operator
// that would get a number that is no dtype's. Checks none that is a constant,
// or that a tensor has.
void CheckDtypes(torch::jit::Graph& graph);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_DTYPE_CHECKS_H_
