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
// it is run, and the checksums are no signatures: the folder, the folders in it
// and every file that is read must belong to the user or to root, and nobody
// else may be able to write to them. Links are not followed. What does not keep
// to that is refused when the cache is opened, or a miss.
//
// An entry that a process still needs can be held: removing it then takes it
// from the others, and its room on the disk is free once it is let go, or once
// the folder is opened or pruned after the process has ended.
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
  // The most bytes of disk that all entries may take (default: 10 GiB). Beyond
  // it the least recently used entries are removed.
  int64_t max_bytes = int64_t{10} << 30;
  // The longest wait for another process that is removing entries.
  std::chrono::milliseconds lock_timeout = std::chrono::seconds(10);
};

// Why Find found no usable entry.
enum class MissReason {
  kAbsent,           // never stored, or removed
  kUnreadable,       // a file can't be read, or others could have written it
  kOtherVersion,     // written by a version with another format
  kDamagedManifest,  // the manifest does not fit its checksum
  kOtherKey,         // the manifest belongs to another entry
  kTruncated,        // a blob is shorter or longer than the manifest says
  kDamagedBlob,      // a blob does not fit its checksum
};
constexpr int kMissReasons = static_cast<int>(MissReason::kDamagedBlob) + 1;

// "absent", "unreadable", "other version", ...
std::string_view Name(MissReason reason);

// A stored artifact.
struct CacheEntry {
  std::map<std::string, std::string, std::less<>> blobs;  // contents by name
  std::string description;  // the text that Store was given, for people
};

struct CacheLookup {
  std::optional<CacheEntry> entry;  // set for a hit
  // Set for a miss:
  MissReason reason = MissReason::kAbsent;
  std::string detail;  // names the file and what is wrong with it
};

struct CacheBlob {
  std::string name;        // unique in the entry, not empty
  std::string_view bytes;  // contents; must stay valid until Store returns
};

// What Store does with an intact entry of the same key.
enum class IfThere {
  kKeep,     // it holds the same
  kReplace,  // it was found to be wrong
};

// An entry as List sees it, without reading its blobs.
struct CacheListing {
  CacheKey key;
  int64_t bytes = 0;        // size of the entry's files
  std::string description;  // empty if the manifest can't be read
  // Times by the clocks of the processes that wrote and last used the entry.
  std::chrono::system_clock::time_point created, last_used;
};

// An entry that Verify found damaged.
struct CacheDamage {
  CacheKey key;
  MissReason reason;
  std::string detail;    // names the file and what is wrong with it
  bool removed = false;  // whether Verify removed the entry
};

struct CacheVerification {
  int64_t intact = 0;                // number of entries without damage
  std::vector<CacheDamage> damaged;  // the other entries
};

struct CachePruning {
  int64_t removed_entries = 0;
  int64_t removed_bytes = 0;
  int64_t kept_entries = 0;
  int64_t kept_bytes = 0;
};

// Numbers of events.
struct CacheCounts {
  int64_t hits = 0;  // calls of Find that found an entry
  // Calls of Find that found none, indexed by MissReason.
  std::array<int64_t, kMissReasons> misses{};
  int64_t stores = 0;         // calls of Store that succeeded
  int64_t failed_stores = 0;  // calls of Store that returned an error
  int64_t evictions = 0;      // entries removed to keep the limit

  int64_t total_misses() const;
};

struct CacheStats {
  CacheCounts process;  // events of this object
  // Events of all processes since the folder was made. The last few events of a
  // process that was killed may be missing.
  CacheCounts folder;
  int64_t entries = 0;    // number of entries
  int64_t bytes = 0;      // size of all entries' files
  int64_t max_bytes = 0;  // CacheLimits::max_bytes
};

class CacheCounters;
class StagingDirectory;

// An entry that can be read while this lives, whatever becomes of it in the
// cache; unless the whole folder is removed. Outlives the Cache that it is of.
// Thread-safe.
class HeldEntry {
 public:
  ~HeldEntry();
  HeldEntry(const HeldEntry&) = delete;
  HeldEntry& operator=(const HeldEntry&) = delete;

  // The entry, every byte checked, or why it can't be read.
  CacheLookup Read() const;

 private:
  friend class Cache;
  HeldEntry(std::shared_ptr<const StagingDirectory> directory,
            std::filesystem::path path, const CacheKey& key);

  const std::shared_ptr<const StagingDirectory> directory_;
  const std::filesystem::path
      path_;  // folder of the entry's links, in directory_
  const CacheKey key_;
  const int process_;  // that removes them
};

// Thread-safe. A folder may be open in any number of objects and processes.
class Cache {
 public:
  // Whether `folder` has the files of a cache, one without entries included.
  // Writes none; false for a folder that cannot be looked into.
  static bool IsIn(const std::filesystem::path& folder);

  // Opens the cache in `folder`, which is made if it does not exist, and
  // removes the files that killed processes left. In a folder that is not
  // writable, only finding and listing work. Errors: the system's, with the
  // path; kPermissionDenied for a folder that is a link, belongs to neither the
  // user nor root, or can be written to by its group or others;
  // kInvalidArgument for limits below 0.
  static absl::StatusOr<std::unique_ptr<Cache>> Open(
      const std::filesystem::path& folder, const CacheLimits& limits = {});
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // The entry of `key`, every byte checked, or why there is none.
  CacheLookup Find(const CacheKey& key);

  // Stores `blobs` under `key`. After OK every process finds them, even if this
  // one is killed. If the entry exists, `if_there` says what becomes of it; a
  // damaged one is always replaced. Then removes the least recently used
  // entries, except this one, while the limit is exceeded. After an error
  // nothing has changed, and the caller can go on without the cache. Errors:
  // kInvalidArgument for names of blobs that are empty or not unique,
  // kResourceExhausted for a full disk or an entry larger than the limit,
  // kPermissionDenied for a folder that is not writable, kUnavailable when
  // another process kept the lock too long.
  absl::Status Store(const CacheKey& key, absl::Span<const CacheBlob> blobs,
                     std::string_view description = "",
                     IfThere if_there = IfThere::kKeep);

  // Holds the entry of `key`, without reading it. kNotFound when it is not
  // there; the system's errors, as for a folder that is not writable. All that
  // an object holds takes one file descriptor.
  absl::StatusOr<std::shared_ptr<const HeldEntry>> Hold(const CacheKey& key);

  // All entries, by key.
  std::vector<CacheListing> List() const;

  // Reads every entry. Damaged ones are removed if `remove_damaged` (and if the
  // folder can be written to).
  CacheVerification Verify(bool remove_damaged);

  // Removes the least recently used entries until the rest takes at most
  // `max_bytes`; 0 removes all. kUnavailable when another process kept the lock
  // too long; the system's errors, with the path.
  absl::StatusOr<CachePruning> Prune(int64_t max_bytes);

  CacheStats Stats() const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  Cache(std::filesystem::path folder, const CacheLimits& limits);

  absl::Status StoreUncounted(const CacheKey& key,
                              absl::Span<const CacheBlob> blobs,
                              std::string_view description, IfThere if_there);
  // Renames `staged` to the entry of `key`.
  absl::Status Commit(const std::filesystem::path& staged, const CacheKey& key,
                      IfThere if_there);
  // Prune, with the lock held. Never removes the entry `keep` (null: none).
  absl::StatusOr<CachePruning> PruneLocked(int64_t max_bytes,
                                           const CacheKey* keep);
  // Moves the entry to the trash by one rename, then deletes it. With the lock
  // held.
  absl::Status Remove(const CacheKey& key);

  const std::filesystem::path folder_;
  const CacheLimits limits_;
  const std::unique_ptr<CacheCounters> counters_;
  std::mutex held_mutex_;
  // Of the links to what is held; null until something is.
  std::shared_ptr<const StagingDirectory> held_;
  int held_process_ = 0;    // process that made held_
  int64_t held_count_ = 0;  // entries that were held so far, by which they are
                            // named
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_CACHE_H_
