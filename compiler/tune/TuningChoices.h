// The results of searches in the tuning database: the schedule of a kernel,
// where it is cut in two, whether a model runs on one thread. A build without a
// search reads them from there.
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
  /// Opens the file `database`; if the name is empty, there is no database. The
  /// results are those of the machine and generator of `target`, whose open()
  /// must have been called. `symbols` is the module's ait.symbols. Errors as
  /// TuningDatabase::open.
  static absl::StatusOr<TuningChoices> open(const std::string &database,
                                            const CompilationTarget &target,
                                            mlir::ArrayAttr symbols);

  /// TuningMachine::name and generator of the target.
  const std::string &target() const { return machine; }
  const std::string &version() const { return generator; }
  /// The database; null if there is none. The functions below then do nothing.
  TuningDatabase *database() const { return store.get(); }

  /// A kernel's key: digestOf it.
  std::string keyOf(mlir::func::FuncOp kernel) const;

  /// Sets ait.config and `cuts` of the kernels for which an earlier search
  /// found something faster than the default; returns for how many it set a
  /// schedule.
  absl::StatusOr<int> apply(std::vector<Kernel> &kernels) const;

  /// Stores `config` as the schedule of the kernel with this key.
  absl::Status keepSchedule(const std::string &key,
                            const std::string &config) const;
  /// Stores `chosenCut` of the kernels for which cuts were measured.
  absl::Status keepCuts(const std::vector<Kernel> &kernels) const;
  /// Replaces both by the defaults for all kernels, because the whole model was
  /// not faster.
  absl::Status keepDefaults(const std::vector<Kernel> &kernels) const;

  /// Candidates of a kernel (labelOf) that gave wrong results here, with the
  /// libraries and the driver that are there now.
  absl::StatusOr<std::vector<std::string>>
  wrongOf(mlir::func::FuncOp kernel) const;
  absl::Status keepWrong(mlir::func::FuncOp kernel,
                         const std::string &candidate) const;

  /// Stores, and reads, whether a model runs on one thread. `model` is the text
  /// of the fused @main.
  absl::Status keepThreads(const std::string &model, bool oneThread) const;
  absl::StatusOr<bool> usesOneThread(const std::string &model) const;

private:
  TuningChoices() = default;
  absl::Status choose(const std::string &key, const std::string &value) const;
  absl::StatusOr<std::string> chosen(const std::string &key) const;

  mlir::ArrayAttr symbols;
  std::string machine, generator, libraries;
  std::unique_ptr<TuningDatabase> store;
};

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_TUNINGCHOICES_H
