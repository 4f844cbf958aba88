#include "compiler/schedule/Schedule.h"

#include <algorithm>
#include <cmath>

#include "compiler/codegen/cpu/contraction/Attention.h"
#include "compiler/codegen/cpu/contraction/Convolution.h"
#include "compiler/codegen/cpu/contraction/Matmul.h"
#include "compiler/codegen/cpu/contraction/Winograd.h"
#include "compiler/codegen/cpu/loops/LoopSpace.h"
#include "compiler/dialect/KernelAttributes.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace aitune {
namespace {

/// Sizes assumed where they are only known at run time.
constexpr int64_t kTypicalSize = 128;

std::string printed(DictionaryAttr config) {
  std::string text;
  llvm::raw_string_ostream(text) << config;
  return text;
}

double log2Of(int64_t value) {
  return std::log2(double(std::max<int64_t>(value, 1)));
}

int64_t known(int64_t size) { return size < 0 ? kTypicalSize : size; }

/// Rows or columns computed for each one wanted.
double padding(int64_t size, int64_t tile) {
  size = std::max<int64_t>(size, 1);
  return double(llvm::alignTo(size, tile)) / double(size);
}

template <typename ScheduleT, typename Problem>
double getOperations(const ScheduleT &, const Problem &) {
  return 1;
}

/// Multiplications of Winograd's algorithms for each of the direct one's.
double getOperations(const ConvolutionSchedule &schedule,
                     const ConvolutionProblem &problem) {
  const int64_t size = getWinogradOutputs(schedule.algorithm);
  if (size == 0)
    return 1;
  const int64_t tiles = getWinogradTileCount(problem, schedule.algorithm);
  const double direct =
      double(std::max<int64_t>(known(problem.shape.m), 1)) * 9;
  const double perTile = double(getWinogradPositions(schedule.algorithm));
  return tiles >= 0 ? perTile * double(std::max<int64_t>(tiles, 1)) / direct
                    : perTile / double(9 * size * size);
}

std::vector<double> getFeatures(const MatmulSchedule &schedule,
                                const MatmulShape &shape) {
  const int64_t m = known(shape.m), n = known(shape.n), k = known(shape.k);
  const int64_t steps = schedule.kc ? std::min(schedule.kc, k) : k;
  const double units = double(llvm::divideCeil(m, schedule.mc)) *
                       double(llvm::divideCeil(n, schedule.nr)) *
                       double(known(shape.batch)) / double(schedule.panels);
  return {log2Of(m),
          log2Of(n),
          log2Of(k),
          double(schedule.mr),
          double(schedule.nr) / 16,
          padding(m, schedule.mr),
          padding(n, schedule.nr),
          log2Of(schedule.mc),
          log2Of(steps * schedule.nr * shape.format.rhsBytes()),
          log2Of(schedule.mc * steps * 4),
          std::log2(std::max(units, 1.0)),
          schedule.panelsOuter ? 1.0 : 0.0,
          double(schedule.mr * schedule.nr) / 16,
          schedule.grain == kSerialGrain ? 1.0 : 0.0};
}

std::vector<double> getFeatures(const ConvolutionSchedule &schedule,
                                const ConvolutionProblem &problem) {
  // Winograd's algorithms: fewer multiplications, of which the first number is
  // the logarithm, more filters to read, and transforms.
  const int64_t size = getWinogradOutputs(schedule.algorithm);
  MatmulShape shape = problem.shape;
  double multiplications = 0, filters = 0, transforms = 0;
  if (size > 0) {
    shape.m = getWinogradTileCount(problem, schedule.algorithm);
    shape.k = problem.inputs;
    const double positions = double(getWinogradPositions(schedule.algorithm));
    multiplications = std::log2(getOperations(schedule, problem));
    filters = std::log2(positions / 9);
    const int64_t groups = llvm::divideCeil(
        llvm::divideCeil(problem.outputs, schedule.nr), schedule.panels);
    transforms = std::log2(1.0 + double(problem.inputs * groups) /
                                     double(problem.outputs)) +
                 100.0 / double(problem.inputs);
  }
  // The kernel's own sizes come first whatever the algorithm.
  std::vector<double> features =
      getFeatures(static_cast<const MatmulSchedule &>(schedule), problem.shape);
  if (size > 0) {
    std::vector<double> products =
        getFeatures(static_cast<const MatmulSchedule &>(schedule), shape);
    std::copy(products.begin() + 3, products.end(), features.begin() + 3);
  }
  features.insert(features.end(),
                  {double(size) / 2, multiplications, filters, transforms,
                   filters * log2Of(problem.inputs * problem.outputs)});
  return features;
}

std::vector<double> getFeatures(const LoopKernelSchedule &schedule,
                                const LoopKernelShape &shape) {
  return {std::log2(shape.resultElements),
          std::log2(shape.bytes + 1),
          std::log2(shape.operandElements / shape.resultElements),
          std::log2(shape.operations + 1),
          log2Of(schedule.lanes),
          log2Of(schedule.unitWork),
          schedule.grain == kSerialGrain ? 1.0 : 0.0,
          schedule.grain == kSerialGrain ? std::log2(shape.bytes + 1) : 0.0};
}

std::vector<double> getFeatures(const AttentionSchedule &schedule,
                                const AttentionProblem &problem) {
  return {log2Of(problem.depth), double(schedule.mr), double(schedule.nr) / 16,
          log2Of(schedule.queryBlock), log2Of(schedule.keyBlock)};
}

template <typename ScheduleT, typename Problem>
void append(KernelSpace &space, const std::vector<ScheduleT> &schedules,
            const Problem &problem, MLIRContext *context) {
  for (const ScheduleT &schedule : schedules)
    space.schedules.push_back(
        {printed(schedule.toConfig(context)), schedule.toString(),
         getFeatures(schedule, problem), getOperations(schedule, problem)});
}

const char *nameOf(ConvolutionForm form) {
  switch (form) {
  case ConvolutionForm::Matmul:
    return "convolution 1x1";
  case ConvolutionForm::Taps:
    return "convolution taps";
  case ConvolutionForm::Segments:
    return "convolution segments";
  case ConvolutionForm::Depthwise:
    return "convolution depthwise";
  case ConvolutionForm::Planes:
    return "convolution planes";
  }
  llvm_unreachable("all forms have names");
}

} // namespace

FailureOr<KernelSpace> listSchedules(func::FuncOp kernel, const Target &target,
                                     std::string &reason) {
  KernelSpace space;
  MLIRContext *context = kernel.getContext();
  const std::optional<ait::KernelKind> kind = ait::getKernelKind(kernel);
  if (!kind) {
    reason = "the function is no kernel: it lacks ait.kind";
    return failure();
  }
  switch (*kind) {
  case ait::KernelKind::Matmul: {
    FailureOr<MatmulProblem> problem = analyzeMatmul(kernel, target, reason);
    if (failed(problem))
      return failure();
    space.form = "matmul";
    append(space, listMatmulSchedules(problem->shape, target), problem->shape,
           context);
    break;
  }
  case ait::KernelKind::Convolution: {
    FailureOr<ConvolutionProblem> problem =
        analyzeConvolution(kernel, target, reason);
    if (failed(problem))
      return failure();
    space.form = nameOf(problem->form);
    append(space, listConvolutionSchedules(*problem, target), *problem,
           context);
    break;
  }
  case ait::KernelKind::Attention: {
    FailureOr<AttentionProblem> problem =
        analyzeAttention(kernel, target, reason);
    if (failed(problem))
      return failure();
    space.form = "attention";
    append(space, listAttentionSchedules(*problem, target), *problem, context);
    break;
  }
  case ait::KernelKind::Loop: {
    const LoopKernelShape shape = describeLoopKernel(kernel, kTypicalSize);
    space.form = shape.hasReductions ? "loop with reductions" : "loop";
    append(space, listLoopSchedules(kernel, target), shape, context);
    break;
  }
  }
  return space;
}

} // namespace aitune
