// Cuts a function into kernels; see the pass ait-form-kernels.
#ifndef AITUNE_COMPILER_FUSION_FORMKERNELS_H
#define AITUNE_COMPILER_FUSION_FORMKERNELS_H

#include "compiler/fusion/KernelGraph.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace aitune {

/// The pass ait-form-kernels, telling `reject` about each pair of neighbours
/// that did not become one kernel. `reject` is called on the pass manager's
/// threads, one function at a time, and must outlive the pass.
std::unique_ptr<mlir::Pass> createFormKernels(RejectFunction reject);

} // namespace aitune

#endif // AITUNE_COMPILER_FUSION_FORMKERNELS_H
