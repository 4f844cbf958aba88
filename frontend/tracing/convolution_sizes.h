// The sizes of a convolution's result by their formula, without running it.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_CONVOLUTION_SIZES_H_
#define AITUNE_FRONTEND_TRACING_CONVOLUTION_SIZES_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aitune::frontend {

// Whether `name`, of a schema, is that of a convolution, transposed ones too.
bool IsConvolution(const std::string& name);

// The sizes of the one result of a convolution of the arguments `stack`, of
// which the first two are tensors, by the formula of torch.nn.Conv2d's and
// ConvTranspose2d's documentation; nothing where LibTorch refuses.
std::optional<std::vector<std::vector<int64_t>>> ConvolutionSizes(
    const c10::FunctionSchema& schema, const std::vector<c10::IValue>& stack);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_CONVOLUTION_SIZES_H_
