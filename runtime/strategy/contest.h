// One comparison of backends: builds, checks and times them, and records for
// each why it was chosen or not. Strategies differ in what they do in which
// order; each runs one Contest.
#ifndef AITUNE_RUNTIME_STRATEGY_CONTEST_H_
#define AITUNE_RUNTIME_STRATEGY_CONTEST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/strategy/strategy.h"

namespace aitune {

// Owns the backends until Choose. Not thread-safe.
class Contest {
 public:
  // Takes `request`. Its eager backend becomes entrant 0, its other backends
  // become entrants 1, 2, ... in their order.
  explicit Contest(TuneRequest request);

  // The number of entrants, eager included.
  int size() const { return static_cast<int>(entrants_.size()); }

  // Builds an entrant. If that fails the entrant is dropped, with the error as
  // the reason, and the error is returned.
  absl::Status Build(int entrant);
  // Compares the entrant's outputs for every sample with the model's. If they
  // differ or the entrant fails it is dropped, and the error is returned.
  absl::Status Check(int entrant);
  // Builds the eager backend. kInvalidArgument if the request has none.
  absl::Status BuildEager();

  // Times those of `entrants` that are in the race against each other, at each
  // of `batches`, and appends to their timings. An entrant that fails is
  // dropped and gets no timing for that batch. A batch that the model refuses,
  // as eager says with kInvalidArgument, is not timed; eager's notes tell why.
  // Returns an error only when a sample cannot be made, the model's state
  // cannot be saved or restored, eager fails otherwise, or the model refuses
  // all.
  absl::Status Time(const std::vector<int>& entrants,
                    const std::vector<int64_t>& batches);

  // The batch sizes to time: see TuneRequest::batches.
  std::vector<int64_t> Batches() const;

  // Whether the entrant was built and has not been dropped.
  bool InRace(int entrant) const { return entrants_[entrant].in_race; }
  const std::vector<TimedBatch>& timings(int entrant) const {
    return entrants_[entrant].report.timings;
  }

  // Takes an entrant out of the race, records the reason, and deactivates it.
  void Drop(int entrant, std::string reason);

  // Ends the contest with `entrant` as the winner, which the result owns. Drops
  // all others that are still in the race, with the reason `others_reason`.
  TuneResult Choose(int entrant, const std::string& others_reason);

 private:
  struct Entrant {
    std::unique_ptr<Backend> backend;
    BackendReport report;
    bool built = false;
    bool in_race = false;
  };

  absl::StatusOr<Sample> MakeBatch(int64_t batch) const;
  // The result of SourceModel::SaveState; null without a model.
  absl::StatusOr<std::function<absl::Status()>> SaveState(
      absl::Span<const RegionValue> inputs) const;
  // Runs `body`, then restores the model's state and what it wrote of `inputs`.
  absl::Status OnSavedState(absl::Span<const RegionValue> inputs,
                            const std::function<absl::Status()>& body) const;
  absl::Status CheckSample(Backend& backend, size_t sample);

  TuneRequest request_;
  std::vector<Entrant> entrants_;
  // The model's outputs for each sample; used when the request has no `check`.
  std::vector<std::vector<OwnedValue>> expected_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_STRATEGY_CONTEST_H_
