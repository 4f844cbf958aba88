// The two products of an attention kernel, queries by keys and weights by
// values, with the copies of operands that their instructions need.
//
// Internal to the attention kernel: AttentionLowering.cpp writes the loops and
// the softmax between the products.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_ATTENTIONPRODUCTS_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_ATTENTIONPRODUCTS_H

#include <functional>
#include <memory>

#include "compiler/codegen/cpu/contraction/Attention.h"

namespace aitune {

/// What the loops of an attention kernel and its products share. A tile is
/// schedule.mr queries; a block is up to schedule.keyBlock keys. References
/// must outlive it.
struct AttentionFrame {
  AttentionFrame(KernelBuilder &builder, const AttentionProblem &problem,
                 const AttentionSchedule &schedule);

  KernelBuilder &builder;
  const AttentionProblem &problem;
  const AttentionSchedule &schedule;
  const mlir::Type f32;
  /// Elements of f32 of a vector; vectors of a tile's columns.
  const int64_t lanes, vectors;
  /// f32 elements between the rows of `outputs` and of `scores`.
  const int64_t outputStride, scoreStride;
  mlir::Value queries, keys; ///< how many there are
  /// On the stack: the scores of a tile and a block, and later, of kind
  /// FusedMultiplyAdd, their weights; the sums of the unit's queries.
  mlir::Value scores, outputs;
  mlir::Value batch, firstQuery; ///< the unit that is being written

  /// The start of `operand` in this unit's batch.
  mlir::Value start(const AttentionProblem::Operand &operand) const;
  /// pointer + index elements of f32.
  mlir::Value at(mlir::Value pointer, mlir::Value index) const {
    return builder.advance(pointer, f32, index);
  }
  /// A tile with rows of `count` vectors.
  TileShape getTile(int64_t count) const {
    return {schedule.mr, count, lanes, f32};
  }
  /// Pointers to the elements, as they are stored, of each query of the tile
  /// whose first one is query `row` of the unit; queries past the last one
  /// repeat it.
  llvm::SmallVector<mlir::Value> getQueryRows(mlir::Value row) const;
  /// Copies `count` elements of a row of `operand`, the first of which is at
  /// `source`, to `target`, in the type `to`.
  void copyRow(const AttentionProblem::Operand &operand, mlir::Value source,
               int64_t count, mlir::Type to, mlir::Value target) const;
  /// Copies the tile's queries, the first of which is query `row` of the unit,
  /// to rows of `stride` elements from `target` on, in the type `to`, and
  /// returns pointers to these.
  llvm::SmallVector<mlir::Value> copyQueries(mlir::Value row, mlir::Type to,
                                             int64_t stride,
                                             mlir::Value target) const;
  /// Calls `emitTile` with the first column, the tile and the place in
  /// `outputs` of each register tile of the results of the queries from `row`
  /// on.
  void forEachOutputTile(
      mlir::Value row,
      const std::function<void(int64_t column, const TileShape &tile,
                               mlir::Value place)> &emitTile) const;
  /// Calls `emitPanel` with the first key and the vectors of each panel of
  /// schedule.nr of the block's `count` keys. Where every tile meets the same
  /// keys, the last panel is as narrow as they are.
  void forEachPanel(mlir::Value count,
                    const std::function<void(mlir::Value key, int64_t vectors)>
                        &emitPanel) const;
};

class AttentionProducts {
public:
  virtual ~AttentionProducts() = default;

  /// Copies what is needed of the block's `count` keys from `firstKey` on, and
  /// of their values.
  virtual void emitCopies(mlir::Value firstKey, mlir::Value count) = 0;
  /// Writes frame.scores of the tile at `row` and the block's first `count`
  /// keys.
  virtual void emitScores(mlir::Value row, mlir::Value count) = 0;
  /// The end of the keys, from 0 on, for which the softmax must store weights:
  /// zeros behind `count`.
  virtual mlir::Value endOfWeights(mlir::Value count) { return count; }
  /// e^x for a vector of differences of scores, none of which is above 0, as
  /// exactly as weights are kept.
  virtual mlir::Value emitExponential(mlir::Value differences) = 0;
  /// Stores a vector of f32: the weights of the keys from `key` on of a row of
  /// the tile.
  virtual void storeWeights(mlir::Value weights, mlir::Value rowInTile,
                            mlir::Value key) = 0;
  /// Adds the tile's weights times the values of `count` keys from `firstKey`
  /// on to frame.outputs.
  virtual void emitWeightedValues(mlir::Value row, mlir::Value firstKey,
                                  mlir::Value count) = 0;
};

/// Of frame.problem.kind. `frame` must outlive it, with `queries`, `keys`,
/// `scores` and `outputs` set.
std::unique_ptr<AttentionProducts>
createFloatProducts(const AttentionFrame &frame);
std::unique_ptr<AttentionProducts>
createBf16Products(const AttentionFrame &frame);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_ATTENTIONPRODUCTS_H
