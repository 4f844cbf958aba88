#include "compiler/tune/Schedule.h"

#include <algorithm>
#include <cmath>

#include "compiler/codegen/cpu/Attention.h"
#include "compiler/codegen/cpu/Convolution.h"
#include "compiler/codegen/cpu/Matmul.h"
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
          log2Of(steps * schedule.nr * shape.rhsBytes),
          log2Of(schedule.mc * steps * 4),
          std::log2(std::max(units, 1.0)),
          schedule.panelsOuter ? 1.0 : 0.0};
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
    space.schedules.push_back({printed(schedule.toConfig(context)),
                               schedule.toString(),
                               getFeatures(schedule, problem)});
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
  }
  llvm_unreachable("all forms have names");
}

} // namespace

FailureOr<KernelSpace> listSchedules(func::FuncOp kernel, const Target &target,
                                     std::string &reason) {
  KernelSpace space;
  MLIRContext *context = kernel.getContext();
  const StringRef kind =
      kernel->getAttrOfType<StringAttr>("ait.kind").getValue();
  if (kind == "matmul") {
    FailureOr<MatmulProblem> problem = analyzeMatmul(kernel, target, reason);
    if (failed(problem))
      return failure();
    space.form = "matmul";
    append(space, listMatmulSchedules(problem->shape, target), problem->shape,
           context);
  } else if (kind == "convolution") {
    FailureOr<ConvolutionProblem> problem =
        analyzeConvolution(kernel, target, reason);
    if (failed(problem))
      return failure();
    space.form = nameOf(problem->form);
    append(space, listConvolutionSchedules(*problem, target), problem->shape,
           context);
  } else if (kind == "attention") {
    FailureOr<AttentionProblem> problem = analyzeAttention(kernel, reason);
    if (failed(problem))
      return failure();
    space.form = "attention";
    append(space, listAttentionSchedules(*problem, target), *problem, context);
  } else {
    reason = "a " + kind.str() + " kernel has no parameters";
    return failure();
  }
  return space;
}

} // namespace aitune
