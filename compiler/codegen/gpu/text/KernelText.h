// What every generated kernel has: its signature, the prelude it needs, how its
// launch is described.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_KERNELTEXT_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_KERNELTEXT_H

#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/codegen/gpu/text/GeneratedCandidate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"

namespace aitune {

/// The text of prelude/NAME.cuh. Precondition: there is such a file.
const char *preludeText(llvm::StringRef name);

/// The largest value of an expression of symbols, if the symbols have maxima.
std::optional<int64_t> largestValue(mlir::AffineExpr size,
                                    mlir::ArrayAttr symbols);

/// "int" when every tensor of the function has less than 2^30 elements for all
/// values of the symbols, else "long long".
std::string indexType(mlir::func::FuncOp function, mlir::ArrayAttr symbols);

struct KernelParameter {
  std::string name;
  mlir::Type elementType;
  bool isOutput;
};

/// `extern "C" __global__ ...(parameters) {` and the declaration of the symbols
/// s0, s1, ... as Index. The last parameter, `nextWaits`, is for launchNext.
std::string kernelHead(llvm::StringRef name, int64_t threads,
                       llvm::ArrayRef<KernelParameter> parameters,
                       mlir::ArrayAttr symbols);

/// "in0", "in1", ... and "out0", ... for the operands of a kernel function.
std::string inputName(unsigned i);
std::string outputName(unsigned i);

/// Fills in a launch of `blocks` (at least one axis) of `threads` threads.
void setLaunch(GeneratedStep &step, llvm::StringRef symbol,
               llvm::ArrayRef<mlir::AffineExpr> blocks, int64_t threads,
               int64_t sharedMemory, const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_KERNELTEXT_H
