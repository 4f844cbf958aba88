// The sizes of a tensor that is padded by its own elements, by their formula.
// LibTorch has no implementation of these operators for the meta device, which
// would give the sizes without running them. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_PADDING_SIZES_H_
#define AITUNE_FRONTEND_TRACING_PADDING_SIZES_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace aitune::frontend {

// Whether the call pads by reflection or replication.
bool IsPadding(const c10::FunctionSchema& schema,
               const std::vector<c10::IValue>& stack);

// The sizes of the one result of such a call; nothing where LibTorch refuses
// (at::native::padding::check_valid_input, and its kernels for what is beyond).
// Precondition: IsPadding.
std::optional<std::vector<std::vector<int64_t>>> PaddingSizes(
    const c10::FunctionSchema& schema, const std::vector<c10::IValue>& stack);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_PADDING_SIZES_H_
