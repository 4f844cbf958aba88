// Every measurement of a kernel candidate, kept for later builds, for other
// models with the same kernels, and for those who study cost models.
//
// SQLite keeps it: many processes may read and write one file, and a process
// that is killed loses at most its last record. A kernel's key is a digest of
// its structure with the ranges of its sizes, so that equal kernels of
// different models share their results.
#ifndef AITUNE_COMPILER_TUNE_TUNINGDATABASE_H
#define AITUNE_COMPILER_TUNE_TUNINGDATABASE_H

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

struct sqlite3;

namespace aitune {

/// One candidate of one kernel on one machine.
struct TuningRecord {
  std::string kernel; ///< digest of the kernel's structure
  std::string target; ///< CPU, features and threads it was measured with
  std::string form;   ///< KernelSpace::form
  std::string config; ///< Schedule::config
  std::vector<double> features;
  double flops = 0, bytes = 0; ///< of one launch, for the roofline
  /// Median of one launch and the 95 % confidence interval of the median;
  /// negative when the candidate failed.
  double microseconds = -1, low = -1, high = -1;
  std::string note;    ///< why it failed: crashed, timed out, wrong, ...
  std::string version; ///< of the compiler that generated it
  int64_t time = 0;    ///< when it was measured, seconds since 1970
};

class TuningDatabase {
public:
  /// Opens or creates the file; its folder is created too. Any number of
  /// processes and threads may open a new file at once. kFailedPrecondition
  /// when it is no database of this kind, kPermissionDenied or kUnavailable
  /// when it can't be opened; the text names the file.
  static absl::StatusOr<std::unique_ptr<TuningDatabase>>
  open(const std::string &path);
  ~TuningDatabase();

  /// Adds records; one of the same kernel, target and config is replaced if it
  /// is older. All or none. Thread-safe, as all methods.
  absl::Status record(const std::vector<TuningRecord> &records);

  /// What is known of a kernel on a target, fastest first, failed ones last.
  absl::StatusOr<std::vector<TuningRecord>> find(const std::string &kernel,
                                                 const std::string &target);

  /// Keeps the schedule to use for a kernel. Replaces an earlier choice.
  absl::Status choose(const std::string &kernel, const std::string &target,
                      const std::string &version, const std::string &config);
  /// The choice kept for a kernel by a compiler of this version; empty: none.
  absl::StatusOr<std::string> chosen(const std::string &kernel,
                                     const std::string &target,
                                     const std::string &version);

  /// All records of a template on a target, newest first, at most `limit`: what
  /// a cost model learns from, and where neighbours are looked for.
  absl::StatusOr<std::vector<TuningRecord>>
  findForm(const std::string &form, const std::string &target, int limit);

  /// Writes all records to `path`, one JSON object a line; returns how many.
  absl::StatusOr<int64_t> exportTo(const std::string &path);
  /// Merges a file that exportTo wrote; returns how many records it holds.
  /// kInvalidArgument names the first line that is none; nothing is added then.
  absl::StatusOr<int64_t> importFrom(const std::string &path);

  struct Summary {
    int64_t kernels = 0, records = 0, failed = 0;
  };
  absl::StatusOr<Summary> summarize();

private:
  TuningDatabase(sqlite3 *handle, std::string path)
      : handle(handle), path(std::move(path)) {}
  /// Makes the tables of a new file, unless another process or thread does;
  /// kFailedPrecondition when the tables are another program's.
  absl::Status create();
  /// The same, within a transaction that writes.
  absl::Status createLocked();
  /// Lets readers and a writer not wait for each other.
  absl::Status useWriteAheadLog();
  /// The first column of the first row that a statement gives.
  absl::StatusOr<int64_t> number(const char *sql);
  absl::Status execute(const char *sql);
  absl::Status error(const char *doing) const;
  absl::StatusOr<std::vector<TuningRecord>>
  query(const std::string &condition, const std::vector<std::string> &values);

  std::mutex mutex;
  sqlite3 *handle;
  std::string path;
};

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_TUNINGDATABASE_H
