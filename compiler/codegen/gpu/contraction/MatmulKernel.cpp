#include "compiler/codegen/gpu/contraction/MatmulKernel.h"

#include "absl/status/status.h"
#include "compiler/codegen/contraction/OperandFormat.h"
#include "compiler/codegen/gpu/contraction/Contraction.h"
#include "compiler/codegen/gpu/contraction/GatheredOperand.h"
#include "compiler/codegen/gpu/contraction/TileConfig.h"
#include "compiler/codegen/gpu/contraction/TileSpace.h"
#include "compiler/codegen/gpu/contraction/TileWriter.h"
#include "compiler/codegen/gpu/loops/LoopKernel.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// Rows up to which a reduction a result is worth measuring.
constexpr int64_t kFewRows = 4;
/// Rows up to which it is expected to be the fastest, without codes.
constexpr int64_t kDotsFirstRows = 2;
/// Rows of the largest tiles: matrices of fewer leave parts of tiles idle, and
/// each reads the weights again.
constexpr int64_t kRowsOfTile = 128;
/// Rows from which on arithmetic, not the weight's memory, takes the time.
constexpr int64_t kManyRows = 1024;
/// The most tiles that are measured. There are more for few rows, for which the
/// time of waiting for memory and for other blocks is hard to predict.
constexpr size_t kMostTiles = 8, kMostTilesOfFewRows = 12;

/// The matmul's axes as dims, and the indices of its operands.
struct MatmulIndices {
  SmallVector<AffineExpr> result, lhs, rhs;
  AffineExpr k, reducedSize;
  bool sharedRhs;
};

MatmulIndices indexMatmul(const ContractionParts &parts, DimTable &dims) {
  MatmulIndices indices;
  MLIRContext *context = parts.resultType.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(parts.resultType);
  for (AffineExpr size : sizes)
    indices.result.push_back(size == 1 ? zero : dims.make(size));
  bool transposeLhs = parts.attributes.contains("transpose_lhs"),
       transposeRhs = parts.attributes.contains("transpose_rhs");
  unsigned rank = sizes.size(), rhsRank = parts.operandTypes[1].getRank();
  SmallVector<AffineExpr> lhsSizes =
      mlir::ait::getSymbolicSizes(parts.operandTypes[0]);
  indices.reducedSize = lhsSizes[transposeLhs ? rank - 2 : rank - 1];
  indices.k = indices.reducedSize == 1 ? zero : dims.make(indices.reducedSize);
  AffineExpr m = indices.result[rank - 2], n = indices.result[rank - 1];
  ArrayRef<AffineExpr> batch(indices.result.begin(), rank - 2);
  llvm::append_range(indices.lhs, batch);
  indices.lhs.push_back(transposeLhs ? indices.k : m);
  indices.lhs.push_back(transposeLhs ? m : indices.k);
  indices.sharedRhs = rhsRank == 2;
  if (!indices.sharedRhs)
    llvm::append_range(indices.rhs, batch);
  indices.rhs.push_back(transposeRhs ? n : indices.k);
  indices.rhs.push_back(transposeRhs ? indices.k : n);
  return indices;
}

/// The matmul as a loop kernel.
absl::StatusOr<GeneratedCandidate>
generateDots(func::FuncOp kernel, ArrayAttr symbols, const GpuTarget &target) {
  AITUNE_ASSIGN_OR_RETURN(ContractionParts parts, takeApart(kernel));
  MLIRContext *context = kernel.getContext();
  unsigned rank = parts.resultType.getRank(),
           rhsRank = parts.operandTypes[1].getRank();
  auto dim = [&](unsigned i) { return getAffineDimExpr(i, context); };
  SmallVector<AffineExpr> lhs, rhs;
  for (unsigned i = 0; i + 2 < rank; ++i) {
    lhs.push_back(dim(i));
    if (rhsRank > 2)
      rhs.push_back(dim(i));
  }
  bool transposeLhs = parts.attributes.contains("transpose_lhs"),
       transposeRhs = parts.attributes.contains("transpose_rhs");
  lhs.push_back(transposeLhs ? dim(rank) : dim(rank - 2));
  lhs.push_back(transposeLhs ? dim(rank - 2) : dim(rank));
  rhs.push_back(transposeRhs ? dim(rank - 1) : dim(rank));
  rhs.push_back(transposeRhs ? dim(rank) : dim(rank - 1));
  SmallVector<AffineExpr> lhsSizes =
      mlir::ait::getSymbolicSizes(parts.operandTypes[0]);
  Type element = parts.resultType.getElementType();
  const bool lhsIsUnsigned =
      parts.operandTypes[0].getElementType().isUnsignedInteger();
  func::FuncOp loops =
      toLoops(parts, {lhsSizes[transposeLhs ? rank - 2 : rank - 1]},
              [&](OpBuilder &b, Location l) -> Value {
                Value x = readOperand(b, l, parts.operand(0), lhs, element,
                                      lhsIsUnsigned),
                      y = readOperand(b, l, parts.operand(1), rhs, element);
                if (isa<FloatType>(element))
                  return arith::MulFOp::create(b, l, x, y);
                return arith::MulIOp::create(b, l, x, y);
              });
  absl::StatusOr<GeneratedCandidate> candidate =
      generateLoopKernel(loops, symbols, target);
  if (candidate.ok())
    candidate->description = "dots: " + candidate->description;
  return candidate;
}

/// Whether the columns of B can be made rows when the model is loaded: it is a
/// whole matrix [k, columns] of the constant pool. Warpgroups multiply with
/// rows alone.
bool mayTransposeB(const ContractionParts &parts, const TileKernel &tiles,
                   const GpuTarget &target) {
  const OperandView &b = tiles.b;
  if (tiles.rowsOfB || tiles.codes || !target.hasWgmma() ||
      cudaBytes(tiles.element) != 2 ||
      mlir::ait::getKnownAt(parts.function, b.argument.getArgNumber()) !=
          mlir::ait::KnownAt::Load)
    return false;
  auto type = cast<RankedTensorType>(b.argument.getType());
  auto isZero = [](AffineExpr expr) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    return constant && constant.getValue() == 0;
  };
  return type.getRank() == 2 && type.hasStaticShape() &&
         mlir::ait::getSymbolicSizes(type) ==
             SmallVector<AffineExpr>{tiles.reducedSize, tiles.columnSize} &&
         tiles.columnStride == tiles.columnSize && isZero(b.address.constant) &&
         llvm::all_of(tiles.batchDims, [&](AffineExpr dim) {
           return isZero(b.coefficient(dim));
         });
}

/// The elements in 16 bytes, which are copied at a time.
int64_t chunkOf(const OperandView &view) {
  return 16 / cudaBytes(view.elementType);
}

bool isLinear(const OperandView &view) {
  return llvm::all_of(view.address.terms, [](const LinearForm::Term &term) {
    return isa<AffineDimExpr>(term.term);
  });
}

/// Whether the operand's matrices begin at whole chunks.
bool hasWholeBatches(const TileKernel &tiles, const OperandView &view) {
  const int64_t chunk = chunkOf(view);
  return view.address.constant.isMultipleOf(chunk) &&
         llvm::all_of(tiles.batchDims, [&](AffineExpr dim) {
           return view.coefficient(dim).isMultipleOf(chunk);
         });
}

/// Parts the leading axes into batches and rows. Leading axes that the right
/// side does not have are rows where the left side has them evenly spaced; the
/// others are one matrix each. Whether the left rows are then evenly spaced
/// runs of whole chunks, and, if they `mayBeGathered`, as many as a tile has;
/// if not, all axes that the right side does not have are rows.
bool placeRows(TileKernel &tiles, const MatmulIndices &indices,
               ArrayRef<AffineExpr> sizes, DimTable &dims, bool mayBeGathered) {
  const OperandView &lhs = tiles.a;
  MLIRContext *context = tiles.columnSize.getContext();
  const AffineExpr one = getAffineConstantExpr(1, context);
  const unsigned rank = sizes.size();
  auto part = [&](bool evenly) {
    tiles.batchDims.clear();
    tiles.rowDims.clear();
    for (unsigned i = 0; i + 1 < rank; ++i) {
      const bool isRow = i + 2 == rank || indices.sharedRhs;
      if (!isa<AffineDimExpr>(indices.result[i]))
        continue;
      if (evenly && isRow && !tiles.rowDims.empty() &&
          lhs.coefficient(tiles.rowDims.back()) !=
              canonical(lhs.coefficient(indices.result[i]) * sizes[i])) {
        llvm::append_range(tiles.batchDims, tiles.rowDims);
        tiles.rowDims.clear();
      }
      (isRow ? tiles.rowDims : tiles.batchDims).push_back(indices.result[i]);
    }
    auto sizeOf = [&](ArrayRef<AffineExpr> axes) {
      AffineExpr size = one;
      for (AffineExpr dim : axes)
        size =
            canonical(size * dims.size(cast<AffineDimExpr>(dim).getPosition()));
      return size;
    };
    tiles.rowSize = sizeOf(tiles.rowDims);
    tiles.batchSize = sizeOf(tiles.batchDims);
  };
  part(/*evenly=*/true);
  tiles.rowStride = tiles.rowDims.empty()
                        ? getAffineConstantExpr(0, context)
                        : lhs.coefficient(tiles.rowDims.back());
  if (isLinear(lhs) && lhs.coefficient(indices.k) == one &&
      tiles.rowStride.isMultipleOf(chunkOf(lhs)) &&
      tiles.reducedSize.isMultipleOf(chunkOf(lhs)) &&
      hasWholeBatches(tiles, lhs)) {
    const std::optional<int64_t> rows = getConstant(tiles.rowSize);
    if (!mayBeGathered || !indices.sharedRhs || tiles.batchDims.empty() ||
        !rows || *rows >= kRowsOfTile)
      return true;
  }
  part(/*evenly=*/false);
  return false;
}

/// Sets how the right side lies. Whether its rows or its columns are evenly
/// spaced runs of whole chunks.
bool placeColumns(TileKernel &tiles) {
  const OperandView &rhs = tiles.b;
  const AffineExpr n = tiles.resultDims.back();
  const AffineExpr one =
      getAffineConstantExpr(1, tiles.columnSize.getContext());
  tiles.rowsOfB = rhs.coefficient(tiles.reducedDim) == one;
  tiles.columnStride = rhs.coefficient(tiles.rowsOfB ? n : tiles.reducedDim);
  const AffineExpr run = tiles.rowsOfB ? tiles.reducedSize : tiles.columnSize;
  // Columns of codes are read in whole chunks, too.
  const bool hasCodes = tiles.a.elementType != rhs.elementType;
  return isLinear(rhs) &&
         (!hasCodes || tiles.reducedSize.isMultipleOf(chunkOf(rhs))) &&
         (tiles.rowsOfB ||
          (isa<AffineDimExpr>(n) && rhs.coefficient(n) == one)) &&
         tiles.columnStride.isMultipleOf(chunkOf(rhs)) &&
         run.isMultipleOf(chunkOf(rhs)) && hasWholeBatches(tiles, rhs);
}

/// The matmul in tiles: what TileWriter needs to know.
absl::StatusOr<TileKernel> analyzeTiles(ContractionParts &parts, DimTable &dims,
                                        const GpuTarget &target) {
  MatmulIndices indices = indexMatmul(parts, dims);
  AITUNE_ASSIGN_OR_RETURN(OperandView lhs,
                          viewOperand(parts, 0, indices.lhs, dims));
  AITUNE_ASSIGN_OR_RETURN(OperandView rhs,
                          viewOperand(parts, 1, indices.rhs, dims));
  std::string reason;
  const FailureOr<OperandFormat> format =
      getOperandFormat(lhs.elementType, rhs.elementType,
                       parts.resultType.getElementType(), reason);
  if (failed(format))
    return absl::UnimplementedError(reason);
  if (!format->sum.isF32() && !format->sum.isInteger(32))
    return absl::UnimplementedError("a matmul of these element types");
  TileKernel tiles;
  if (format->widensCodes())
    tiles.codes = rhs.elementType;
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(parts.resultType);
  if (!isa<AffineDimExpr>(indices.k))
    return absl::UnimplementedError("a matmul over one element");
  tiles.a = lhs;
  tiles.b = rhs;
  tiles.reducedDim = indices.k;
  tiles.resultDims = indices.result;
  tiles.columnSize = sizes.back();
  tiles.reducedSize = indices.reducedSize;
  tiles.element = lhs.elementType;
  const bool isOfCodes = rhs.elementType.getIntOrFloatBitWidth() == 8;
  if (!placeRows(tiles, indices, sizes, dims, !isOfCodes)) {
    tiles.rowStride = nullptr;
    const std::optional<Gathering> gathering = findGathering(
        tiles.a, tiles.rowDims, indices.k, tiles.reducedSize, chunkOf(tiles.a));
    if (isOfCodes || !gathering)
      return absl::UnimplementedError(
          "a matmul of codes whose left rows are not evenly spaced runs of "
          "whole chunks of 16 bytes, or of rows whose places depend on the "
          "batch");
    tiles.gatheringOfA = *gathering;
  }
  // Tiles of fp32 hold rows of both sides.
  const bool needsRows = tiles.element.isF32();
  if (!placeColumns(tiles) || (needsRows && !tiles.rowsOfB)) {
    tiles.rowsOfB = true;
    tiles.columnStride = nullptr;
    const std::optional<Gathering> gathering =
        findGathering(tiles.b, indices.result.back(), indices.k,
                      tiles.reducedSize, chunkOf(tiles.b));
    if (isOfCodes || !gathering)
      return absl::UnimplementedError(
          "a matmul of codes whose right side is not evenly spaced runs of "
          "whole chunks of 16 bytes, or of columns whose places depend on the "
          "batch");
    tiles.gatheringOfB = *gathering;
  }
  if (tiles.gatheringOfB == Gathering::None &&
      mayTransposeB(parts, tiles, target) &&
      tiles.reducedSize.isMultipleOf(chunkOf(tiles.a))) {
    // Panels of one column each are the columns as rows.
    tiles.packingOfB.set_kind(PackingProto::MATMUL_PANELS);
    tiles.packingOfB.set_block_n(1);
    tiles.rowsOfB = true;
    tiles.columnStride = tiles.reducedSize;
  }
  return tiles;
}

/// Whether B is one matrix of the constant pool in a kernel of fixed sizes, so
/// that it can be packed at load, and large enough for that to matter. Values
/// that are computed at load are not packed, because they do not exist when
/// candidates are measured.
bool mayPackB(func::FuncOp kernel, const TileKernel &tiles, int64_t rows) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  return rows >= kManyRows && tiles.rowsOfB && tiles.batchDims.empty() &&
         llvm::all_of(kernel.getArgumentTypes(), isStatic) &&
         mlir::ait::getKnownAt(kernel, tiles.b.argument.getArgNumber()) ==
             mlir::ait::KnownAt::Load;
}

/// The candidates in the tiles that are selected. Also as loops, with one
/// reduction for each element of the result, if no tile is selected, or if
/// `mayAddDots` and there are few rows or an operand is gathered by elements.
absl::StatusOr<std::vector<GeneratedCandidate>>
generateCandidates(func::FuncOp kernel, ArrayAttr symbols,
                   const GpuTarget &target, SelectTiles select,
                   bool mayAddDots) {
  std::vector<GeneratedCandidate> candidates;
  AITUNE_ASSIGN_OR_RETURN(ContractionParts parts, takeApart(kernel));
  DimTable dims;
  absl::StatusOr<TileKernel> tiles = analyzeTiles(parts, dims, target);
  std::string reason = tiles.ok() ? "" : std::string(tiles.status().message());
  const bool isOfCodes =
      tiles.ok() && tiles->b.elementType.getIntOrFloatBitWidth() == 8;
  int64_t rows = 1 << 20;
  if (tiles.ok()) {
    auto estimate = [&](AffineExpr size, int64_t otherwise) {
      return largestValue(size, symbols).value_or(otherwise);
    };
    TileProblem problem{estimate(tiles->batchSize, 8),
                        estimate(tiles->rowSize, 512),
                        estimate(tiles->columnSize, 1024),
                        estimate(tiles->reducedSize, 1024),
                        tiles->element,
                        tiles->rowsOfB,
                        isa<AffineConstantExpr>(tiles->reducedSize)};
    problem.codes = tiles->codes;
    problem.gathering = std::max(tiles->gatheringOfA, tiles->gatheringOfB);
    problem.mayPackB = !tiles->codes &&
                       tiles->gatheringOfB == Gathering::None &&
                       tiles->packingOfB.kind() == PackingProto::NONE &&
                       mayPackB(kernel, *tiles, problem.m);
    rows = problem.m * problem.batch;
    TileWriter writer(parts, dims, *tiles, symbols, target);
    absl::Status prepared = writer.prepare();
    if (!prepared.ok())
      reason = std::string(prepared.message());
    else {
      AITUNE_ASSIGN_OR_RETURN(std::vector<TileConfig> configs, select(problem));
      for (const TileConfig &config : configs) {
        AITUNE_ASSIGN_OR_RETURN(GeneratedCandidate candidate,
                                writer.write(kernel.getName(), config));
        candidates.push_back(std::move(candidate));
      }
    }
  }
  const bool gathersElements =
      tiles.ok() &&
      std::max(tiles->gatheringOfA, tiles->gatheringOfB) == Gathering::Elements;
  if (candidates.empty() ||
      (mayAddDots && (rows <= kFewRows || gathersElements))) {
    absl::StatusOr<GeneratedCandidate> dots =
        generateDots(kernel, symbols, target);
    if (dots.ok())
      candidates.insert(rows <= kDotsFirstRows && !isOfCodes
                            ? candidates.begin()
                            : candidates.end(),
                        std::move(*dots));
    else if (candidates.empty())
      return absl::UnimplementedError(
          (reason.empty() ? "" : reason + "; as a loop: ") +
          std::string(dots.status().message()));
  }
  return candidates;
}

} // namespace

absl::StatusOr<std::vector<GeneratedCandidate>>
generateMatmul(func::FuncOp kernel, ArrayAttr symbols,
               const GpuTarget &target) {
  auto choose = [&](const TileProblem &problem) {
    std::vector<TileConfig> tiles = chooseStreams(problem, target);
    llvm::append_range(tiles, chooseTiles(problem, target,
                                          problem.m > kManyRows / 2
                                              ? kMostTiles
                                              : kMostTilesOfFewRows));
    return tiles;
  };
  return generateCandidates(
      kernel, symbols, target,
      [&](const TileProblem &problem) {
        return selectTiles(kernel, problem, target,
                           [&] { return choose(problem); });
      },
      /*mayAddDots=*/!hasSchedule(kernel));
}

absl::StatusOr<std::vector<Schedule>> listMatmulTiles(func::FuncOp kernel,
                                                      ArrayAttr symbols,
                                                      const GpuTarget &target) {
  return listTileSchedules(kernel, target, [&](SelectTiles select) {
    return generateCandidates(kernel, symbols, target, select,
                              /*mayAddDots=*/false)
        .status();
  });
}

} // namespace aitune
