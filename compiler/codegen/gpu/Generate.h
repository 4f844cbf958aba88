// From an outlined kernel function to CUDA text: every way that this compiler
// knows to run it. Needs no GPU and no CUDA library.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_GENERATE_H
#define AITUNE_COMPILER_CODEGEN_GPU_GENERATE_H

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/codegen/gpu/text/CudaSchedules.h"
#include "compiler/codegen/gpu/text/GeneratedCandidate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// The candidates for `kernel`, best guess first, at least one; the one with
/// the schedule of its `ait.config` alone where that asks for one. `kernel` is
/// a function with the attribute `ait.kind` in the form that
/// buildKernelToLinalgPipeline leaves, in a context that has loaded that
/// pipeline's dialects; it is not changed. `symbols` is the
/// module's `ait.symbols` (null when it has none): all of them are parameters,
/// used or not. Symbol names start with the function's name.
///
/// What generated kernels ask of their caller:
/// - pointers are aligned to 16 bytes; outputs overlap neither inputs nor each
///   other (one that is written is read by no other thread of the launch);
/// - bool tensors are one byte an element, 0 or 1;
/// - launches with more than 48 KiB of dynamic shared memory set
///   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES first;
/// - `launch.programmatic` is set where the kernel waits for the one before by
///   itself (griddepcontrol.wait): it may be launched with or without the
///   attribute for programmatic stream serialisation. Inputs that carry the
///   argument attribute `ait.constant` or `ait.initialized` may be read before
///   that wait;
/// - the last parameter is 1 only where what runs next waits likewise: the
///   kernel then lets it start early.
///
/// kUnimplemented names the operation or form that has no generator,
/// kInvalidArgument a schedule that the kernel has none of. No other errors for
/// well-formed kernels.
absl::StatusOr<std::vector<GeneratedCandidate>>
generateCuda(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols,
             const GpuTarget &target);

/// The schedules that the kernel's ait.config may ask for, the most promising
/// first; `kernel`, `symbols` and errors as generateCuda's. Empty for kernels
/// whose template has no parameters (loops; fp32 attention).
absl::StatusOr<CudaSchedules> listCudaSchedules(mlir::func::FuncOp kernel,
                                                mlir::ArrayAttr symbols,
                                                const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_GENERATE_H
