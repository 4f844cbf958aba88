// Writes a convolution kernel in the form, and by the algorithm, of its
// schedule.
#include <algorithm>

#include "compiler/codegen/cpu/contraction/Winograd.h"
#include "compiler/dialect/KernelAttributes.h"

using namespace mlir;

namespace aitune {
namespace {

int64_t getGrain(const ConvolutionProblem &problem,
                 const ConvolutionSchedule &schedule) {
  if (schedule.grain > 0)
    return schedule.grain;
  bool depthwise = problem.form == ConvolutionForm::Depthwise;
  if (problem.form == ConvolutionForm::Planes) {
    // Half the peak, of a core with one such unit a cycle.
    auto width = dyn_cast<AffineConstantExpr>(problem.outputWidth);
    double microseconds = 2.0 * schedule.mc * (width ? width.getValue() : 56) *
                          problem.shape.k / 40e3;
    return std::max<int64_t>(1, 4.0 / microseconds);
  }
  double columns =
      problem.form == ConvolutionForm::Segments ? problem.outputs : schedule.nr;
  // A depthwise unit is a whole output row, and far from the peak.
  double microseconds =
      isWinograd(schedule.algorithm)
          ? 2.0 * getWinogradUnitWork(problem, schedule) / 100e3
      : depthwise ? 56.0 * schedule.nr * problem.shape.k / 10e3
                  : 2.0 * schedule.mc * columns * problem.shape.k / 100e3;
  return std::max<int64_t>(1, 4.0 / microseconds);
}

} // namespace

LogicalResult emitConvolution(func::FuncOp kernel,
                              const ConvolutionProblem &problem,
                              const ConvolutionSchedule &schedule,
                              const Target &machine, std::string &reason) {
  const Target target = withVectorsOf(problem, schedule.algorithm, machine);
  reason = rejectConvolutionSchedule(schedule, problem, target);
  if (!reason.empty())
    return failure();
  if (problem.form == ConvolutionForm::Matmul)
    return emitMatmul(kernel, problem.matmul, schedule, target, reason);
  FailureOr<Epilogue> epilogue =
      Epilogue::create(kernel, problem.result, reason);
  if (failed(epilogue))
    return failure();
  int64_t lanes =
      target.vectorBits / problem.shape.format.sum.getIntOrFloatBitWidth();
  if (schedule.nr % lanes != 0 && epilogue->splitsColumns()) {
    reason = "the result's channels are rearranged, and a group has no whole "
             "number of vectors";
    return failure();
  }
  bool winograd = isWinograd(schedule.algorithm);
  bool depthwise = problem.form == ConvolutionForm::Depthwise;
  bool planes = problem.form == ConvolutionForm::Planes;
  ait::PackingAttr packing = ait::PackingAttr::get(
      kernel.getContext(), problem.filter.argument,
      winograd ? getWinogradPacking(schedule.algorithm) : problem.packing,
      depthwise ? 0 : schedule.nr, problem.shape.format.stepsTogether,
      /*transposed=*/false);
  // Planes read the filter as it is.
  ait::setPackings(kernel, planes ? ArrayRef<ait::PackingAttr>() : packing);
  ait::setScheduleConfig(kernel, schedule.toConfig(kernel.getContext()));
  bool segments = problem.form == ConvolutionForm::Segments;
  AffineExpr grid = winograd    ? getWinogradGrid(problem, schedule)
                    : planes    ? getPlanesGrid(problem, schedule)
                    : depthwise ? getDepthwiseGrid(problem, schedule)
                    : segments  ? getSegmentsGrid(problem, schedule)
                                : getTapsGrid(problem, schedule);
  return rewriteToAbi(
      kernel, target, grid, getGrain(problem, schedule),
      [&](KernelBuilder &kernelBuilder, Value begin, Value end) {
        if (winograd)
          return emitWinograd(kernelBuilder, problem, schedule, *epilogue,
                              begin, end);
        if (planes)
          return emitPlanes(kernelBuilder, problem, schedule, *epilogue, begin,
                            end);
        if (depthwise)
          return emitDepthwise(kernelBuilder, problem, schedule, *epilogue,
                               begin, end);
        if (segments)
          return emitSegments(kernelBuilder, problem, schedule, *epilogue,
                              begin, end);
        return emitTaps(kernelBuilder, problem, schedule, *epilogue, begin,
                        end);
      });
}

LogicalResult lowerConvolution(func::FuncOp kernel, const Target &target,
                               std::string &reason) {
  FailureOr<ConvolutionProblem> problem =
      analyzeConvolution(kernel, target, reason);
  if (failed(problem))
    return failure();
  FailureOr<ConvolutionSchedule> schedule = readConvolutionSchedule(
      ait::getScheduleConfig(kernel), *problem, target, reason);
  if (failed(schedule))
    return failure();
  return emitConvolution(kernel, *problem, *schedule, target, reason);
}

} // namespace aitune
