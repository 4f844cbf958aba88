#include "compiler/driver/Repair.h"

#include "absl/strings/str_cat.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/driver/Audit.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// Times that a finished model is looked through at most.
constexpr int kMostAudits = 8;

std::string nameOf(const Kernel &kernel) {
  return func::FuncOp(kernel.function).getSymName().str();
}

/// The kernel of a step, whose name is KERNEL#LAUNCH or KERNEL.PART#LAUNCH.
std::string kernelOf(llvm::StringRef step) {
  auto [kernel, part] = step.split('#').first.rsplit('.');
  return (part.empty() ||
                  part.find_first_not_of("0123456789") != llvm::StringRef::npos
              ? step.split('#').first
              : kernel)
      .str();
}

} // namespace

Repair::Repair(ModuleOp module, std::vector<Kernel> &kernels,
               const CompilationTarget &target,
               absl::Span<const ConstantTensor> constants,
               const CompileOptions &options, CompileResult &result)
    : module(module), kernels(kernels), target(target), constants(constants),
      options(options), result(result) {}

std::string Repair::digestOf(const Kernel &kernel) const {
  return aitune::digestOf(kernel.function, ait::getModuleSymbols(module));
}

void Repair::leaveOutKnown(const TuningChoices *choices) {
  for (Kernel &kernel : kernels) {
    if (!options.leftOut.empty()) {
      const std::string digest = digestOf(kernel);
      for (WrongCandidate wrong : options.leftOut)
        if (wrong.digest == digest) {
          wrong.kernel = nameOf(kernel);
          kernel.leftOut.push_back(wrong.candidate);
          result.wrong.push_back(std::move(wrong));
        }
    }
    if (!choices)
      continue;
    const absl::StatusOr<std::vector<std::string>> known =
        choices->wrongOf(kernel.function);
    if (!known.ok())
      continue;
    for (const std::string &candidate : *known) {
      if (llvm::is_contained(kernel.leftOut, candidate))
        continue;
      kernel.leftOut.push_back(candidate);
      result.rejections.push_back(
          {"reference", nameOf(kernel),
           absl::StrCat(candidate, " was wrong in an earlier build")});
    }
  }
}

absl::StatusOr<ChosenKernels> Repair::choose() {
  if (!options.audit.inputs.empty())
    for (const Kernel &kernel : kernels)
      alternatives.push_back(kernel.candidates);
  return chooseCandidates(kernels, module, target, constants, options, result);
}

void Repair::keepWrong(const TuningChoices *choices) {
  for (WrongCandidate &wrong : result.wrong)
    for (const Kernel &kernel : kernels) {
      if (nameOf(kernel) != wrong.kernel)
        continue;
      wrong.digest = digestOf(kernel);
      if (!choices)
        continue;
      if (absl::Status kept =
              choices->keepWrong(kernel.function, wrong.candidate);
          !kept.ok())
        result.tuning.note = std::string(kept.message());
    }
}

/// Chooses again for the kernels of `wrong`, without what is wrong. False if
/// nothing is left for one.
absl::StatusOr<bool> Repair::replace(std::vector<WrongCandidate> wrong,
                                     ChosenKernels &chosen) {
  for (WrongCandidate &candidate : wrong) {
    for (auto [kernel, known] : llvm::zip_equal(kernels, alternatives))
      if (nameOf(kernel) == candidate.kernel) {
        kernel.candidates = known;
        kernel.leftOut.push_back(candidate.candidate);
      }
    result.wrong.push_back(std::move(candidate));
  }
  AITUNE_ASSIGN_OR_RETURN(
      const ChosenKernels again,
      chooseCandidates(kernels, module, target, constants, options, result));
  for (const auto &entry : again.best)
    chosen.best[entry.getKey()] = entry.getValue();
  for (const auto &entry : again.unsearched)
    chosen.unsearched[entry.getKey()] = entry.getValue();
  return result.failures.empty();
}

/// Those to replace where the model differs from its steps alone: that of the
/// step that is to blame or, if what it reads may not have been there yet, of
/// the one before; the second time, both.
std::vector<WrongCandidate> Repair::blame(const FirstDifference &first,
                                          const ChosenKernels &chosen) {
  std::vector<WrongCandidate> blamed;
  auto add = [&](const std::string &step, const std::string &reason) {
    auto found = chosen.best.find(kernelOf(step));
    if (found != chosen.best.end())
      blamed.push_back(
          {kernelOf(step), labelOf(found->second), reason, "", ""});
  };
  const std::string kernel = kernelOf(first.step);
  std::string before;
  for (const Step &earlier : result.plan.steps()) {
    if (earlier.name() == first.step)
      break;
    if (kernelOf(earlier.name()) != kernel)
      before = earlier.name();
  }
  const bool isSecond = ++timesBlamed[kernel] > 1;
  if (isSecond || first.mayBeTooEarly)
    add(before, absl::StrCat("it is before ", first.step, ": ", first.reason));
  if (isSecond || blamed.empty())
    add(first.step, first.reason);
  if (blamed.empty())
    result.rejections.push_back({"audit", first.step, first.reason});
  return blamed;
}

/// What is wrong in the finished model.
std::vector<WrongCandidate> Repair::look(const ChosenKernels &chosen) {
  auto giveUp = [&](const absl::Status &status) {
    result.rejections.push_back(
        {"audit", "the model", std::string(status.message())});
    return std::vector<WrongCandidate>();
  };
  absl::StatusOr<std::vector<WrongCandidate>> wrong =
      auditModel(module, chosen, result.objects, target, constants, options);
  if (!wrong.ok())
    return giveUp(wrong.status());
  const absl::StatusOr<std::optional<FirstDifference>> first =
      findFirstDifference(result.plan, result.objects, target, constants,
                          module, options);
  if (!first.ok())
    return wrong->empty() ? giveUp(first.status()) : *std::move(wrong);
  // A kernel that reads too early gives wrong results in the audit too.
  const bool isBetween =
      *first &&
      (wrong->empty() || ((*first)->mayBeTooEarly &&
                          llvm::any_of(*wrong, [&](const WrongCandidate &one) {
                            return one.kernel == kernelOf((*first)->step);
                          })));
  return isBetween ? blame(**first, chosen) : *std::move(wrong);
}

absl::Status Repair::run(ChosenKernels &chosen,
                         llvm::function_ref<absl::Status()> buildModel) {
  // Each round leaves at least one candidate out.
  for (int round = 0; round < kMostAudits; ++round) {
    if (options.progress)
      options.progress("looking the model through", round, 0);
    std::vector<WrongCandidate> wrong = look(chosen);
    if (wrong.empty())
      return absl::OkStatus();
    AITUNE_ASSIGN_OR_RETURN(const bool replaced,
                            replace(std::move(wrong), chosen));
    if (!replaced)
      return absl::OkStatus();
    AITUNE_RETURN_IF_ERROR(buildModel());
  }
  return absl::OkStatus();
}

} // namespace aitune
