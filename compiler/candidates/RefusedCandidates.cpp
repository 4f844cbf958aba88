#include "compiler/candidates/RefusedCandidates.h"

#include "compiler/candidates/LaunchModel.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace aitune {
namespace {

bool callsLibrary(const KernelImplementation &candidate) {
  return llvm::any_of(candidate.steps, [](const ImplementationStep &step) {
    return step.call.has_matmul() || step.call.has_convolution();
  });
}

/// Whether a launch alone tells that a library refuses `candidate`. A filter
/// that the model computes at load is an argument of the launch, which
/// libraries may refuse; that is no reason but where a CPU has no float16 at
/// all.
bool isRefusalSure(const Kernel &kernel,
                   const KernelImplementation &candidate) {
  const ImplementationStep &call = candidate.steps.front();
  if (!call.call.has_convolution())
    return true;
  func::FuncOp function = kernel.function;
  ait::LaunchOp launch = kernel.launches.front();
  return ait::getKnownAt(function, call.inputs[1]) !=
             ait::KnownAt::Initialization ||
         llvm::any_of(launch.getInputs(), [](Value input) {
           return getElementTypeOrSelf(input.getType()).isF16();
         });
}

} // namespace

absl::Status dropRefused(Kernel &kernel, ModuleOp module,
                         const CompilationTarget &target,
                         absl::Span<const ConstantTensor> constants) {
  absl::Status reason;
  while (!kernel.candidates.empty() &&
         callsLibrary(kernel.candidates.front())) {
    const KernelImplementation &first = kernel.candidates.front();
    const absl::Status loaded =
        raceCandidates(target, module, kernel, {&first, 1}, constants)->load(0);
    if (loaded.ok() || !isRefusalSure(kernel, first))
      break;
    reason = loaded;
    kernel.candidates.erase(kernel.candidates.begin());
  }
  return reason;
}

} // namespace aitune
