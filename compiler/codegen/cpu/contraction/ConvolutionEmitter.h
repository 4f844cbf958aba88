// What the two forms of a convolution around the microkernel have in common:
// the filter's panels, and what becomes of a tile's sums. Convolution.h
// describes the forms.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_CONVOLUTIONEMITTER_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_CONVOLUTIONEMITTER_H

#include <functional>

#include "compiler/codegen/cpu/contraction/Convolution.h"

namespace aitune {

/// Not thread-safe; lives as long as the body of one kernel is written.
class ConvolutionEmitter {
public:
  ConvolutionEmitter(KernelBuilder &builder, const ConvolutionProblem &problem,
                     const MatmulSchedule &schedule, const Epilogue &epilogue);

protected:
  /// Writes what all work units read: sizes, strides, the input's start, and
  /// the memory for a unit's sums.
  void emitPrologue();

  TileShape getTile(int64_t rows) const {
    return {rows, vectors, lanes, format.sum};
  }
  /// The panel's filters from tap `tap` on.
  TileRhs getRhs(mlir::Value panel, mlir::Value tap);
  mlir::Value inRange(mlir::Value index, mlir::Value size) {
    return builder.unsignedLessThan(index, size);
  }
  mlir::Value tileSums(mlir::Value row) {
    return builder.advance(sums, format.sum,
                           builder.mul(row, builder.constant(vectors * lanes)));
  }
  using FinishFunction = std::function<void(
      const TileShape &tile, mlir::ValueRange accumulators, mlir::Value row)>;
  /// What becomes of a tile's sums: results where the code for them is short,
  /// else sums in memory. The function sets `result` where it fails.
  FinishFunction getFinish(mlir::Value panel, mlir::Value panelInGroup,
                           mlir::Value firstPixel, mlir::LogicalResult &result);
  /// Makes results of the sums in memory, where getFinish left them there.
  mlir::LogicalResult emitSums(mlir::Value panel, mlir::Value panelInGroup,
                               mlir::Value firstPixel, mlir::Value pixels);

  KernelBuilder &builder;
  const ConvolutionProblem &problem;
  const MatmulSchedule &schedule;
  const Epilogue &epilogue;
  const OperandFormat &format;
  const int64_t lanes, vectors, panels;
  /// See MatmulEmitter.
  const bool usesRegisters;
  mlir::Value height, width, outputHeight, outputWidth, batchStride, rowStride,
      columnStride;
  mlir::Value input, sums;
  /// The first input channel of the unit's group.
  mlir::Value groupOffset;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_CONVOLUTIONEMITTER_H
