// What building the versions of a model showed of it.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_NOTES_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_NOTES_H_

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/compiled_model/build_report.h"

namespace aitune::frontend {

// Notes on all versions of one model, each once. Thread-safe.
class VersionNotes {
 public:
  // Adds what `report` says of a version, and logs it (build_logs.h) with
  // `model`, the model's name: the operators that LibTorch runs, layers that
  // are not quantised, and kernels that were wrong.
  void Add(const BuildReport& report, const std::string& model);
  // Adds that a version differed from eager, as `problem` says, and is not
  // used. Logged as a warning.
  void AddWrong(const std::string& problem, const std::string& model);
  // As sentences, in alphabetical order.
  std::vector<std::string> Texts() const;
  // The candidates that were wrong and are replaced, for builds to come.
  std::vector<WrongCandidate> wrong() const;
  void Clear();

 private:
  mutable std::mutex mutex_;
  std::set<std::string> texts_;
  std::vector<WrongCandidate> wrong_;
};

// kFailedPrecondition, for fullgraph=True, if LibTorch runs operators of the
// version that allow_in_graph does not name.
absl::Status CheckFullGraph(const BuildReport& report);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_NOTES_H_
