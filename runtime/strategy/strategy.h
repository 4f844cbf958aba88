// How a backend is chosen for a model.
//
// A strategy builds the backends that it is given, checks their outputs against
// the model in eager, times them against each other and against the eager
// backend, and returns one of them, active. The others are deactivated. The
// eager backend wins ties: a backend that is not clearly faster is not worth
// the risk of a compiler. Two backends tie when the confidence intervals of
// their medians overlap and neither is 1.5 times as fast as the other. A model
// with state (a counter, a cache of keys and values) is run on the same state
// each time, and has it back at the end; so have samples whose inputs it
// writes to.
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

// Checks that a built backend computes the same outputs as the model for a
// sample. It calls both, and leaves the model's state as it was. It may have
// the backend repaired (Backend::Repair). An error says which output differs
// and how.
using BackendCheck =
    std::function<absl::Status(Backend& backend, const Sample& sample)>;

// Compares the number of outputs, their dtypes and their sizes, not their
// values. kFailedPrecondition names the first output that differs.
absl::Status CheckOutputTypes(absl::Span<const OwnedValue> expected,
                              absl::Span<const OwnedValue> actual);

struct TuneRequest {
  // The model, its inputs and the device. Each backend gets a folder of its
  // own, by its key, in `cache_dir`.
  BuildRequest build;
  // The backend of the model as it is, in state INIT. Not needed by OneBackend.
  std::unique_ptr<Backend> eager;
  // The backends to choose from, in state INIT, in order of preference.
  std::vector<std::unique_ptr<Backend>> backends;
  // Null: CheckOutputTypes on one call for each sample.
  BackendCheck check;
  // Makes a sample with this many items. Null: RepeatToBatch of the first
  // sample.
  std::function<absl::StatusOr<Sample>(int64_t batch)> make_batch;
  // The batch sizes, in items, that are timed. Empty: the spec's min_batch, the
  // powers of two above it and below max_batch, then max_batch. Ignored when
  // the spec has no batch axis and make_batch is null: the first sample is then
  // timed as batch 1.
  std::vector<int64_t> batches;
  TimingOptions timing;
};

// The measured latency of a backend at one batch size.
struct TimedBatch {
  int64_t batch = 1;      // items of a call
  TimingSummary latency;  // the time of a call
  // Items per second, by the median latency and by its bounds.
  double throughput() const { return 1000 * batch / latency.median; }
  double throughput_low() const { return 1000 * batch / latency.median_high; }
  double throughput_high() const { return 1000 * batch / latency.median_low; }
};

// The outcome of a choice for one backend.
struct BackendReport {
  // The backend's name in reports.
  std::string name() const { return is_eager ? "eager" : description; }

  std::string description;  // Backend::Describe()
  std::string key;          // Backend::Key()
  bool is_eager = false;    // whether this is the eager backend
  bool chosen = false;
  // Why the backend was not chosen: it could not be built, its outputs differ
  // from eager's, or it is not faster. Empty for the chosen one.
  std::string reason;
  std::vector<std::string> notes;   // Backend::Notes() after it was checked
  std::vector<TimedBatch> timings;  // empty if it was not timed
};

struct TuneResult {
  std::unique_ptr<Backend> backend;     // the chosen backend, active
  std::vector<BackendReport> backends;  // reports on all backends; eager first
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // The strategy's name, such as "FirstWins".
  virtual std::string name() const = 0;

  // Chooses a backend. Takes ownership of the request's backends; those that
  // were not chosen are deactivated and destroyed. A backend that can't be
  // built, is wrong or fails is reported and passed over. Errors:
  // kInvalidArgument for a request that lacks a backend or a sample; the eager
  // backend's when that can't be built or run; those that each strategy names.
  // Takes as long as building and timing all backends does. The thread's
  // CallLimit is asked before each build, check of a sample and batch size to
  // time; its error is then the strategy's.
  virtual absl::StatusOr<TuneResult> Tune(TuneRequest request) const = 0;
};

// Builds and checks the request's only backend, without timing; its failure is
// the error. kInvalidArgument for any other number of backends.
std::unique_ptr<Strategy> OneBackend();

// Chooses the first backend that builds, is correct and is at least 1.01 times
// as fast as eager at the first of the batch sizes; eager if there is none.
std::unique_ptr<Strategy> FirstWins();

// Chooses the backend with the most items per second at its best batch size.
std::unique_ptr<Strategy> MaxThroughput();

// Chooses the backend that is fastest at batch 1.
std::unique_ptr<Strategy> MinLatency();

// Chooses the backend with the most items per second among the batch sizes at
// which 99 of 100 calls take at most `milliseconds`. Eager wins ties. When no
// backend but eager keeps the budget the error is kNotFound, "No backend
// satisfied latency budget 5.000 ms".
std::unique_ptr<Strategy> LatencyBudget(double milliseconds);

// One of the strategies above, by the name of its function; `milliseconds` is
// the argument of LatencyBudget. kInvalidArgument for another name; the text
// lists the names.
absl::StatusOr<std::unique_ptr<Strategy>> StrategyByName(
    std::string_view name, double milliseconds = 0);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_STRATEGY_STRATEGY_H_
