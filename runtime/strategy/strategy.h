// How a backend is chosen for a model.
//
// A strategy builds the backends that it is given, checks their outputs against
// the model in eager, times them against each other and against the eager
// backend, and returns one of them, active. The others are deactivated. The
// eager backend wins ties: what is not clearly faster is not worth a compiler's
// risk. "Clearly" is decided by the confidence intervals of the medians; where
// they overlap it is a tie. A model with state (a counter, a cache of keys and
// values) is run on the same state each time, and has it back at the end.
#ifndef AITUNE_RUNTIME_STRATEGY_STRATEGY_H_
#define AITUNE_RUNTIME_STRATEGY_STRATEGY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/backend.h"
#include "runtime/strategy/interleaved_timing.h"

namespace aitune {

// Whether a built backend computes what the model does for a sample. It calls
// both, and leaves the model's state as it was. An error says which output
// differs and how.
using BackendCheck =
    std::function<absl::Status(const Backend& backend, const Sample& sample)>;

// The check of number, dtypes and sizes alone.
absl::Status CheckOutputTypes(absl::Span<const OwnedValue> expected,
                              absl::Span<const OwnedValue> actual);

struct TuneRequest {
  std::string module_name;
  // The model, its inputs and the device. Each backend gets a folder of its
  // own, by its key, in `cache_dir`.
  BuildRequest build;
  // The backend of the model as it is, in state INIT. Not needed by OneBackend.
  std::unique_ptr<Backend> eager;
  // In state INIT, in order of preference.
  std::vector<std::unique_ptr<Backend>> backends;
  // Null: CheckOutputTypes of one call alone.
  BackendCheck check;
  // A sample with this many items; null: RepeatToBatch of the first sample.
  std::function<absl::StatusOr<Sample>(int64_t batch)> make_batch;
  // The batch sizes that are swept; empty: 1, 2, 4, ... up to the spec's
  // max_batch, and that. Without a batch axis the first sample is taken as it
  // is, for batch 1.
  std::vector<int64_t> batches;
  TimingOptions timing;
};

// What a backend was measured to take for a batch.
struct TimedBatch {
  int64_t batch = 1;
  TimingSummary latency;
  // Items a second, by the median and by its bounds.
  double throughput() const { return 1000 * batch / latency.median; }
  double throughput_low() const { return 1000 * batch / latency.median_high; }
  double throughput_high() const { return 1000 * batch / latency.median_low; }
};

// What became of one backend.
struct BackendReport {
  // What reports call it.
  std::string name() const { return is_eager ? "eager" : description; }

  std::string description;  // Backend::Describe()
  std::string key;
  bool is_eager = false;
  bool chosen = false;
  // Why it was not chosen: it could not be built, differs from eager, is not
  // faster. Empty for the chosen one.
  std::string reason;
  std::vector<std::string> notes;   // Backend::Notes() once it was built
  std::vector<TimedBatch> timings;  // empty if it was not timed
};

struct TuneResult {
  std::unique_ptr<Backend> backend;     // active
  std::vector<BackendReport> backends;  // all that were tried; eager first
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // "FirstWins".
  virtual std::string name() const = 0;

  // Takes the request's backends; those that were not chosen are deactivated
  // and destroyed. A backend that can't be built, is wrong or fails is reported
  // and passed over. Errors: kInvalidArgument for a request that lacks
  // something; the eager backend's when that can't be built or run; those that
  // each strategy names. Takes as long as building everything does.
  virtual absl::StatusOr<TuneResult> Tune(TuneRequest request) const = 0;
};

// The one backend there is; any failure of it is the error.
std::unique_ptr<Strategy> OneBackend();

// The first backend that builds, is correct and beats eager by 1 % or more at
// the first of the batch sizes. Eager if there is none.
std::unique_ptr<Strategy> FirstWins();

// The backend with the most items a second at its best batch size.
std::unique_ptr<Strategy> MaxThroughput();

// The backend that is fastest at batch 1.
std::unique_ptr<Strategy> MinLatency();

// The backend with the most items a second among the batch sizes at which 99 of
// 100 calls take at most `milliseconds`. Eager wins ties here too, but that
// eager keeps the budget does not hide that no backend does: the error is then
// kNotFound, "No backend satisfied latency budget 5.000 ms".
std::unique_ptr<Strategy> LatencyBudget(double milliseconds);

// One of the above, by the name of its function; `milliseconds` is
// LatencyBudget's. kInvalidArgument, with the names there are, for another one.
absl::StatusOr<std::unique_ptr<Strategy>> StrategyByName(
    std::string_view name, double milliseconds = 0);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_STRATEGY_STRATEGY_H_
