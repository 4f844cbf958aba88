// Stores every measurement of a kernel candidate, for later builds, for other
// models with the same kernels, and for research on cost models.
//
// The file is an SQLite database: many processes may read and write it, and a
// process that is killed loses at most its last record. A kernel's key is a
// digest of its structure and of the ranges of its sizes, so that equal kernels
// of different models share their results.
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
  std::string kernel;           ///< digest of the kernel's structure
  std::string target;           ///< TuningMachine::name of the machine
  std::string form;             ///< KernelSpace::form
  std::string config;           ///< Schedule::config
  std::vector<double> features; ///< Schedule::features
  double flops = 0, bytes = 0;  ///< KernelWork of one launch
  /// The median time of one launch, in microseconds, and the bounds of its 95 %
  /// confidence interval; negative when the candidate failed.
  double microseconds = -1, low = -1, high = -1;
  std::string note;    ///< why it failed: crashed, timed out, wrong, ...
  std::string version; ///< TuningMachine::generator
  int64_t time = 0;    ///< time of the measurement, in seconds since 1970
};

class TuningDatabase {
public:
  /// Opens or creates the file; its folder is created too. Any number of
  /// processes and threads may open a new file at once. kFailedPrecondition
  /// when it is no database of this kind, kPermissionDenied or kUnavailable
  /// when it can't be opened; the text names the file. On a file system that
  /// can only be read, so can the database.
  static absl::StatusOr<std::unique_ptr<TuningDatabase>>
  open(const std::string &path);
  ~TuningDatabase();

  /// Adds all of the records, or none after an error. An older record of the
  /// same kernel, target and config is replaced. Thread-safe, as all methods.
  absl::Status record(const std::vector<TuningRecord> &records);

  /// The records of a kernel on a target, fastest first, failed ones last.
  absl::StatusOr<std::vector<TuningRecord>> find(const std::string &kernel,
                                                 const std::string &target);

  /// Stores the schedule to use for a kernel, in place of an earlier choice.
  absl::Status choose(const std::string &kernel, const std::string &target,
                      const std::string &version, const std::string &config);
  /// The choice for a kernel by a generator of this version; empty: none.
  absl::StatusOr<std::string> chosen(const std::string &kernel,
                                     const std::string &target,
                                     const std::string &version);

  /// The newest records of a template on a target, at most `limit`, newest
  /// first. A cost model learns from them, and similar kernels are found there.
  absl::StatusOr<std::vector<TuningRecord>>
  findForm(const std::string &form, const std::string &target, int limit);

  /// Writes all records to the file `path`, one JSON object on each line.
  /// Returns their number.
  absl::StatusOr<int64_t> exportTo(const std::string &path);
  /// Adds the records of a file that exportTo wrote. Returns their number.
  /// kInvalidArgument names the first line that is no record; nothing is then
  /// added.
  absl::StatusOr<int64_t> importFrom(const std::string &path);

  struct Summary {
    int64_t kernels = 0; ///< number of different kernels
    int64_t records = 0; ///< number of records
    int64_t failed = 0;  ///< number of records of failed candidates
  };
  absl::StatusOr<Summary> summarize();

private:
  TuningDatabase(sqlite3 *handle, std::string path)
      : handle(handle), path(std::move(path)) {}
  /// Makes the tables of a new file, unless another process or thread does;
  /// kFailedPrecondition when the file has tables of another program.
  absl::Status create();
  /// The same, within a transaction that writes.
  absl::Status createLocked();
  /// Makes SQLite use a write-ahead log, so that readers and a writer do not
  /// wait for each other.
  absl::Status useWriteAheadLog();
  /// The first column of the first row of a statement's result.
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
