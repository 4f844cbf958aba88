// Cuts an outlined kernel in two, as an alternative to the fusion.
//
// Fusion fuses all operations that it can, because a value in a register is
// nearly always cheaper than one in memory. Only a measurement shows where that
// is wrong (an epilogue that spills the tile's registers, a loop of too many
// streams). Cutting the kernel makes the alternative, which the search measures
// as one more candidate.
#ifndef AITUNE_COMPILER_CANDIDATES_CUTKERNEL_H
#define AITUNE_COMPILER_CANDIDATES_CUTKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace aitune {

/// Two functions that compute a kernel, one after the other. Operands are
/// numbered: the kernel's arguments, its results, then the tensors that only
/// go from the first part to the second.
struct CutKernel {
  struct Part {
    mlir::func::FuncOp function;
    llvm::SmallVector<int> inputs, outputs; ///< numbers of operands
  };
  /// The number of the operation that begins the second part; see listCuts.
  int cut;
  Part first, second;
  /// Types of the tensors that go from one part to the other.
  llvm::SmallVector<mlir::RankedTensorType> temporaries;
};

/// The places at which it is worth trying to cut the kernel, the most promising
/// first, at most two. A place is the number of the operation, in the order of
/// the body, that begins the second part. It is after the contraction or, in a
/// loop kernel, where the fewest bytes go from one part to the other. Empty for
/// kernels of one operation.
std::vector<int> listCuts(mlir::func::FuncOp kernel);

/// Cuts `kernel`, an outlined function, before operation `cut`. The parts are
/// private functions, placed after it in its module and named after it; the
/// kernel itself is unchanged. Fails where there is no such operation, a part
/// would compute nothing, or a contraction would be in the second.
mlir::FailureOr<CutKernel> cutKernel(mlir::func::FuncOp kernel, int cut);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CUTKERNEL_H
