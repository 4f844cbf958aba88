// Counts a cache's events: those of this process, and those of all processes
// that used the folder.
#ifndef AITUNE_RUNTIME_CACHE_CACHE_COUNTERS_H_
#define AITUNE_RUNTIME_CACHE_CACHE_COUNTERS_H_

#include <filesystem>
#include <mutex>

#include "runtime/cache/cache.h"

namespace aitune {

// The folder's counts are in a small text file with a lock that nobody waits
// for: while another process holds it, this one keeps its counts and adds them
// later. Counts that can't be read from the file start at zero; nothing depends
// on them. Thread-safe.
class CacheCounters {
 public:
  // `path` of the file; it may not exist, or not be writable.
  explicit CacheCounters(std::filesystem::path path);
  // Adds the counts that are not in the file yet, if the lock is free.
  ~CacheCounters();

  void AddHit();
  void AddMiss(MissReason reason);
  void AddStore(bool ok);
  void AddEvictions(int64_t count);

  CacheCounts process() const;
  // The file's counts plus those that are not in it yet.
  CacheCounts folder() const;

 private:
  template <typename F>
  void Change(F change);
  // Adds pending_ to the file if its lock is free. With mutex_ held.
  void Flush();

  const std::filesystem::path path_;
  mutable std::mutex mutex_;
  CacheCounts process_;
  CacheCounts pending_;  // not in the file yet
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_CACHE_COUNTERS_H_
