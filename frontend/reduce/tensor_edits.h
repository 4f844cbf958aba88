// Makes the tensors of a program, its inputs and constants, smaller and
// simpler. Each function returns a new program; the result is not set if it
// would be the same program. The caller must find out whether the new program
// runs and still fails. Inputs with a dynamic axis stay as they are. Internal:
// includes LibTorch.
#ifndef AITUNE_FRONTEND_REDUCE_TENSOR_EDITS_H_
#define AITUNE_FRONTEND_REDUCE_TENSOR_EDITS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/reduce/program.h"

namespace aitune::reduce {

// The different sizes above 1 of the axes of all tensors, in descending order.
std::vector<int64_t> Extents(const Program& program);

// The program in which every axis of `from` elements, of all tensors, is cut to
// its first `to` elements. With `numbers`, its constant integers (and elements
// of lists of them) that are `from` become `to`.
std::optional<Program> ResizeExtent(const Program& program, int64_t from,
                                    int64_t to, bool numbers);

// The program in which one axis of an input is cut to its first `to` elements.
std::optional<Program> ResizeAxis(const Program& program, int input, int axis,
                                  int64_t to);

// The number of tensors that FillTensors numbers: the inputs that are tensors,
// in order, then the constants.
int TensorCount(const Program& program);

enum class Fill { kZeros, kOnes, kRounded };
// The program in which each tensor i with chosen[i] is filled with zeros, with
// ones, or with its own elements rounded to whole numbers. Integer tensors are
// never rounded, and tensors whose elements are all equal are never filled.
std::optional<Program> FillTensors(const Program& program,
                                   const std::vector<bool>& chosen, Fill fill);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_TENSOR_EDITS_H_
