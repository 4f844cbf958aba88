// Many threads call a few modules for a long time, and do now and then all that
// a service may do beside: save and load checkpoints, forget what was compiled,
// free memory, give deadlines.
#ifndef AITUNE_TESTS_SOAK_SOAK_H_
#define AITUNE_TESTS_SOAK_SOAK_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"

namespace aitune::soak {

struct SoakOptions {
  double seconds = 8;            // of the calls, after the models were tuned
  int threads = 8;               // that call at the same time
  uint64_t seed = 0;             // of sizes and of what is done
  std::filesystem::path folder;  // for the cache and checkpoints
};

struct SoakReport {
  double seconds = 0;
  int64_t calls = 0;        // compared with eager
  int64_t wrong = 0;        // of these, results that differ from eager's
  int64_t errors = 0;       // of calls and of all else
  int64_t late = 0;         // asynchronous calls that their deadline ended
  int64_t cancelled = 0;    // asynchronous calls that were cancelled
  int64_t checkpoints = 0;  // saved and loaded
  int64_t resets = 0;
  int64_t frees = 0;            // of kept memory
  std::vector<int64_t> memory;  // resident bytes, at equal intervals
};

// Runs the soak. Prints a line with the report's numbers every minute, and to
// stderr the texts of the first wrong results and errors. Ends the process with
// exit code 1 if calls still hang some minutes after the end. The error is that
// of making or tuning a model.
absl::StatusOr<SoakReport> RunSoak(const SoakOptions& options);

// The line of a report: "seconds=60 calls=12345 wrong=0 ...".
void PrintLine(const SoakReport& report);

}  // namespace aitune::soak

#endif  // AITUNE_TESTS_SOAK_SOAK_H_
