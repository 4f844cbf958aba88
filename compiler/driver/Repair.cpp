#include "compiler/driver/Repair.h"

#include "absl/strings/str_cat.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/driver/Audit.h"
#include "compiler/driver/FirstDifference.h"

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

ChosenKernels Repair::choose() {
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
bool Repair::replace(std::vector<WrongCandidate> wrong, ChosenKernels &chosen) {
  for (WrongCandidate &candidate : wrong) {
    for (auto [kernel, known] : llvm::zip_equal(kernels, alternatives))
      if (nameOf(kernel) == candidate.kernel) {
        kernel.candidates = known;
        kernel.leftOut.push_back(candidate.candidate);
      }
    result.wrong.push_back(std::move(candidate));
  }
  ChosenKernels again =
      chooseCandidates(kernels, module, target, constants, options, result);
  for (const auto &entry : again.best)
    chosen.best[entry.getKey()] = entry.getValue();
  for (const auto &entry : again.unsearched)
    chosen.unsearched[entry.getKey()] = entry.getValue();
  return result.failures.empty();
}

/// The candidates of the first step after which the model differs from its
/// steps alone: nothing where it does not. If others in their place did not
/// help, those of the step before it too.
std::vector<WrongCandidate> Repair::blame(const ChosenKernels &chosen) {
  const absl::StatusOr<std::optional<FirstDifference>> first =
      findFirstDifference(result.plan, result.objects, target, constants,
                          module, options);
  if (!first.ok()) {
    result.rejections.push_back(
        {"audit", "the model", std::string(first.status().message())});
    return {};
  }
  if (!*first)
    return {};
  std::vector<WrongCandidate> blamed;
  auto add = [&](const std::string &step, const std::string &reason) {
    const std::string kernel = kernelOf(step);
    auto found = chosen.best.find(kernel);
    if (found == chosen.best.end())
      return false;
    blamed.push_back({kernel, labelOf(found->second), reason, "", ""});
    return true;
  };
  const auto &[step, reason] = **first;
  if (!add(step, reason)) {
    result.rejections.push_back({"audit", step, reason});
    return {};
  }
  if (++timesBlamed[kernelOf(step)] > 1) {
    std::string before;
    for (const Step &earlier : result.plan.steps()) {
      if (earlier.name() == step)
        break;
      if (kernelOf(earlier.name()) != kernelOf(step))
        before = earlier.name();
    }
    if (!before.empty())
      add(before, absl::StrCat("it is before ", step, ": ", reason));
  }
  return blamed;
}

absl::Status Repair::run(ChosenKernels &chosen,
                         llvm::function_ref<absl::Status()> buildModel) {
  // Each round leaves at least one candidate out.
  for (int round = 0; round < kMostAudits; ++round) {
    if (options.progress)
      options.progress("looking the model through", round, 0);
    absl::StatusOr<std::vector<WrongCandidate>> wrong =
        auditModel(module, chosen, result.objects, target, constants, options);
    if (!wrong.ok()) {
      result.rejections.push_back(
          {"audit", "the model", std::string(wrong.status().message())});
      return absl::OkStatus();
    }
    if (wrong->empty())
      *wrong = blame(chosen);
    if (wrong->empty() || !replace(*std::move(wrong), chosen))
      return absl::OkStatus();
    if (absl::Status status = buildModel(); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

} // namespace aitune
