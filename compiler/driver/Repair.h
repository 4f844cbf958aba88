// Keeps wrong candidates out of a model: those that earlier builds found, and
// those that are found in the finished model, which are replaced until none is
// left.
#ifndef AITUNE_COMPILER_DRIVER_REPAIR_H
#define AITUNE_COMPILER_DRIVER_REPAIR_H

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/driver/FirstDifference.h"
#include "compiler/tune/TuningChoices.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace aitune {

/// Not thread-safe.
class Repair {
public:
  /// For `kernels` of `module`, which have all their candidates. All must live
  /// as long; what is found is appended to `result`.
  Repair(mlir::ModuleOp module, std::vector<Kernel> &kernels,
         const CompilationTarget &target,
         absl::Span<const ConstantTensor> constants,
         const CompileOptions &options, CompileResult &result);

  /// What an earlier build found wrong is not taken: options.leftOut, and what
  /// `choices` (null: none) knows of this machine.
  void leaveOutKnown(const TuningChoices *choices);
  /// Chooses for all kernels, as chooseCandidates.
  absl::StatusOr<ChosenKernels> choose();
  /// Looks the finished model through with options.audit, its kernels and, if
  /// all of them are right, what happens between them; replaces in `chosen`
  /// what is wrong and calls `buildModel`, until nothing is wrong. A kernel for
  /// which nothing is left is in result.failures. What the audit itself cannot
  /// do is no error, but a rejection; errors are those of `buildModel`.
  absl::Status run(ChosenKernels &chosen,
                   llvm::function_ref<absl::Status()> buildModel);
  /// Lets later builds know what was wrong, by result.wrong and `choices`
  /// (null: none).
  void keepWrong(const TuningChoices *choices);

private:
  std::string digestOf(const Kernel &kernel) const;
  std::vector<WrongCandidate> look(const ChosenKernels &chosen);
  std::vector<WrongCandidate> blame(const FirstDifference &first,
                                    const ChosenKernels &chosen);
  absl::StatusOr<bool> replace(std::vector<WrongCandidate> wrong,
                               ChosenKernels &chosen);

  mlir::ModuleOp module;
  std::vector<Kernel> &kernels;
  const CompilationTarget &target;
  const absl::Span<const ConstantTensor> constants;
  const CompileOptions &options;
  CompileResult &result;
  /// All candidates of each kernel, where some may be replaced.
  std::vector<std::vector<KernelImplementation>> alternatives;
  /// How often the model first differed after each kernel.
  std::map<std::string, int> timesBlamed;
};

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_REPAIR_H
