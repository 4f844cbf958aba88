// The other choice that fusion had: an outlined kernel as two.
//
// Grouping fuses all that may be, because a value that stays in registers is
// nearly always cheaper than one in memory. Where that is wrong (an epilogue
// that spills the tile's registers, a loop of too many streams) only a
// measurement tells; cutting a kernel makes the alternative, and the search
// measures it as one more candidate.
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
    llvm::SmallVector<int> inputs, outputs;
  };
  /// The operation that begins the second part, as cutKernel takes it.
  int cut;
  Part first, second;
  /// Types of the tensors that go from one part to the other.
  llvm::SmallVector<mlir::RankedTensorType> temporaries;
};

/// Places worth trying, the best guess first: the number of the operation (in
/// the body's order) that begins the second part. After the contraction, or, of
/// a loop, where the least goes through memory; at most two. Empty for kernels
/// of one operation.
std::vector<int> listCuts(mlir::func::FuncOp kernel);

/// Cuts `kernel`, an outlined function, before operation `cut`. The parts are
/// private functions, placed after it in its module and named after it; the
/// kernel itself is unchanged. Fails where there is no such operation, a part
/// would compute nothing, or a contraction would be in the second.
mlir::FailureOr<CutKernel> cutKernel(mlir::func::FuncOp kernel, int cut);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CUTKERNEL_H
