// A module's weights and program in another dtype or on another device, in
// place. Internal: includes LibTorch, which these functions throw the errors
// of.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_CONVERSION_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_CONVERSION_H_

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

namespace aitune::frontend {

// Converts floating-point parameters, buffers and weights that are constants of
// forward to `type`. The program stays: dtypes that it names are its own.
void ConvertWeights(torch::jit::Module& module, c10::ScalarType type);

// Makes `type` of the floating-point dtypes narrower than it that forward and
// what it calls name, as x.to(torch.float16) does, and removes autocast
// contexts: the same program in higher precision. Inlines forward.
void WidenCasts(torch::jit::Module& module, c10::ScalarType type);

// Makes numbers of constants without axes, of the dtypes that Python's numbers
// have as tensors, where operators read them that take numbers for tensors:
// tracing makes such constants of numbers, and a file does not say so. Then
// they do not decide about the dtypes of results. LibTorch's optimised programs
// take all of them for numbers as well.
void MarkNumbers(torch::jit::Module& module);

// Moves parameters, buffers, constants, the devices that the program names, but
// the device "meta", and the tensors that it makes without naming one. A traced
// program names the device that it was traced on, a scripted one mostly none:
// either then runs on another, where Python would want a device named for
// torch.arange(n). What LibTorch takes on the CPU alone, such as the lengths of
// packed sequences, goes there. For a device that is not the CPU, inlines
// forward.
void MoveTo(torch::jit::Module& module, c10::Device device);
// The same for the constants of a graph, the devices, the tensors that it makes
// and the sizes that it has as tensors alone.
void MoveTo(torch::jit::Graph& graph, c10::Device device);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_CONVERSION_H_
