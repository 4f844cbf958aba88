// The state of one import: the values made so far, the constants, and the
// sizes.
#ifndef AITUNE_FRONTEND_IMPORTER_IMPORT_STATE_H_
#define AITUNE_FRONTEND_IMPORTER_IMPORT_STATE_H_

#include <optional>
#include <vector>

#include "frontend/importer/scalar.h"
#include "frontend/importer/symbolic_sizes.h"
#include "frontend/trace/argument_values.h"
#include "frontend/trace/trace.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace aitune::frontend {

class ImportState {
 public:
  // Operations are appended to `block`. Both must outlive the state.
  // Precondition: the trace's ids, constants and symbols are in range.
  ImportState(const Trace& trace, mlir::Block& block, bool is_for_gpu);

  const Trace& trace() const { return trace_; }
  // Whether eager's kernels of a GPU define the results.
  bool is_for_gpu() const { return is_for_gpu_; }
  mlir::OpBuilder& builder() { return builder_; }
  mlir::MLIRContext* context() { return builder_.getContext(); }
  SymbolicSizes& sizes() { return sizes_; }

  // The MLIR value of `id`. A constant is made at its first use: as ait.full if
  // it has a single element and rank at most 1, otherwise as ait.constant. Null
  // when no earlier call produced `id`.
  mlir::Value Value(ValueId id);
  void SetValue(ValueId id, mlir::Value value) { values_[id] = value; }

  // The number in the constant `id` if it has one element; otherwise not set.
  std::optional<Scalar> ConstantNumber(ValueId id) const;

  // Whether a call or the model's outputs read `id`.
  bool IsUsed(ValueId id) const { return use_counts_[id] > 0; }

  // The type of a tensor or constant; !ait.opaque for an opaque value.
  mlir::Type Type(ValueId id);
  Sizes ToSizes(const std::vector<SizeExpression>& sizes);
  mlir::AffineExpr ToSize(const SizeExpression& size);
  // The tensor type with the canonical forms of `sizes`.
  mlir::RankedTensorType TensorType(llvm::ArrayRef<mlir::AffineExpr> sizes,
                                    mlir::Type element_type);

  // Removes the constants that ended up without a use.
  void EraseUnusedConstants();

 private:
  const Trace& trace_;
  const bool is_for_gpu_;
  mlir::Block& block_;
  mlir::OpBuilder builder_;
  SymbolicSizes sizes_;
  std::vector<mlir::Value> values_;
  std::vector<int> use_counts_;
  mlir::Operation* last_constant_ = nullptr;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_IMPORT_STATE_H_
