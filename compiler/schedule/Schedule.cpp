#include "compiler/schedule/Schedule.h"

#include "compiler/codegen/cpu/contraction/Attention.h"
#include "compiler/codegen/cpu/contraction/Convolution.h"
#include "compiler/codegen/cpu/contraction/Matmul.h"
#include "compiler/codegen/cpu/loops/LoopSpace.h"
#include "compiler/codegen/cpu/target/ScheduleConfig.h"
#include "compiler/dialect/KernelAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace aitune {
namespace {

std::string printed(DictionaryAttr config) {
  std::string text;
  llvm::raw_string_ostream(text) << config;
  return text;
}

/// Schedule::operations of templates with one algorithm.
template <typename ScheduleT, typename Problem>
double getOperations(const ScheduleT &, const Problem &) {
  return 1;
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
    const LoopKernelShape shape = describeLoopKernel(kernel, kFeatureSize);
    space.form = shape.hasReductions ? "loop with reductions" : "loop";
    append(space, listLoopSchedules(kernel, target), shape, context);
    break;
  }
  }
  return space;
}

} // namespace aitune
