// Algorithms that a build on the CPU measures beside a kernel's default
// schedule, without a search.
//
// A default schedule comes from rules on sizes. Where two algorithms are close,
// which one is faster depends on the machine's caches more than on what rules
// know, so both are generated and run.
#ifndef AITUNE_COMPILER_SCHEDULE_OTHERALGORITHMS_H
#define AITUNE_COMPILER_SCHEDULE_OTHERALGORITHMS_H

#include <string>
#include <vector>

#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace aitune {

struct OtherAlgorithm {
  std::string name;            ///< such as "winograd_4x4"
  mlir::DictionaryAttr config; ///< the kernel's ait.config that asks for it
};

/// The algorithms worth measuring for `kernel`, an outlined function of the ait
/// dialect, on `target`, that its default schedule does not use; most kernels
/// have none.
/// The code generator may still refuse one. Not thread-safe for one
/// MLIRContext.
std::vector<OtherAlgorithm> listOtherAlgorithms(mlir::func::FuncOp kernel,
                                                const Target &target);

} // namespace aitune

#endif // AITUNE_COMPILER_SCHEDULE_OTHERALGORITHMS_H
