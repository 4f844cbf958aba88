// What kernels around one contraction share: the kernel function taken apart
// into the views that the contraction reads and what happens to its result.
//
// The parts are one linalg function, so views and epilogues are printed by the
// same PointPrinter as loop kernels: the contraction's result is one more
// argument of it, the contraction's operands are results before its own.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_CONTRACTION_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_CONTRACTION_H

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/contraction/OperandLayout.h"
#include "compiler/codegen/gpu/loops/PointPrinter.h"
#include "compiler/codegen/gpu/text/GeneratedCandidate.h"
#include "compiler/codegen/gpu/text/KernelText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace aitune {

struct ContractionParts {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::DictionaryAttr attributes;
  mlir::RankedTensorType resultType; ///< as the contraction gives it
  llvm::SmallVector<mlir::RankedTensorType> operandTypes;
  /// Of ContractionAnalysis: where each operand lies, or why it has no place.
  llvm::SmallVector<std::optional<OperandAccess>> operands;
  llvm::SmallVector<std::string> reasons;
  mlir::BlockArgument result;
  unsigned operandCount = 0;

  mlir::Value operand(unsigned i) const;
  mlir::Value output(unsigned i) const;
  unsigned outputCount() const;
};

/// Takes a kernel with one ait.matmul, ait.convolution or ait.attention apart.
absl::StatusOr<ContractionParts> takeApart(mlir::func::FuncOp kernel);

/// The contraction of `parts` as a loop kernel, for generateLoopKernel;
/// consumes the parts. `makeTerm` gives the product to add for one step of the
/// loops: the result's axes (loops 0, 1, ...) and then reduced axes of sizes
/// `reduced`.
mlir::func::FuncOp
toLoops(ContractionParts &parts, llvm::ArrayRef<mlir::AffineExpr> reduced,
        llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location)>
            makeTerm);

/// operand[exprs], of the loops around, as a value of `type`; for makeTerm.
/// `isUnsigned`: its elements are, which their type in loops does not say.
mlir::Value readOperand(mlir::OpBuilder &builder, mlir::Location location,
                        mlir::Value operand,
                        llvm::ArrayRef<mlir::AffineExpr> exprs, mlir::Type type,
                        bool isUnsigned = false);
/// An index expression of the loops around.
mlir::Value loopIndex(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::AffineExpr expr);

/// Whether an argument is known before the call (KnownAt): it may be read
/// before the wait for the kernel before.
bool isThereBefore(mlir::BlockArgument argument);

/// Where the elements of a view lie in an argument.
struct OperandView {
  mlir::BlockArgument argument;
  LinearForm address;
  mlir::Type elementType;
  /// isThereBefore(argument).
  bool isConstant = false;

  mlir::AffineExpr coefficient(mlir::AffineExpr dim) const;
};

/// Where element `exprs` of the contraction's operand `number` lies.
/// kUnimplemented if the kernel computes or converts the operand. The address
/// may have terms that are not dims (quotients, remainders).
absl::StatusOr<OperandView> viewOperand(const ContractionParts &parts,
                                        unsigned number,
                                        llvm::ArrayRef<mlir::AffineExpr> exprs,
                                        DimTable &dims);

/// Prints what happens to the contraction's result.
class EpiloguePrinter {
public:
  /// `resultDims` are the result's axes (dims, or 0 where the size is 1); the
  /// last one is the lanes'.
  EpiloguePrinter(ContractionParts &parts, DimTable &dims,
                  llvm::ArrayRef<mlir::AffineExpr> resultDims);

  /// Finds the index of every output. kUnimplemented if an element of an output
  /// does not depend on one element of the result alone.
  absl::Status prepare();

  /// Whether two neighbouring result axes may be bound as one.
  bool canMerge(mlir::AffineExpr outer, mlir::AffineExpr inner) const;

  /// Lanes that fit all outputs, at most 16 bytes of the widest.
  int64_t lanes(mlir::AffineExpr lastSize) const;

  /// Inside the scope where the result's dims are bound (the last one to the
  /// first lane, `base`) and `value` names a Pack<float, lanes> of the result.
  void print(PointPrinter &printer, int64_t lanes, const std::string &base,
             const std::string &value);

  /// The parameters, and the step's operands.
  llvm::SmallVector<KernelParameter> parameters(GeneratedStep &step) const;

  /// A printer whose arguments are the kernel's.
  void setUp(PointPrinter &printer);

private:
  absl::Status tryIndex(unsigned output,
                        llvm::ArrayRef<mlir::AffineExpr> exprs);

  ContractionParts &parts;
  DimTable &dims;
  llvm::SmallVector<mlir::AffineExpr> resultDims;
  std::vector<llvm::SmallVector<mlir::AffineExpr>> outputIndices;
  LoopAnalysis analysis;
  std::string resultText; ///< of the element in the current lanes
};

/// Binds each of the dims `axes` to its part of the flat index `flat` over them
/// (a name). With `merging`, axes that the epilogue may see as one are one.
void bindAxes(PointPrinter &printer, llvm::ArrayRef<mlir::AffineExpr> axes,
              llvm::ArrayRef<mlir::AffineExpr> sizes, const std::string &flat,
              const char *prefix, const EpiloguePrinter *merging);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_CONTRACTION_H
