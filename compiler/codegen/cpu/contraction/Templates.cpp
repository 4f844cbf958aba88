#include "compiler/codegen/cpu/contraction/Templates.h"

#include "compiler/codegen/cpu/contraction/Attention.h"
#include "compiler/codegen/cpu/contraction/Convolution.h"
#include "compiler/codegen/cpu/contraction/Matmul.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace aitune {
namespace {

/// Schedule::operations of templates with one algorithm.
template <typename ScheduleT, typename Problem>
double getOperations(const ScheduleT &, const Problem &) {
  return 1;
}

template <typename ScheduleT, typename Problem>
KernelSpace makeSpace(const char *form, const std::vector<ScheduleT> &schedules,
                      const Problem &problem, MLIRContext *context) {
  KernelSpace space;
  space.form = form;
  for (const ScheduleT &schedule : schedules)
    space.schedules.push_back(
        {ait::printScheduleConfig(schedule.toConfig(context)),
         schedule.toString(), getFeatures(schedule, problem),
         getOperations(schedule, problem)});
  return space;
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

FailureOr<KernelSpace> listMatmuls(func::FuncOp kernel, const Target &target,
                                   std::string &reason) {
  FailureOr<MatmulProblem> problem = analyzeMatmul(kernel, target, reason);
  if (failed(problem))
    return failure();
  return makeSpace("matmul", listMatmulSchedules(problem->shape, target),
                   problem->shape, kernel.getContext());
}

FailureOr<KernelSpace> listConvolutions(func::FuncOp kernel,
                                        const Target &target,
                                        std::string &reason) {
  FailureOr<ConvolutionProblem> problem =
      analyzeConvolution(kernel, target, reason);
  if (failed(problem))
    return failure();
  return makeSpace(nameOf(problem->form),
                   listConvolutionSchedules(*problem, target), *problem,
                   kernel.getContext());
}

FailureOr<KernelSpace> listAttentions(func::FuncOp kernel, const Target &target,
                                      std::string &reason) {
  FailureOr<AttentionProblem> problem =
      analyzeAttention(kernel, target, reason);
  if (failed(problem))
    return failure();
  return makeSpace("attention", listAttentionSchedules(*problem, target),
                   *problem, kernel.getContext());
}

} // namespace

std::optional<ContractionTemplate>
getContractionTemplate(ait::KernelKind kind) {
  switch (kind) {
  case ait::KernelKind::Loop:
    return std::nullopt;
  case ait::KernelKind::Matmul:
    return ContractionTemplate{lowerMatmul, listMatmuls};
  case ait::KernelKind::Convolution:
    return ContractionTemplate{lowerConvolution, listConvolutions};
  case ait::KernelKind::Attention:
    return ContractionTemplate{lowerAttention, listAttentions};
  }
  llvm_unreachable("all kinds but the loop have templates");
}

} // namespace aitune
