// The pass ait-form-kernels, which cuts a function into kernels, with a
// callback for the reasons.
#ifndef AITUNE_COMPILER_FUSION_FORMKERNELS_H
#define AITUNE_COMPILER_FUSION_FORMKERNELS_H

#include "compiler/fusion/KernelGraph.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace aitune {

/// The pass ait-form-kernels. Calls `reject` for each pair of neighbours that
/// did not become one kernel, on the pass manager's threads, for one function
/// at a time. The objects that `reject` refers to must outlive the pass.
std::unique_ptr<mlir::Pass> createFormKernels(RejectFunction reject);

} // namespace aitune

#endif // AITUNE_COMPILER_FUSION_FORMKERNELS_H
