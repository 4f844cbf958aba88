// Writes the executable plan of a fused module: values with their storage,
// steps in the order of @main, what can be computed once at load separated
// from what runs at every call.
#ifndef AITUNE_COMPILER_PLAN_PLANBUILDER_H
#define AITUNE_COMPILER_PLAN_PLANBUILDER_H

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/dialect/Ait.h"
#include "compiler/plan/KernelImplementation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/plan/plan.pb.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace aitune {

/// Builds the plan of `main`, which holds only ait.constant, ait.reshape,
/// ait.launch, ait.fallback and return. `implementations` maps each launched
/// kernel to how it runs; `symbols` is the module attribute ait.symbols (null
/// when all sizes are static). kInternal names an operation that should not
/// be there.
absl::StatusOr<ExecutablePlan>
buildPlan(mlir::func::FuncOp main, mlir::ArrayAttr symbols,
          const llvm::StringMap<KernelImplementation> &implementations);

/// Makes the plan of a part of a model complete in itself: reads each symbol
/// from an input that has it as an axis, wherever the model reads it. A symbol
/// that no input has as an axis gets an input of its own, bool[symbol], behind
/// the others; no step reads that.
void readSymbolsFromInputs(ExecutablePlan &plan);

/// The values of `main` that are constants or computed of constants alone: the
/// plan has them from its load on.
llvm::DenseSet<mlir::Value> findKnownAtLoad(mlir::func::FuncOp main);

/// The plan's form of a tensor type.
TensorTypeProto toProto(mlir::RankedTensorType type);

/// The plan's form of how a constant is packed (runtime/cpu/pack.h).
PackingProto toProto(mlir::ait::PackingAttr packing);

/// The floating-point operations of one launch of an outlined kernel, over the
/// module's symbols: those of its contraction alone
/// (ait::Contraction::countFlops), as frontend/compiled_model/flops.h counts
/// them in a trace; of a loop kernel, which has none, one for each element that
/// a pointwise operation gives or a reduction reads.
mlir::AffineExpr countFlops(mlir::func::FuncOp kernel);

} // namespace aitune

#endif // AITUNE_COMPILER_PLAN_PLANBUILDER_H
