// Counts of what happened, of this process and of all that used the folder.
#ifndef AITUNE_RUNTIME_CACHE_CACHE_COUNTERS_H_
#define AITUNE_RUNTIME_CACHE_CACHE_COUNTERS_H_

#include <filesystem>
#include <mutex>

#include "runtime/cache/cache.h"

namespace aitune {

// The folder's counts are a small text file, changed under a lock that nobody
// waits for: when it is taken, counts are kept for the next time. A file that
// makes no sense starts at zero; nothing depends on it. Thread-safe.
class CacheCounters {
 public:
  // `path` of the file; it may not be there, or not be writable.
  explicit CacheCounters(std::filesystem::path path);
  // Adds what is not in the file yet, if the lock is free.
  ~CacheCounters();

  void AddHit();
  void AddMiss(MissReason reason);
  void AddStore(bool ok);
  void AddEvictions(int64_t count);

  CacheCounts process() const;
  // The file's counts and what is still to be added.
  CacheCounts folder() const;

 private:
  template <typename F>
  void Change(F change);
  void Flush();  // with the mutex held

  const std::filesystem::path path_;
  mutable std::mutex mutex_;
  CacheCounts process_;
  CacheCounts pending_;  // not in the file yet
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_CACHE_COUNTERS_H_
