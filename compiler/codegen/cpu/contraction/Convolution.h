// Convolution kernels: a kernel function of kind convolution becomes an ABI
// function.
//
// A channels-last convolution is a matmul whose left side is not stored: row r
// is an output pixel, and its steps are the channels under each tap of the
// filter. It has one of three forms:
// - Matmul: a 1x1 convolution of stride 1 is a matmul of stored operands.
// - Taps: for each tap, each row of the register tile points at its input
//   pixel, or at a row of zeros if the tap is in the padding, so that the inner
//   loop over channels need not know the image's edge.
// - Segments: the input under a part of one output row is first copied, with
//   its padding. This is faster if a tap has too few channels for an inner loop
//   (the three of a first layer), or if the dtype must be widened.
// Depthwise convolutions have no common left side and loops of their own: one
// for channels-last images, and Planes for images that are stored channel by
// channel, the only convolutions of those that code is generated for.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_CONVOLUTION_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_CONVOLUTION_H

#include <string>

#include "compiler/codegen/cpu/contraction/Matmul.h"

namespace aitune {

enum class ConvolutionForm { Matmul, Taps, Segments, Depthwise, Planes };

struct ConvolutionProblem {
  mlir::Value result; ///< the convolution's result in the kernel's body
  ConvolutionForm form;
  mlir::AffineExpr batch, height, width, outputHeight, outputWidth;
  int64_t groups;          ///< number of groups
  int64_t inputs, outputs; ///< input and output channels of one group
  int64_t kernelHeight, kernelWidth;
  /// Numbers along height and width.
  int64_t stride[2], padding[2], dilation[2];
  OperandAccess input, filter;
  /// The strides of the input's axes, in elements.
  mlir::AffineExpr batchStride, channelStride, rowStride, columnStride;
  /// The filter's packing for the direct algorithm.
  mlir::ait::PackedLayout packing;
  /// As a matmul: m pixels, n channels, k steps, groups as batch.
  MatmulShape shape;
  /// Steps a tap takes in the packed filter: those that are multiplied at once
  /// are whole.
  int64_t tapSteps;
  /// The width, in bits, of the vectors to use: that of a group's results where
  /// they are fewer than a vector of the target holds.
  int64_t vectorBits;
  MatmulProblem matmul; ///< the matmul of ConvolutionForm::Matmul
};

/// Analyses `kernel`, a function of kind convolution: it must contain exactly
/// one ait.convolution, not transposed, and channels_last unless it is
/// depthwise, whose filter is an argument with the attribute ait.constant.
/// Fails and sets `reason` otherwise.
mlir::FailureOr<ConvolutionProblem>
analyzeConvolution(mlir::func::FuncOp kernel, const Target &target,
                   std::string &reason);

/// How a convolution is computed: as it is written, with the problem's vectors
/// or with those half as wide, or, if it is of 3x3, by an algorithm of
/// Winograd's with tiles of 2x2 or 4x4 results (Winograd.h).
enum class ConvolutionAlgorithm {
  Direct,
  DirectHalfVectors,
  Winograd2x2,
  Winograd4x4
};

bool isWinograd(ConvolutionAlgorithm algorithm);

/// The algorithm's name in ait.config.
llvm::StringRef getName(ConvolutionAlgorithm algorithm);

/// `target` with vectors as wide as the algorithm uses for the problem.
Target withVectorsOf(const ConvolutionProblem &problem,
                     ConvolutionAlgorithm algorithm, const Target &target);

/// Whether vectors half as wide have a whole number of the `outputs` channels
/// of a group and vectors of `lanes` channels have not, of 24 for example. The
/// first then compute nothing in vain, but a CPU may issue no more of them at
/// once than of the others (one with two units for 512 bits), so that only
/// measuring tells which are faster.
bool mayUseHalfVectors(int64_t groups, int64_t outputs, int64_t lanes);

struct ConvolutionSchedule : MatmulSchedule {
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::Direct;

  mlir::DictionaryAttr toConfig(mlir::MLIRContext *context) const;
  std::string toString() const;
};

/// The schedule in a kernel's ait.config. Parameters that it does not name are
/// those of the schedule that is used without measuring for its algorithm.
/// Fails and sets `reason` for an unknown algorithm.
mlir::FailureOr<ConvolutionSchedule>
readConvolutionSchedule(mlir::DictionaryAttr config,
                        const ConvolutionProblem &problem, const Target &target,
                        std::string &reason);

/// The schedule that is used without measuring. Parameters have the meaning of
/// a matmul's, with these exceptions. Taps: kc != 0 keeps one row of the filter
/// at a time in the cache. Segments: mc is the number of pixels of a segment.
/// Depthwise: mr is the number of pixels of a tile, nr the number of channels
/// of a unit. Planes: mr is the number of output rows of a tile, mc that of a
/// unit. Winograd's algorithms: mc is a number of tiles.
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

/// Schedule::features of `schedule`.
std::vector<double> getFeatures(const ConvolutionSchedule &schedule,
                                const ConvolutionProblem &problem);
/// Schedule::operations of `schedule`.
double getOperations(const ConvolutionSchedule &schedule,
                     const ConvolutionProblem &problem);

/// Replaces `kernel` by the ABI function. Fails, sets `reason` and leaves the
/// kernel unchanged if the schedule is not legal or no code can be generated
/// for an operation after the convolution.
mlir::LogicalResult emitConvolution(mlir::func::FuncOp kernel,
                                    const ConvolutionProblem &problem,
                                    const ConvolutionSchedule &schedule,
                                    const Target &target, std::string &reason);

/// analyzeConvolution and emitConvolution with the schedule of ait.config.
mlir::LogicalResult lowerConvolution(mlir::func::FuncOp kernel,
                                     const Target &target, std::string &reason);

/// The bodies of kernels of the forms that are no matmul of stored operands,
/// for the work units [begin, end), and their numbers of work units.
mlir::LogicalResult emitTaps(KernelBuilder &builder,
                             const ConvolutionProblem &problem,
                             const MatmulSchedule &schedule,
                             const Epilogue &epilogue, mlir::Value begin,
                             mlir::Value end);
mlir::AffineExpr getTapsGrid(const ConvolutionProblem &problem,
                             const MatmulSchedule &schedule);
mlir::LogicalResult emitSegments(KernelBuilder &builder,
                                 const ConvolutionProblem &problem,
                                 const MatmulSchedule &schedule,
                                 const Epilogue &epilogue, mlir::Value begin,
                                 mlir::Value end);
mlir::AffineExpr getSegmentsGrid(const ConvolutionProblem &problem,
                                 const MatmulSchedule &schedule);
mlir::LogicalResult emitDepthwise(KernelBuilder &builder,
                                  const ConvolutionProblem &problem,
                                  const MatmulSchedule &schedule,
                                  const Epilogue &epilogue, mlir::Value begin,
                                  mlir::Value end);
mlir::AffineExpr getDepthwiseGrid(const ConvolutionProblem &problem,
                                  const MatmulSchedule &schedule);
mlir::LogicalResult emitPlanes(KernelBuilder &builder,
                               const ConvolutionProblem &problem,
                               const MatmulSchedule &schedule,
                               const Epilogue &epilogue, mlir::Value begin,
                               mlir::Value end);
mlir::AffineExpr getPlanesGrid(const ConvolutionProblem &problem,
                               const MatmulSchedule &schedule);

/// The taps [first, second) of one axis of a filter that lie in an image of
/// `size` elements, of which tap 0 is at element `first` (may be negative).
std::pair<mlir::Value, mlir::Value>
getTapsInside(KernelBuilder &builder, mlir::Value first, mlir::Value size,
              int64_t dilation, int64_t taps);

/// The results [first, second) of one axis whose whole windows, of `reach` + 1
/// elements, lie in an image of `size` elements.
std::pair<mlir::Value, mlir::Value>
getInside(KernelBuilder &builder, mlir::Value size, mlir::Value outputSize,
          int64_t stride, int64_t padding, int64_t reach);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_CONVOLUTION_H
