// Writes the operations that a transform takes others apart into.
#ifndef AITUNE_COMPILER_TRANSFORMS_PRIMITIVEBUILDER_H
#define AITUNE_COMPILER_TRANSFORMS_PRIMITIVEBUILDER_H

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/ElementTypes.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace aitune {

/// Whether all of `numbers`, an attribute of an operation, are `wanted`.
inline bool isAll(llvm::ArrayRef<int64_t> numbers, int64_t wanted) {
  return llvm::all_of(numbers, [&](int64_t n) { return n == wanted; });
}

/// Whether a matrix is multiplied with its last two axes exchanged.
enum class Transposed { No, Yes };

/// Writes primitives at one location, with the types they imply. `rewriter`
/// must outlive it.
class PrimitiveBuilder {
public:
  PrimitiveBuilder(mlir::PatternRewriter &rewriter, mlir::Location location)
      : rewriter(rewriter), location(location) {}

  template <typename Op, typename... Args>
  mlir::Value create(mlir::Type type, Args &&...args) {
    return Op::create(rewriter, location, type, std::forward<Args>(args)...);
  }
  template <typename Op> mlir::Value unary(mlir::Value input) {
    return create<Op>(input.getType(), input);
  }
  template <typename Op> mlir::Value binary(mlir::Value lhs, mlir::Value rhs) {
    return create<Op>(lhs.getType(), lhs, rhs);
  }
  /// `input` reduced along `dims`, which keep the size 1.
  template <typename Op>
  mlir::Value reduce(mlir::Value input, llvm::ArrayRef<int64_t> dims) {
    mlir::Type elementType =
        mlir::cast<mlir::RankedTensorType>(input.getType()).getElementType();
    return create<Op>(reducedType(input, dims, elementType), input, dims);
  }
  /// `input` repeated to the sizes of `like`.
  mlir::Value expand(mlir::Value input, mlir::Value like) {
    auto type = mlir::cast<mlir::RankedTensorType>(input.getType());
    auto target = mlir::ait::withElementType(
        mlir::cast<mlir::RankedTensorType>(like.getType()),
        type.getElementType());
    return type == target ? input : create<mlir::ait::ExpandOp>(target, input);
  }
  /// `input` repeated to `sizes`.
  mlir::Value expand(mlir::Value input,
                     llvm::ArrayRef<mlir::AffineExpr> sizes) {
    auto type = mlir::cast<mlir::RankedTensorType>(input.getType());
    auto target = mlir::ait::getTensorType(sizes, type.getElementType());
    return type == target ? input : create<mlir::ait::ExpandOp>(target, input);
  }
  /// `number` in the type of `like`, a tensor of floats.
  mlir::Value full(mlir::Value like, double number) {
    auto type = mlir::cast<mlir::RankedTensorType>(like.getType());
    return create<mlir::ait::FullOp>(
        type, rewriter.getFloatAttr(type.getElementType(), number));
  }
  /// `like`, which is a reduction, of `input` along `dims`, with results of
  /// `elementType`.
  mlir::Value reduceLike(mlir::Operation *like, mlir::Value input,
                         llvm::ArrayRef<int64_t> dims, mlir::Type elementType) {
    mlir::OperationState state(
        location, like->getName(), input, reducedType(input, dims, elementType),
        {rewriter.getNamedAttr("dims", rewriter.getDenseI64ArrayAttr(dims))});
    return rewriter.create(state)->getResult(0);
  }
  /// `input` itself if it has these elements.
  mlir::Value convert(mlir::Value input, mlir::Type elementType) {
    auto type = mlir::cast<mlir::RankedTensorType>(input.getType());
    auto target = mlir::ait::withElementType(type, elementType);
    return type == target ? input : create<mlir::ait::ConvertOp>(target, input);
  }
  /// `input` itself if it has these sizes.
  mlir::Value reshape(mlir::Value input,
                      llvm::ArrayRef<mlir::AffineExpr> sizes) {
    const mlir::RankedTensorType target = typeLike(input, sizes);
    return input.getType() == target
               ? input
               : create<mlir::ait::ReshapeOp>(target, input);
  }
  static llvm::SmallVector<mlir::AffineExpr> sizesOf(mlir::Value value) {
    return mlir::ait::getSymbolicSizes(
        mlir::cast<mlir::RankedTensorType>(value.getType()));
  }
  /// Axis i of the result is axis `permutation[i]` of `input`.
  mlir::Value permute(mlir::Value input, llvm::ArrayRef<int64_t> permutation) {
    const llvm::SmallVector<mlir::AffineExpr> sizes = sizesOf(input);
    return create<mlir::ait::PermuteOp>(
        typeLike(input,
                 llvm::map_to_vector(
                     permutation, [&](int64_t axis) { return sizes[axis]; })),
        input, permutation);
  }
  /// `sizes` elements from `starts` on; `input` itself if it has these sizes.
  mlir::Value slice(mlir::Value input, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<mlir::AffineExpr> sizes) {
    const llvm::SmallVector<int64_t> steps(sizes.size(), 1);
    return sizesOf(input) == sizes
               ? input
               : create<mlir::ait::SliceOp>(typeLike(input, sizes), input,
                                            starts, steps);
  }
  /// `input` with zeros around it; `input` itself if there are none.
  mlir::Value pad(mlir::Value input, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high) {
    llvm::SmallVector<mlir::AffineExpr> sizes = sizesOf(input);
    for (auto [size, before, after] : llvm::zip_equal(sizes, low, high))
      size = mlir::ait::canonicalizeSize(size + before + after);
    return sizes == sizesOf(input)
               ? input
               : create<mlir::ait::PadOp>(typeLike(input, sizes), input, low,
                                          high, llvm::APFloat(0.0));
  }
  /// The product of matrices, whose last axis of `lhs` meets the last but one
  /// of `rhs`, or its last if that is transposed; all other axes have equal
  /// sizes.
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs, Transposed transposed) {
    llvm::SmallVector<mlir::AffineExpr> sizes = sizesOf(lhs);
    const llvm::SmallVector<mlir::AffineExpr> of = sizesOf(rhs);
    const bool transposes = transposed == Transposed::Yes;
    sizes.back() = of[of.size() - (transposes ? 2 : 1)];
    return create<mlir::ait::MatmulOp>(typeLike(lhs, sizes), lhs, rhs,
                                       /*transpose_lhs=*/false, transposes);
  }
  /// The type of `like` with other sizes.
  static mlir::RankedTensorType
  typeLike(mlir::Value like, llvm::ArrayRef<mlir::AffineExpr> sizes) {
    return mlir::ait::getTensorType(
        sizes,
        mlir::cast<mlir::RankedTensorType>(like.getType()).getElementType());
  }
  /// f32 for the narrow floating types: eager normalises in f32 and rounds
  /// once.
  static mlir::Type getArithmeticType(mlir::Value value) {
    mlir::Type type =
        mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType();
    return mlir::ait::isHalf(type) ? mlir::Float32Type::get(type.getContext())
                                   : type;
  }

private:
  static mlir::RankedTensorType reducedType(mlir::Value input,
                                            llvm::ArrayRef<int64_t> dims,
                                            mlir::Type elementType) {
    auto type = mlir::cast<mlir::RankedTensorType>(input.getType());
    llvm::SmallVector<mlir::AffineExpr> sizes =
        mlir::ait::getSymbolicSizes(type);
    for (int64_t dim : dims)
      sizes[dim] = mlir::getAffineConstantExpr(1, type.getContext());
    return mlir::ait::getTensorType(sizes, elementType);
  }

  mlir::PatternRewriter &rewriter;
  mlir::Location location;
};

} // namespace aitune

#endif // AITUNE_COMPILER_TRANSFORMS_PRIMITIVEBUILDER_H
