// 3x3 convolutions by Winograd's minimal filtering algorithms F(m x m, 3 x 3),
// m = 2 or 4 (Lavin and Gray, 2016): 2.25 or 4 times fewer multiplications than
// the direct form.
//
// A tile of m x m results needs T x T inputs, T = m + 2. The inputs d become
// B^T d B, the filters were transformed when they were packed
// (runtime/cpu/pack_winograd.h), and what is left between the two is
// T * T matmuls of [tiles, channels] by [channels, outputs]; their sums M
// become results as A^T M A. A work unit is a block of tiles and some panels of
// outputs: the transformed inputs of the block and the sums of one panel lie on
// the stack, sized for the L2 cache, so that nothing but results is written to
// memory.
//
// Only of f32. The transforms add and subtract what is larger than their
// result: in f32 the error is up to twice the direct form's with the points
// chosen for m = 4 (0, 1/sqrt(2), sqrt(2) and their negatives; 0, 1, 2 and
// theirs, as in the paper, would make it seven times), in bf16 it would be
// seen. NaNs and infinities of the input are left out of the transforms, where
// they would reach all results of their tiles, and added to the results whose
// windows have them.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_WINOGRAD_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_WINOGRAD_H

#include "compiler/codegen/cpu/contraction/Convolution.h"

namespace aitune {

/// m of F(m x m, 3 x 3); 0 for the direct algorithm.
int64_t getWinogradOutputs(ConvolutionAlgorithm algorithm);

/// T * T: the products of a tile, for each input and output channel.
int64_t getWinogradPositions(ConvolutionAlgorithm algorithm);

/// How the filter is packed for it.
mlir::ait::PackedLayout getWinogradPacking(ConvolutionAlgorithm algorithm);

/// Tiles of the results of all images.
mlir::AffineExpr getWinogradTiles(const ConvolutionProblem &problem,
                                  ConvolutionAlgorithm algorithm);

/// The same as a number; -1 where it depends on sizes known at run time.
int64_t getWinogradTileCount(const ConvolutionProblem &problem,
                             ConvolutionAlgorithm algorithm);

/// The least number of tiles of a launch with results: that of one image where
/// the batch depends on sizes known at run time; -1 where an image does.
int64_t getLeastWinogradTiles(const ConvolutionProblem &problem,
                              ConvolutionAlgorithm algorithm);

/// Whether F(4x4, 3x3) is sure to be faster than the direct form, and its
/// filters are small: then it is the default. `tiles` is that of
/// getLeastWinogradTiles.
bool isWinogradByRule(int64_t tiles, int64_t inputs, int64_t outputs);

/// Elements between the rows (one a tile) of transformed inputs.
int64_t getWinogradRow(int64_t inputs, int64_t lanes);

/// The choice made without measuring for schedule.algorithm.
ConvolutionSchedule chooseWinogradSchedule(const ConvolutionProblem &problem,
                                           ConvolutionAlgorithm algorithm,
                                           const Target &target);

/// Why the schedule, with an algorithm of Winograd's, cannot be generated;
/// empty if it can. mc counts tiles; kc must be 0.
std::string rejectWinogradSchedule(const ConvolutionSchedule &schedule,
                                   const ConvolutionProblem &problem,
                                   const Target &target);

/// Legal schedules of both algorithms worth measuring; empty if the convolution
/// is not one for them.
std::vector<ConvolutionSchedule>
listWinogradSchedules(const ConvolutionProblem &problem, const Target &target);

/// The algorithms that are worth measuring for `convolution` though its default
/// schedule is the direct one: no rule tells whether the multiplications that
/// they save outweigh the filters that they read, which are more. None where
/// the transformed filters would take too much of a model's memory.
std::vector<ConvolutionAlgorithm>
listWinogradAlternatives(mlir::ait::ConvolutionOp convolution);

/// Multiply-adds of the matmuls in one work unit.
double getWinogradUnitWork(const ConvolutionProblem &problem,
                           const ConvolutionSchedule &schedule);

/// The number of work units.
mlir::AffineExpr getWinogradGrid(const ConvolutionProblem &problem,
                                 const ConvolutionSchedule &schedule);

/// The body of the kernel: units [begin, end).
mlir::LogicalResult emitWinograd(KernelBuilder &builder,
                                 const ConvolutionProblem &problem,
                                 const ConvolutionSchedule &schedule,
                                 const Epilogue &epilogue, mlir::Value begin,
                                 mlir::Value end);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_WINOGRAD_H
