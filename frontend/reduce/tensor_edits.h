// Smaller and simpler tensors in a program: its inputs and its constants.
// Each edit gives a program of its own, or nothing where it would change
// nothing; whether it runs and still fails is for others to find. Inputs with a
// dynamic axis stay as they are.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_REDUCE_TENSOR_EDITS_H_
#define AITUNE_FRONTEND_REDUCE_TENSOR_EDITS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/reduce/program.h"

namespace aitune::reduce {

// The different sizes above 1 of the axes of all tensors, the largest first.
std::vector<int64_t> Extents(const Program& program);

// The program with the first `to` of each axis of `from` elements of all
// tensors; with `numbers`, also with `to` for `from` among its constant
// integers and lists of them.
std::optional<Program> ResizeExtent(const Program& program, int64_t from,
                                    int64_t to, bool numbers);

// The program with the first `to` of one axis of an input.
std::optional<Program> ResizeAxis(const Program& program, int input, int axis,
                                  int64_t to);

// Tensors: the inputs that are tensors, in order, then the constants.
int TensorCount(const Program& program);

enum class Fill { kZeros, kOnes, kRounded };
// The program with each tensor whose `chosen` is true filled: with zeros, ones,
// or its own elements rounded to whole numbers. Integers are never rounded, and
// tensors of one value never filled.
std::optional<Program> FillTensors(const Program& program,
                                   const std::vector<bool>& chosen, Fill fill);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_TENSOR_EDITS_H_
