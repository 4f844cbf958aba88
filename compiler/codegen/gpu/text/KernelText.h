// The parts that all generated kernels have: the signature, the prelude and the
// description of the launch.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_KERNELTEXT_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_KERNELTEXT_H

#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/codegen/gpu/text/GeneratedCandidate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"

namespace aitune {

/// The text of prelude/NAME.cuh. Precondition: the file exists.
const char *preludeText(llvm::StringRef name);

/// An upper bound of a size over the ranges of the symbols (ait.symbols). Not
/// set if a symbol has no range.
std::optional<int64_t> largestValue(mlir::AffineExpr size,
                                    mlir::ArrayAttr symbols);

/// Whether an axis of a grid has room for so many blocks, whatever the values
/// of the symbols, if it is not the first: these have 65535 at most.
bool fitsLaterGridAxis(mlir::AffineExpr blocks, mlir::ArrayAttr symbols);

/// The C++ type for indices: "int" if every tensor of the function has less
/// than 2^30 elements for all values of the symbols, otherwise "long long".
std::string indexType(mlir::func::FuncOp function, mlir::ArrayAttr symbols);

/// A parameter of a generated kernel that is a pointer to a tensor.
struct KernelParameter {
  std::string name;
  mlir::Type elementType;
  bool isOutput; ///< whether the kernel writes to the tensor
};

/// The text `extern "C" __global__ ...(parameters) {` for blocks of `threads`
/// threads, and the declaration of the symbols s0, s1, ... as Index. The last
/// parameter, `nextWaits`, is the argument of the prelude's launchNext.
/// `residentBlocks`, if not 0, are the blocks of a multiprocessor for which its
/// registers must suffice.
std::string kernelHead(llvm::StringRef name, int64_t threads,
                       llvm::ArrayRef<KernelParameter> parameters,
                       mlir::ArrayAttr symbols, int64_t residentBlocks = 0);

/// The names of a kernel function's operands: "in0", "in1", ... and "out0", ...
std::string inputName(unsigned i);
std::string outputName(unsigned i);

/// Makes `step` call the kernel `symbol`: `blocks` is the number of blocks
/// along one to three axes, `threads` the number of threads in a block,
/// `sharedMemory` the bytes of dynamic shared memory of a block.
void setLaunch(ImplementationStep &step, llvm::StringRef symbol,
               llvm::ArrayRef<mlir::AffineExpr> blocks, int64_t threads,
               int64_t sharedMemory, const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_KERNELTEXT_H
