// What searches decided, kept in the tuning database: the schedule of a kernel,
// where it is cut in two, whether a model runs on one thread. A build that
// searches nothing takes it from there.
#ifndef AITUNE_COMPILER_TUNE_TUNINGCHOICES_H
#define AITUNE_COMPILER_TUNE_TUNINGCHOICES_H

#include <memory>
#include <string>
#include <vector>

#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/tune/TuningDatabase.h"

namespace aitune {

class TuningChoices {
public:
  /// Opens `database`, a file, unless it is empty. Results belong to the
  /// machine and generator of `target`, which is open. `symbols` is the
  /// module's ait.symbols.
  static absl::StatusOr<TuningChoices> open(const std::string &database,
                                            const CompilationTarget &target,
                                            mlir::ArrayAttr symbols);

  const std::string &target() const { return machine; }
  const std::string &version() const { return generator; }
  /// Null if none was named: the functions below then do nothing.
  TuningDatabase *database() const { return store.get(); }

  /// A kernel's key: its structure, whatever its name and schedule.
  std::string keyOf(mlir::func::FuncOp kernel) const;

  /// Sets ait.config and `cuts` of the kernels for which a search found what is
  /// faster; returns how many schedules.
  absl::StatusOr<int> apply(std::vector<Kernel> &kernels) const;

  absl::Status keepSchedule(const std::string &key,
                            const std::string &config) const;
  /// Keeps `chosenCut` of the kernels for which cuts were measured.
  absl::Status keepCuts(const std::vector<Kernel> &kernels) const;
  /// Undoes both for all kernels: the whole model was not faster.
  absl::Status keepDefaults(const std::vector<Kernel> &kernels) const;

  /// `model` is the text of the fused @main.
  absl::Status keepThreads(const std::string &model, bool oneThread) const;
  absl::StatusOr<bool> usesOneThread(const std::string &model) const;

private:
  TuningChoices() = default;
  absl::Status choose(const std::string &key, const std::string &value) const;
  absl::StatusOr<std::string> chosen(const std::string &key) const;

  mlir::ArrayAttr symbols;
  std::string machine, generator;
  std::unique_ptr<TuningDatabase> store;
};

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_TUNINGCHOICES_H
