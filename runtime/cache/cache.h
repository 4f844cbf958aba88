// The on-disk cache: what one process compiled and measured, the next finds.
//
// Entries are content-addressed (CacheKey) and immutable: a set of named blobs
// with a manifest that holds their checksums. An entry is written to a staging
// directory and appears under its key by one rename, so that a process that is
// killed leaves nothing half-written behind, only a directory that the next one
// sweeps. (Files are not flushed: what a power cut takes or tears is compiled
// again.) A reader checks every byte; any doubt (another version, a checksum, a
// size, a file that can't be read) is a miss with a reason, and the caller
// compiles. Nothing in the folder is trusted to be well-formed, but code from
// it is run: the folder must belong to the user, and one that everybody can
// write to is refused.
//
// Many processes may use a folder at once. Readers and writers of different
// entries take no lock; removing does (a lock file that dies with its process).
// Every wait has a limit.
//
//   FOLDER/entries/ab/abcd.../{manifest,0,1,...}   staging/  trash/  lock stats
#ifndef AITUNE_RUNTIME_CACHE_CACHE_H_
#define AITUNE_RUNTIME_CACHE_CACHE_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/cache/cache_key.h"

namespace aitune {

struct CacheLimits {
  // What the entries may take on the disk; the least recently used go first.
  int64_t max_bytes = int64_t{10} << 30;
  // How long to wait for another process that removes entries.
  std::chrono::milliseconds lock_timeout = std::chrono::seconds(10);
};

// Why Find gave nothing.
enum class MissReason {
  kAbsent,           // never stored, or removed
  kUnreadable,       // the system would not read it
  kOtherVersion,     // written by a version with another format
  kDamagedManifest,  // the manifest does not fit its checksum
  kOtherKey,         // the manifest is that of another entry
  kTruncated,        // a blob is shorter or longer than the manifest says
  kDamagedBlob,      // a blob does not fit its checksum
};
constexpr int kMissReasons = static_cast<int>(MissReason::kDamagedBlob) + 1;

// "absent", "unreadable", "other version", ...
std::string_view Name(MissReason reason);

// A stored artifact: its blobs by name.
struct CacheEntry {
  std::map<std::string, std::string, std::less<>> blobs;
  std::string description;
};

struct CacheLookup {
  std::optional<CacheEntry> entry;  // set for a hit
  // For a miss:
  MissReason reason = MissReason::kAbsent;
  std::string detail;  // with the file and what was wrong with it
};

struct CacheBlob {
  std::string name;        // unique in the entry, not empty
  std::string_view bytes;  // must stay until Store returns
};

// An entry as List sees it, without reading its blobs.
struct CacheListing {
  CacheKey key;
  int64_t bytes = 0;        // of its files
  std::string description;  // empty if the manifest can't be read
  // By the clocks of whoever wrote and used it.
  std::chrono::system_clock::time_point created, last_used;
};

// An entry that Verify found damaged.
struct CacheDamage {
  CacheKey key;
  MissReason reason;
  std::string detail;
  bool removed = false;
};

struct CacheVerification {
  int64_t intact = 0;
  std::vector<CacheDamage> damaged;
};

struct CachePruning {
  int64_t removed_entries = 0;
  int64_t removed_bytes = 0;
  int64_t kept_entries = 0;
  int64_t kept_bytes = 0;
};

// Counts of events.
struct CacheCounts {
  int64_t hits = 0;
  std::array<int64_t, kMissReasons> misses{};  // by MissReason
  int64_t stores = 0;
  int64_t failed_stores = 0;
  int64_t evictions = 0;

  int64_t total_misses() const;
};

struct CacheStats {
  CacheCounts process;  // by this object
  // By all processes since the folder was made; a process that was killed may
  // be missing a few.
  CacheCounts folder;
  int64_t entries = 0;
  int64_t bytes = 0;
  int64_t max_bytes = 0;
};

class CacheCounters;

// Thread-safe. A folder may be open in any number of objects and processes.
class Cache {
 public:
  // Opens the cache in `folder`, which is made if it is not there, and sweeps
  // what killed processes left. A folder that can only be read serves Find.
  // Errors: the system's, with the path; kPermissionDenied for a folder that
  // everybody can write to; kInvalidArgument for limits below 0.
  static absl::StatusOr<std::unique_ptr<Cache>> Open(
      const std::filesystem::path& folder, const CacheLimits& limits = {});
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // The entry of `key`, every byte checked, or why there is none.
  CacheLookup Find(const CacheKey& key);

  // Keeps `blobs` under `key`; when it returns OK they are there for every
  // process, whatever becomes of this one. An intact entry that is there
  // already stays; a damaged one is replaced. Then removes the least recently
  // used entries while the limit is exceeded, but not this one. On an error
  // nothing has changed: the caller goes on without the cache. Errors:
  // kInvalidArgument for the blobs' names, kResourceExhausted for a full disk
  // or an entry larger than the limit, kPermissionDenied for a folder that can
  // only be read, kUnavailable when the lock stayed taken.
  absl::Status Store(const CacheKey& key, absl::Span<const CacheBlob> blobs,
                     std::string_view description = "");

  // All entries, by key.
  std::vector<CacheListing> List() const;

  // Reads every entry. Damaged ones are removed if `remove_damaged` (and if the
  // folder can be written to).
  CacheVerification Verify(bool remove_damaged);

  // Removes the least recently used entries until the rest takes at most
  // `max_bytes`; 0 removes all. kUnavailable when the lock stayed taken; errors
  // of the system, with the path.
  absl::StatusOr<CachePruning> Prune(int64_t max_bytes);

  CacheStats Stats() const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  Cache(std::filesystem::path folder, const CacheLimits& limits);

  absl::Status StoreUncounted(const CacheKey& key,
                              absl::Span<const CacheBlob> blobs,
                              std::string_view description);
  // Renames `staged` to the entry of `key`.
  absl::Status Commit(const std::filesystem::path& staged, const CacheKey& key);
  // Prune with the lock held. `keep` stays.
  absl::StatusOr<CachePruning> PruneLocked(int64_t max_bytes,
                                           const CacheKey* keep);
  // Out of the way by one rename, then deleted. With the lock held.
  absl::Status Remove(const CacheKey& key);

  const std::filesystem::path folder_;
  const CacheLimits limits_;
  const std::unique_ptr<CacheCounters> counters_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_CACHE_H_
