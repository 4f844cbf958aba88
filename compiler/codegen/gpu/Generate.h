// Generates CUDA text for an outlined kernel function, in every way that this
// compiler knows to run it. Needs no GPU and no CUDA library.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_GENERATE_H
#define AITUNE_COMPILER_CODEGEN_GPU_GENERATE_H

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/codegen/gpu/text/GeneratedCandidate.h"
#include "compiler/support/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// The candidates for `kernel`, at least one, the most promising first. If its
/// `ait.config` has a schedule, the only candidate is the one with that
/// schedule. `kernel` is a function with the attribute `ait.kind` in the form
/// that buildKernelToLinalgPipeline leaves, in a context that has loaded that
/// pipeline's dialects; it is not changed. `symbols` is the module's
/// `ait.symbols` (null when it has none): all of them are parameters of the
/// generated kernels, whether they are used or not. The names of the kernels
/// start with the function's name.
///
/// The caller must ensure that
/// - pointers are aligned to 16 bytes; outputs overlap neither inputs nor each
///   other (one that is written is read by no other thread of the launch);
/// - bool tensors are one byte an element, 0 or 1;
/// - launches with more than 48 KiB of dynamic shared memory set
///   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES first;
/// - only kernels with `launch.programmatic` are launched with the attribute
///   for programmatic stream serialisation. These kernels themselves wait for
///   the kernel before them (griddepcontrol.wait). They may read inputs with
///   the argument attribute `ait.constant` or `ait.initialized` before that;
/// - the last parameter is 1 only if the next operation on the stream also
///   waits by itself: the kernel then lets it start early.
///
/// kUnimplemented names the operation or form for which there is no generator;
/// kInvalidArgument names a schedule that does not exist for the kernel. There
/// are no other errors for well-formed kernels.
absl::StatusOr<std::vector<GeneratedCandidate>>
generateCuda(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols,
             const GpuTarget &target);

/// The schedules that the kernel's ait.config may name, the most promising
/// first. `kernel`, `symbols` and errors as generateCuda's. Empty for kernels
/// whose template has no parameters (loops; attention in fp32).
absl::StatusOr<std::vector<Schedule>>
listCudaSchedules(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols,
                  const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_GENERATE_H
