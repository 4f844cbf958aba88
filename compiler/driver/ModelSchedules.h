// The schedules of a model's kernels beyond the default ones: a search finds
// them, or the tuning database knows them.
//
// They are asked for twice. Before code is generated, each kernel is given its
// schedule. Once the best candidates are known, a search compares the whole
// model with the default schedules and with one thread, because kernels that
// are faster alone need not be so together.
#ifndef AITUNE_COMPILER_DRIVER_MODELSCHEDULES_H
#define AITUNE_COMPILER_DRIVER_MODELSCHEDULES_H

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/tune/TuningChoices.h"
#include "mlir/IR/BuiltinOps.h"

namespace aitune {

/// Not thread-safe.
class ModelSchedules {
public:
  /// For the kernels that `module` launches. What is found is told in `result`.
  /// All must live as long.
  ModelSchedules(mlir::ModuleOp module, const CompileOptions &options,
                 CompileResult &result)
      : module(module), options(options), result(result) {}

  /// Searches schedules, or uses those of the database; does nothing if the
  /// options ask for neither. An error ends the search but is no reason to fail
  /// the build, if the target is still usable.
  absl::Status find(std::vector<Kernel> &kernels, CompilationTarget &target,
                    absl::Span<const ConstantTensor> constants);
  /// After a search, else nothing: compares the whole model with the schedules
  /// that it found and with the default ones, which become `chosen.best` if the
  /// model is faster with them. Errors as chooseModel, and if the target is no
  /// longer usable.
  absl::Status compareModel(std::vector<Kernel> &kernels,
                            const CompilationTarget &target,
                            absl::Span<const ConstantTensor> constants,
                            ChosenKernels &chosen);

  /// What is kept between builds; null if nothing is.
  const TuningChoices *known() const { return choices ? &*choices : nullptr; }
  /// Whether the model is faster on one thread.
  bool runsOnOneThread() const { return oneThread; }
  /// Takes over what another compilation of the model has found of that.
  void setRunsOnOneThread(bool runs) { oneThread = runs; }

private:
  bool isSearching() const { return options.tuning.budgetSeconds > 0; }

  mlir::ModuleOp module;
  const CompileOptions &options;
  CompileResult &result;
  /// Set when schedules are searched or a database is there.
  std::optional<TuningChoices> choices;
  /// The text of @main once kernels are formed.
  std::string fusedMain;
  bool oneThread = false;
};

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_MODELSCHEDULES_H
