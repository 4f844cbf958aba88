// What strategies have in common: building, checking and timing backends, and
// keeping the record.
#ifndef AITUNE_RUNTIME_STRATEGY_CONTEST_H_
#define AITUNE_RUNTIME_STRATEGY_CONTEST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/strategy/strategy.h"

namespace aitune {

// Not thread-safe.
class Contest {
 public:
  // Takes `request`, whose backends are entrants 1, 2, ...; 0 is eager.
  explicit Contest(TuneRequest request);

  int size() const { return static_cast<int>(entrants_.size()); }

  // Builds an entrant. An error is recorded as its reason.
  absl::Status Build(int entrant);
  // Compares the outputs for every sample with the model's. Likewise.
  absl::Status Check(int entrant);
  // Builds the eager backend. kInvalidArgument if there is none.
  absl::Status BuildEager();

  // Times `entrants` against each other for each of `batches` and adds to their
  // records. One that fails is out: it is recorded and has no timings. Only an
  // error of making a sample, or of eager, is returned.
  absl::Status Time(const std::vector<int>& entrants,
                    const std::vector<int64_t>& batches);

  // The batch sizes to sweep.
  std::vector<int64_t> Batches() const;

  // Whether it was built, is correct and did not fail.
  bool InRace(int entrant) const { return entrants_[entrant].in_race; }
  const std::vector<TimedBatch>& timings(int entrant) const {
    return entrants_[entrant].report.timings;
  }

  // Records why an entrant is not chosen, and deactivates it.
  void Drop(int entrant, std::string reason);

  // Ends the contest: drops all others that are still in, because
  // `others_reason`.
  TuneResult Choose(int entrant, const std::string& others_reason);

 private:
  struct Entrant {
    std::unique_ptr<Backend> backend;
    BackendReport report;
    bool built = false;
    bool in_race = false;
  };

  absl::StatusOr<Sample> MakeBatch(int64_t batch) const;
  // SourceModel::SaveState; null without a model.
  absl::StatusOr<std::function<absl::Status()>> SaveState() const;
  // Runs `body` and puts back the model's state.
  absl::Status OnSavedState(const std::function<absl::Status()>& body) const;
  absl::Status CheckSample(const Backend& backend, size_t sample);

  TuneRequest request_;
  std::vector<Entrant> entrants_;
  // The model's outputs for each sample, where no other check was given.
  std::vector<std::vector<OwnedValue>> expected_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_STRATEGY_CONTEST_H_
