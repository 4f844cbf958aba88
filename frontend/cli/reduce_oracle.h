// Runs `aitune tune` in a process of its own to see how a model fails.
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

// A model in files, and how it is called.
struct ModelFiles {
  std::string model, inputs;
  std::vector<std::string> specs;  // texts of --input; empty: all is static
  std::string dtype;               // --dtype, empty: as it is
};

// Not thread-safe.
class ReduceOracle {
 public:
  // Makes a folder for temporary files, which goes with the oracle. `stop`, as
  // of RunChild, must live as long. kUnavailable without such a folder.
  static absl::StatusOr<std::unique_ptr<ReduceOracle>> Create(
      const Options& options, std::function<bool()> stop);
  ~ReduceOracle();

  const std::string& folder() const { return folder_; }

  // What the model shows. Errors: those of RunChild and FailureShown.
  absl::StatusOr<reduce::Failure> Run(const ModelFiles& files) const;

  // The command, for a shell, that shows it to people.
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
