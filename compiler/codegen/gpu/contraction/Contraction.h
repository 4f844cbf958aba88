// The common part of the generators of matmuls, convolutions and attentions. It
// takes a kernel function apart into the operations before the contraction and
// those after it (the epilogue), finds where operands lie, and prints the
// epilogue.
//
// Both parts stay in one linalg function, in which the contraction's operands
// are results and its result is an argument, so that the same PointPrinter
// prints them as prints loop kernels.
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

/// A kernel whose contraction was taken out.
struct ContractionParts {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< the owner of `function`
  /// The kernel's other operations as linalg. Its results are the contraction's
  /// operands and then the kernel's results; its arguments are the kernel's and
  /// then the contraction's result.
  mlir::func::FuncOp function;
  mlir::DictionaryAttr attributes;   ///< the attributes of the contraction
  mlir::RankedTensorType resultType; ///< the type of the contraction's result
  /// The types of the contraction's operands.
  llvm::SmallVector<mlir::RankedTensorType> operandTypes;
  /// For each operand, where it lies in an argument, or why it does not
  /// (ContractionAnalysis).
  llvm::SmallVector<std::optional<OperandAccess>> operands;
  llvm::SmallVector<std::string> reasons;
  mlir::BlockArgument result; ///< the argument that is the contraction's result
  unsigned operandCount = 0;  ///< the number of the contraction's operands

  /// Operand `i` of the contraction, as a value of `function`.
  mlir::Value operand(unsigned i) const;
  /// Result `i` of the kernel, as a value of `function`.
  mlir::Value output(unsigned i) const;
  /// The number of the kernel's results.
  unsigned outputCount() const;
};

/// Takes apart a copy of `kernel`, which has one ait.matmul, ait.convolution or
/// ait.attention. kUnimplemented says what of it has no linalg form.
absl::StatusOr<ContractionParts> takeApart(mlir::func::FuncOp kernel);

/// Writes the contraction as loops, so that `parts` become one loop kernel, for
/// generateLoopKernel; nothing else may use them afterwards. The loops are the
/// axes of the result (loops 0, 1, ...) and then reduced axes of the sizes
/// `reduced`. `makeTerm` makes the product that one step of the loops adds.
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

/// Whether an argument is known before the call (KnownAt), so that a kernel may
/// read it before it waits for the end of the previous kernel.
bool isThereBefore(mlir::BlockArgument argument);

/// The place of an operand's element in an argument.
struct OperandView {
  mlir::BlockArgument argument;
  LinearForm address;      ///< elements from the argument's first one
  mlir::Type elementType;  ///< the argument's
  bool isConstant = false; ///< isThereBefore(argument)

  /// The elements by which `address` grows as `dim` grows by 1; 0 if `dim` is
  /// no dim.
  mlir::AffineExpr coefficient(mlir::AffineExpr dim) const;
};

/// The place of the element at index `exprs` of the contraction's operand
/// `number`. Its address may have quotients and remainders of dims as terms.
/// kUnimplemented if the kernel computes or converts the operand.
absl::StatusOr<OperandView> viewOperand(const ContractionParts &parts,
                                        unsigned number,
                                        llvm::ArrayRef<mlir::AffineExpr> exprs,
                                        DimTable &dims);

/// Prints the epilogue: the operations after the contraction, and the stores of
/// the kernel's results.
class EpiloguePrinter {
public:
  /// `resultDims` has the dim of each axis of the contraction's result, or 0
  /// for an axis of size 1. Lanes lie along the last one.
  EpiloguePrinter(ContractionParts &parts, DimTable &dims,
                  llvm::ArrayRef<mlir::AffineExpr> resultDims);

  /// Finds for each of the kernel's results the index of the element that is
  /// computed from the result's element at `resultDims`. kUnimplemented if
  /// there is none: each element must depend on one element of the
  /// contraction's result. To be called before the functions below.
  absl::Status prepare();

  /// Whether two neighbouring axes of the result may be bound as one dim, since
  /// the epilogue reads and writes all tensors with strides that allow it.
  bool canMerge(mlir::AffineExpr outer, mlir::AffineExpr inner) const;

  /// The number of lanes of a pack: the greatest power of two that divides
  /// `lastSize`, the size of the last axis, and with which a pack of no result
  /// has more than 16 bytes; at most 8.
  int64_t lanes(mlir::AffineExpr lastSize) const;

  /// Prints the epilogue of `lanes` elements. In the printer's current scope
  /// the dims of the result must be bound, the last one to the name `base` of
  /// its first lane. `value` is the name of the result's elements, a
  /// Pack<float, lanes>. Stores of packs stay pending in the printer.
  void print(PointPrinter &printer, int64_t lanes, const std::string &base,
             const std::string &value);

  /// The parameters of the generated kernel. Sets the operands of `step`.
  llvm::SmallVector<KernelParameter> parameters(ImplementationStep &step) const;

  /// Sets the arguments of `printer` to those of the generated kernel.
  void setUp(PointPrinter &printer);

private:
  absl::Status tryIndex(unsigned output,
                        llvm::ArrayRef<mlir::AffineExpr> exprs);

  ContractionParts &parts;
  DimTable &dims;
  llvm::SmallVector<mlir::AffineExpr> resultDims;
  std::vector<llvm::SmallVector<mlir::AffineExpr>> outputIndices;
  LoopAnalysis analysis;
  /// The text of the contraction's element in the current lane.
  std::string resultText;
};

/// Binds each of the dims `axes`, which have the sizes `sizes`, to its part of
/// a flat index over them, whose name is `flat`. Names of the parts start with
/// `prefix`. If `merging` is not null, axes for which its canMerge holds are
/// bound as one.
void bindAxes(PointPrinter &printer, llvm::ArrayRef<mlir::AffineExpr> axes,
              llvm::ArrayRef<mlir::AffineExpr> sizes, const std::string &flat,
              const char *prefix, const EpiloguePrinter *merging);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_CONTRACTION_H
