// Runs `aitune tune` in a process of its own to find out how a model fails.
#ifndef AITUNE_FRONTEND_CLI_REDUCE_ORACLE_H_
#define AITUNE_FRONTEND_CLI_REDUCE_ORACLE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/cli/options.h"
#include "frontend/reduce/failure.h"

namespace aitune::cli {

// A model and its inputs in files.
struct ModelFiles {
  std::string model, inputs;       // paths, for MODEL and --inputs
  std::vector<std::string> specs;  // texts of --input; empty: sizes are static
  std::string dtype;               // --dtype; empty: the model's own
};

// Not thread-safe.
class ReduceOracle {
 public:
  // Makes a folder for temporary files, which is deleted with the oracle.
  // `stop` is the argument of RunChild. `options` must outlive the oracle.
  // kUnavailable when the folder can't be made.
  static absl::StatusOr<std::unique_ptr<ReduceOracle>> Create(
      const Options& options, std::function<bool()> stop);
  ~ReduceOracle();

  const std::string& folder() const { return folder_; }

  // Tunes the model and returns how it failed. Errors: those of RunChild and
  // FailureShown.
  absl::StatusOr<reduce::Failure> Run(const ModelFiles& files) const;

  // The shell command with which people can reproduce the failure.
  std::string CommandFor(const ModelFiles& files) const;

 private:
  ReduceOracle(const Options& options, std::string folder,
               std::function<bool()> stop);
  std::vector<std::string> Arguments(const ModelFiles& files) const;

  const Options& options_;
  const std::string folder_;
  const std::function<bool()> stop_;
};

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_REDUCE_ORACLE_H_
