// The innermost loop of every contraction: a tile of the result held in vector
// registers, to which each step adds the product of one column of the left side
// and one row of the right side.
//
// The left side is read one element at a time and broadcast (an operand of the
// multiply-add on AVX-512), the right side as whole vectors. So the left side
// needs no packing where its rows are contiguous along the contracted axis, and
// a tile of `rows` x `vectors` does rows * vectors multiply-adds for rows +
// vectors loads.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNEL_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNEL_H

#include "compiler/codegen/contraction/OperandFormat.h"
#include "compiler/codegen/cpu/contraction/MicrokernelBuilder.h"

namespace aitune {

/// The instructions of one multiply-add step.
enum class MicrokernelKind {
  /// A multiply-add of f32, f64 or i32. A narrower right side is widened when
  /// it
  /// is loaded.
  FusedMultiplyAdd,
  /// Two steps of bf16 at once with f32 sums (vdpbf16ps). Both sides are bf16;
  /// the right side is packed in pairs of steps.
  Bf16Pairs,
  /// Four steps of bytes at once with i32 sums (vpdpbusd): unsigned bytes on
  /// the left, signed bytes on the right, which is packed in fours of steps.
  ByteQuads,
  /// AMX tiles with the factors and sums of Bf16Pairs or ByteQuads, whose right
  /// side is packed in the same way.
  AmxTiles,
};

/// The steps of a row of an AMX tile, 64 bytes, of elements of type `factor`.
int64_t getAmxSteps(mlir::Type factor);

/// Makes `format` that of the instruction which multiplies operands as they are
/// stored, several steps at once, and returns its kind; leaves it as it is, for
/// FusedMultiplyAdd, where `target` has none for these types. The right side
/// must be packed for it.
MicrokernelKind useStoredFactors(OperandFormat &format, const Target &target);

/// The same for codes of 8 bits on the right (OperandFormat::widensCodes),
/// which are widened to the left side's type: `format` and the kind are those
/// of the instruction for that. The right side is packed one step at a time.
MicrokernelKind useWidenedCodes(OperandFormat &format, const Target &target);

/// The tile: `rows` rows of `vectors` vectors of `lanes` accumulators.
struct TileShape {
  int64_t rows, vectors, lanes;
  mlir::Type accumulatorType;
  int64_t columns() const { return vectors * lanes; }
};

/// The right side of a tile: row k at pointer + k * rowStride, `vectors`
/// vectors wide. For Bf16Pairs row k holds steps 2k and 2k + 1, interleaved or,
/// of codes of 8 bits, one after the other; for ByteQuads steps 4k to 4k + 3.
struct TileRhs {
  mlir::Value pointer;
  mlir::Value rowStride; ///< elements from a row to the next
  mlir::Type elementType;
  /// A mask for each vector, if columns past the end must not be read;
  /// otherwise empty.
  llvm::SmallVector<mlir::Value> masks;
  /// Whether it streams through the first-level cache: rows without gaps, more
  /// than the cache holds. FusedMultiplyAdd then asks for them some steps
  /// ahead.
  bool streams = false;
};

/// Whether a panel of `bytes` bytes leaves the first-level cache before the
/// next tile reads it (TileRhs::streams).
bool streamsThroughL1(const Target &target, int64_t bytes);

/// Zeros for a tile's accumulators, row by row.
llvm::SmallVector<mlir::Value> emitZeroTile(KernelBuilder &builder,
                                            const TileShape &tile);

/// The sum of two tiles, accumulator by accumulator.
llvm::SmallVector<mlir::Value> emitAddTiles(KernelBuilder &builder,
                                            mlir::ValueRange lhs,
                                            mlir::ValueRange rhs);

/// Memory that is read next, and so is brought into the second-level cache: at
/// step k the `bytes` bytes from pointer + k * stepBytes on, in whole lines.
struct Ahead {
  mlir::Value pointer; ///< null: nothing
  int64_t stepBytes = 0, bytes = 0;
};

/// accumulators[r][v] += sum over k < count of lhs[r][k] * rhs[k][v].
/// lhsRows[r] points to `count` contiguous elements: of the accumulator's type,
/// or bf16 for Bf16Pairs. An odd count is fine: the last pair's second half of
/// the right side is then read but multiplied by zero. For ByteQuads bytes, as
/// many as fill the last four: the right side is zero there.
/// FusedMultiplyAdd brings `ahead` into the cache meanwhile.
llvm::SmallVector<mlir::Value> emitMultiplyAccumulate(
    KernelBuilder &builder, MicrokernelKind kind, const TileShape &tile,
    mlir::ValueRange lhsRows, const TileRhs &rhs, mlir::Value count,
    mlir::ValueRange accumulators, llvm::ArrayRef<Ahead> ahead = {});

/// The part of the next panel that a tile brings into the cache while it
/// multiplies, so that the tiles of a block bring all of it: it comes from
/// memory wherever a model's weights are larger than the caches. `rhs` points
/// to the tile's panel, `panelBytes` before the next; `tile` is its number in
/// the block, which has `tiles`. Nothing where these are too few. There is no
/// harm in asking for what lies behind the last panel.
Ahead getPartOfPanel(KernelBuilder &builder, mlir::Value rhs,
                     int64_t panelBytes, int64_t stepBytes, int64_t tiles,
                     mlir::Value tile);

/// Asks for the lines of the second-level cache (`level` 2) or the first (1)
/// that the bytes of `ahead` for step `step` begin in.
void emitPrefetch(KernelBuilder &builder, const Ahead &ahead, mlir::Value step,
                  int64_t level);

/// The whole of a tile for AmxTiles: sums[r][c] (+)= sum over k < count of
/// lhs[r][k] * rhs[k][c], for `rows` (16 or 32) rows from `lhs` on,
/// lhsRowStride elements apart, and `columns` (16 or 32) columns; `count` is a
/// multiple of getAmxSteps. Where the right side is of bf16 the left one is too
/// and the sums are f32; where it is of signed bytes the left one is of
/// unsigned bytes and the sums are i32. They are stored, rows `sumsRowStride`
/// sums apart. While it multiplies, `ahead` is brought into the cache, a step
/// of which are the getAmxSteps of a tile.
void emitAmxTile(KernelBuilder &builder, int64_t rows, int64_t columns,
                 mlir::Value lhs, mlir::Value lhsRowStride, const TileRhs &rhs,
                 mlir::Value count, bool startsAtZero, mlir::Value sums,
                 int64_t sumsRowStride, const Ahead &ahead = {});

/// Stores a tile to, or loads it from, rows of `rowStride` accumulators.
void emitStoreTile(KernelBuilder &builder, const TileShape &tile,
                   mlir::ValueRange accumulators, mlir::Value pointer,
                   int64_t rowStride);
llvm::SmallVector<mlir::Value> emitLoadTile(KernelBuilder &builder,
                                            const TileShape &tile,
                                            mlir::Value pointer,
                                            int64_t rowStride);

/// Calls `emitTile(row, rows)` with constant `rows` so that the `count` rows
/// from 0 on are covered: tiles of `tileRows`, then smaller ones for what is
/// left. `rest` is what is left (count mod tileRows) or 0, where that is known
/// at compile time: one tile then covers it, else tiles of halving sizes.
void emitRowTiles(
    KernelBuilder &builder, int64_t tileRows, mlir::Value count,
    std::optional<int64_t> rest,
    const std::function<void(mlir::Value row, int64_t rows)> &emitTile);

/// A right side that was not packed at load.
struct PanelSource {
  mlir::Value pointer;
  mlir::Type elementType;
  LayoutAxis stepAxis, columnAxis;
};
/// Copies to `target`, as rows of tile.columns() accumulators, one row a step,
/// the panel of `source` that begins at step `firstStep` and column
/// `firstColumn`. Columns from `validColumns` (at least 1) on get unspecified
/// finite or infinite numbers of the source or zeros. `target` has room for
/// `steps` rows rounded up to a multiple of the lanes.
void emitPackPanel(KernelBuilder &builder, const TileShape &tile,
                   const PanelSource &source, mlir::Value firstStep,
                   mlir::Value steps, mlir::Value firstColumn,
                   mlir::Value validColumns, mlir::Value target);

/// As emitPackPanel, of a source of bf16 and in the form that Bf16Pairs and
/// AmxTiles multiply: a row of `target` is a pair of steps, two bf16 in the
/// place of each accumulator. Behind `steps`, up to a multiple of 32, are
/// zeros, for which `target` has room.
void emitPackPairs(KernelBuilder &builder, const TileShape &tile,
                   const PanelSource &source, mlir::Value firstStep,
                   mlir::Value steps, mlir::Value firstColumn,
                   mlir::Value validColumns, mlir::Value target);

/// Copies to `target` a panel of a right side of 8-bit codes that was packed
/// ahead, `steps` rows of tile.columns() codes of `codeType` from `source` on,
/// widened as `kind` multiplies it: to the accumulators' type, or for Bf16Pairs
/// and AmxTiles to bf16 in pairs of rows, with zeros behind an odd last one.
void emitWidenPanel(KernelBuilder &builder, MicrokernelKind kind,
                    const TileShape &tile, mlir::Type codeType,
                    mlir::Value source, mlir::Value steps, mlir::Value target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNEL_H
