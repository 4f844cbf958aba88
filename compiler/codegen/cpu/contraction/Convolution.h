// Convolution kernels: a kernel function of kind convolution becomes an ABI
// function.
//
// Channels-last convolutions are matmuls whose left side is not stored
// anywhere: row r is an output pixel, and its steps are the channels under each
// tap of the filter. Three forms of one idea:
// - 1x1 of stride 1: a matmul outright.
// - taps: for every tap a row of the register tile points at its input pixel,
// or
//   at a row of zeros where the tap lies in the padding, so that the inner loop
//   over channels knows nothing of the image's edge.
// - segments: the input under a piece of one output row is first copied,
// padding
//   included. Worth it where a tap has too few channels for an inner loop (the
//   first layer's three), or where the dtype must be widened.
// Depthwise convolutions have no shared left side and get a loop of their own.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_CONVOLUTION_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_CONVOLUTION_H

#include <string>

#include "compiler/codegen/cpu/contraction/Matmul.h"

namespace aitune {

enum class ConvolutionForm { Matmul, Taps, Segments, Depthwise };

struct ConvolutionProblem {
  mlir::Value result; ///< of the contraction, in the kernel's body
  ConvolutionForm form;
  mlir::AffineExpr batch, height, width, outputHeight, outputWidth;
  int64_t groups, inputs, outputs; ///< channels of one group
  int64_t kernelHeight, kernelWidth;
  int64_t stride[2], padding[2], dilation[2];
  OperandAccess input, filter;
  /// Elements between neighbours along the input's axes.
  mlir::AffineExpr batchStride, rowStride, columnStride;
  mlir::ait::PackedLayout packing; ///< of the direct algorithm
  /// As a matmul: m pixels, n channels, k steps, groups as batch.
  MatmulShape shape;
  /// Steps a tap takes in the packed filter: those that are multiplied at once
  /// are whole.
  int64_t tapSteps;
  /// For ConvolutionForm::Matmul.
  MatmulProblem matmul;
};

/// Reads the convolution of `kernel`, a function of kind convolution: exactly
/// one ait.convolution, channels_last and not transposed, its filter an
/// argument with the attribute ait.constant. Fails with `reason`.
mlir::FailureOr<ConvolutionProblem>
analyzeConvolution(mlir::func::FuncOp kernel, const Target &target,
                   std::string &reason);

/// How a 3x3 convolution is computed: as it is written, or by an algorithm of
/// Winograd's with tiles of 2x2 or 4x4 results (Winograd.h).
enum class ConvolutionAlgorithm { Direct, Winograd2x2, Winograd4x4 };

struct ConvolutionSchedule : MatmulSchedule {
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::Direct;

  mlir::DictionaryAttr toConfig(mlir::MLIRContext *context) const;
  std::string toString() const;
};

/// The schedule that a kernel's ait.config sets: what it does not name comes
/// from the choice without measuring for the algorithm that it names. Fails,
/// with `reason`, if there is no such algorithm.
mlir::FailureOr<ConvolutionSchedule>
readConvolutionSchedule(mlir::DictionaryAttr config,
                        const ConvolutionProblem &problem, const Target &target,
                        std::string &reason);

/// The choice made without measuring. A schedule means what a matmul's does; of
/// a tap form, kc != 0 keeps one row of the filter at a time in the cache; of a
/// segment form, mc is the pixels of a segment; of a depthwise one, mr is the
/// pixels of a tile and nr the channels of a unit; for an algorithm of
/// Winograd's, mc counts tiles.
ConvolutionSchedule chooseConvolutionSchedule(const ConvolutionProblem &problem,
                                              const Target &target);

/// Why the schedule cannot be generated; empty if it can.
std::string rejectConvolutionSchedule(const ConvolutionSchedule &schedule,
                                      const ConvolutionProblem &problem,
                                      const Target &target);

/// Legal schedules worth measuring, the default choice first. Never empty.
std::vector<ConvolutionSchedule>
listConvolutionSchedules(const ConvolutionProblem &problem,
                         const Target &target);

/// Replaces `kernel` by the ABI function. Fails, with `reason` and the kernel
/// unchanged, if the schedule is not legal or an operation after the
/// contraction has no code.
mlir::LogicalResult emitConvolution(mlir::func::FuncOp kernel,
                                    const ConvolutionProblem &problem,
                                    const ConvolutionSchedule &schedule,
                                    const Target &target, std::string &reason);

/// analyzeConvolution and emitConvolution with the schedule of ait.config.
mlir::LogicalResult lowerConvolution(mlir::func::FuncOp kernel,
                                     const Target &target, std::string &reason);

/// The body of a depthwise kernel: units [begin, end).
mlir::LogicalResult emitDepthwise(KernelBuilder &builder,
                                  const ConvolutionProblem &problem,
                                  const MatmulSchedule &schedule,
                                  const Epilogue &epilogue, mlir::Value begin,
                                  mlir::Value end);

/// The number of work units of a depthwise kernel.
mlir::AffineExpr getDepthwiseGrid(const ConvolutionProblem &problem,
                                  const MatmulSchedule &schedule);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_CONVOLUTION_H
