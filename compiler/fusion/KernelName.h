// Names of kernels that say what the kernels compute. Users read them in
// profiles, in the plan and in object code.
#ifndef AITUNE_COMPILER_FUSION_KERNELNAME_H
#define AITUNE_COMPILER_FUSION_KERNELNAME_H

#include <string>

namespace mlir {
class Block;
} // namespace mlir

namespace aitune {

/// A name such as `matmul_gelu`, `softmax` or `add_layer_norm` for a kernel
/// body, from its costliest operations; at most four words, lower case, a valid
/// C identifier, not unique.
std::string describeKernel(mlir::Block &body);

} // namespace aitune

#endif // AITUNE_COMPILER_FUSION_KERNELNAME_H
