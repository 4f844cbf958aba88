#include "runtime/cache/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cache/cache_counters.h"
#include "runtime/cache/cache_layout.h"
#include "runtime/cache/entry_file.h"
#include "runtime/cache/file_lock.h"
#include "runtime/cache/posix_file.h"
#include "runtime/cache/staging_directory.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

// Code from the folder is run: nobody else may put any there. (What is read
// later is checked again then, file by file: see OpenRegularFile and ReadEntry.
// This is to say at once what would make every entry a miss.)
absl::Status CheckFolder(const std::filesystem::path& folder) {
  const auto check = [](const std::filesystem::path& path) -> absl::Status {
    const ScopedFd opened(
        open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const int why = errno;
    if (opened.valid()) return CheckPrivate(opened, path);
    std::error_code error;
    if (!std::filesystem::is_symlink(path, error))
      return ErrnoStatus(why, "can't open", path);
    return absl::PermissionDeniedError(
        absl::StrCat(path.string(),
                     " is a link, and code from where it leads to would be "
                     "run. Name the folder itself."));
  };
  absl::Status status = check(folder);
  for (const auto& inner :
       {EntriesPath(folder), StagingPath(folder), TrashPath(folder)}) {
    if (!status.ok()) break;
    status = check(inner);
    if (absl::IsNotFound(status)) status = absl::OkStatus();
  }
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("the cache: ", status.message()));
}

absl::Status CheckBlobs(absl::Span<const CacheBlob> blobs, int64_t max_bytes) {
  std::set<std::string_view> names;
  int64_t total = 0;
  for (const CacheBlob& blob : blobs) {
    if (blob.name.empty() || !names.insert(blob.name).second)
      return absl::InvalidArgumentError(
          absl::StrCat("a cache entry's blobs need names, all different; '",
                       blob.name, "' is empty or there twice"));
    total += static_cast<int64_t>(blob.bytes.size());
  }
  if (total <= max_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("an entry of ", total, " bytes does not go into a cache of ",
                   max_bytes, ". Increase the cache's limit."));
}

}  // namespace

std::string_view Name(MissReason reason) {
  static constexpr std::string_view kNames[kMissReasons] = {
      "absent",    "unreadable", "other version", "damaged manifest",
      "other key", "truncated",  "damaged blob"};
  return kNames[static_cast<int>(reason)];
}

int64_t CacheCounts::total_misses() const {
  return std::accumulate(misses.begin(), misses.end(), int64_t{0});
}

bool Cache::IsIn(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(EntriesPath(folder), error) ||
         std::filesystem::exists(CountersPath(folder), error) ||
         std::filesystem::exists(LockPath(folder), error);
}

absl::StatusOr<std::unique_ptr<Cache>> Cache::Open(
    const std::filesystem::path& folder, const CacheLimits& limits) {
  if (limits.max_bytes < 0 || limits.lock_timeout.count() < 0)
    return absl::InvalidArgumentError(absl::StrCat(
        folder.string(), ": the limits of the cache are ", limits.max_bytes,
        " bytes and ", limits.lock_timeout.count(),
        " ms; they must be at least 0"));
  AITUNE_RETURN_IF_ERROR(MakeDirectories(folder));
  AITUNE_RETURN_IF_ERROR(CheckFolder(folder));
  // In a folder that can only be read there is nothing to sweep.
  if (access(folder.c_str(), W_OK) == 0) {
    SweepStagingDirectories(StagingPath(folder));
    const absl::StatusOr<FileLock> lock =
        FileLock::Acquire(LockPath(folder), std::chrono::milliseconds(0));
    if (lock.ok()) (void)RemoveTree(TrashPath(folder));
  }
  return std::unique_ptr<Cache>(new Cache(folder, limits));
}

Cache::Cache(std::filesystem::path folder, const CacheLimits& limits)
    : folder_(std::move(folder)),
      limits_(limits),
      counters_(std::make_unique<CacheCounters>(CountersPath(folder_))) {}

Cache::~Cache() = default;

CacheLookup Cache::Find(const CacheKey& key) {
  const std::filesystem::path path = EntryPath(folder_, key);
  CacheLookup lookup = ReadEntry(path, key);
  if (lookup.entry.has_value()) {
    TouchEntry(path);
    counters_->AddHit();
  } else {
    counters_->AddMiss(lookup.reason);
  }
  return lookup;
}

absl::Status Cache::Store(const CacheKey& key,
                          absl::Span<const CacheBlob> blobs,
                          std::string_view description, IfThere if_there) {
  absl::Status status = StoreUncounted(key, blobs, description, if_there);
  counters_->AddStore(status.ok());
  return status;
}

absl::Status Cache::StoreUncounted(const CacheKey& key,
                                   absl::Span<const CacheBlob> blobs,
                                   std::string_view description,
                                   IfThere if_there) {
  AITUNE_RETURN_IF_ERROR(CheckBlobs(blobs, limits_.max_bytes));
  const std::filesystem::path path = EntryPath(folder_, key);
  if (if_there == IfThere::kKeep && ReadEntry(path, key).entry.has_value()) {
    TouchEntry(path);
    return absl::OkStatus();
  }
  AITUNE_RETURN_IF_ERROR(MakeDirectories(StagingPath(folder_)));
  {
    AITUNE_ASSIGN_OR_RETURN(const StagingDirectory staging,
                            StagingDirectory::Create(StagingPath(folder_)));
    AITUNE_RETURN_IF_ERROR(WriteEntry(staging.path(), key, blobs, description));
    AITUNE_RETURN_IF_ERROR(Commit(staging.path(), key, if_there));
  }
  int64_t bytes = 0;
  for (const CacheListing& listing : List()) bytes += listing.bytes;
  if (bytes <= limits_.max_bytes) return absl::OkStatus();
  // The entry is there whatever becomes of the others.
  const absl::StatusOr<FileLock> lock =
      FileLock::Acquire(LockPath(folder_), limits_.lock_timeout);
  if (lock.ok()) (void)PruneLocked(limits_.max_bytes, &key);
  return absl::OkStatus();
}

absl::Status Cache::Commit(const std::filesystem::path& staged,
                           const CacheKey& key, IfThere if_there) {
  const std::filesystem::path path = EntryPath(folder_, key);
  AITUNE_RETURN_IF_ERROR(MakeDirectories(path.parent_path()));
  const auto is_kept = [&] {
    return if_there == IfThere::kKeep && ReadEntry(path, key).entry.has_value();
  };
  const auto commit = [&]() -> int {
    return rename(staged.c_str(), path.c_str()) == 0 ? 0 : errno;
  };
  int error = commit();
  if (error == ENOTEMPTY || error == EEXIST || error == ENOTDIR) {
    // Something has the name. If another process was quicker, it wrote the
    // same.
    if (is_kept()) return absl::OkStatus();
    // It is damaged, or wrong. Only one process at a time may decide to replace
    // it.
    AITUNE_ASSIGN_OR_RETURN(
        const FileLock lock,
        FileLock::Acquire(LockPath(folder_), limits_.lock_timeout));
    if (is_kept()) return absl::OkStatus();
    AITUNE_RETURN_IF_ERROR(Remove(key));
    error = commit();
    if (error != 0 && is_kept()) return absl::OkStatus();
  }
  if (error != 0) return ErrnoStatus(error, "can't make the entry", path);
  return absl::OkStatus();
}

absl::Status Cache::Remove(const CacheKey& key) {
  AITUNE_RETURN_IF_ERROR(MakeDirectories(TrashPath(folder_)));
  const std::filesystem::path path = EntryPath(folder_, key);
  const std::filesystem::path trash = TrashPath(folder_) / key.hex();
  AITUNE_RETURN_IF_ERROR(RemoveTree(trash));
  if (rename(path.c_str(), trash.c_str()) != 0 && errno != ENOENT)
    return ErrnoStatus(errno, "can't remove the entry", path);
  // It is gone; what can't be deleted now is swept later.
  (void)RemoveTree(trash);
  return absl::OkStatus();
}

HeldEntry::HeldEntry(std::shared_ptr<const StagingDirectory> directory,
                     std::filesystem::path path, const CacheKey& key)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      key_(key),
      process_(getpid()) {}

HeldEntry::~HeldEntry() {
  if (process_ == getpid()) (void)RemoveTree(path_);
}

CacheLookup HeldEntry::Read() const { return ReadEntry(path_, key_); }

absl::StatusOr<std::shared_ptr<const HeldEntry>> Cache::Hold(
    const CacheKey& key) {
  std::shared_ptr<const StagingDirectory> directory;
  int64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(held_mutex_);
    // What a parent of this process holds is the parent's, which removes it.
    if (held_ == nullptr || held_process_ != getpid()) {
      AITUNE_RETURN_IF_ERROR(MakeDirectories(StagingPath(folder_)));
      AITUNE_ASSIGN_OR_RETURN(StagingDirectory made,
                              StagingDirectory::Create(StagingPath(folder_)));
      held_ = std::make_shared<const StagingDirectory>(std::move(made));
      held_process_ = getpid();
    }
    directory = held_;
    number = held_count_++;
  }
  const std::filesystem::path path = directory->path() / absl::StrCat(number);
  AITUNE_RETURN_IF_ERROR(MakeDirectories(path));
  // From here on what is there is removed, also after an error.
  std::shared_ptr<const HeldEntry> held(
      new HeldEntry(std::move(directory), path, key));
  AITUNE_RETURN_IF_ERROR(LinkEntry(EntryPath(folder_, key), path));
  return held;
}

std::vector<CacheListing> Cache::List() const {
  std::vector<CacheListing> list;
  for (const CacheKey& key : ListKeys(folder_)) {
    CacheListing listing = InspectEntry(EntryPath(folder_, key), key);
    if (listing.bytes > 0) list.push_back(std::move(listing));
  }
  return list;
}

CacheVerification Cache::Verify(bool remove_damaged) {
  CacheVerification result;
  for (const CacheKey& key : ListKeys(folder_)) {
    const std::filesystem::path path = EntryPath(folder_, key);
    CacheLookup lookup = ReadEntry(path, key);
    if (!lookup.entry.has_value() && remove_damaged) {
      const absl::StatusOr<FileLock> lock =
          FileLock::Acquire(LockPath(folder_), limits_.lock_timeout);
      // Another process may have replaced it by a good one before we had the
      // lock.
      lookup = ReadEntry(path, key);
      if (lock.ok() && !lookup.entry.has_value() &&
          lookup.reason != MissReason::kAbsent) {
        result.damaged.push_back(
            {key, lookup.reason, lookup.detail, Remove(key).ok()});
        continue;
      }
    }
    if (lookup.entry.has_value()) {
      ++result.intact;
    } else if (lookup.reason != MissReason::kAbsent) {
      result.damaged.push_back({key, lookup.reason, lookup.detail});
    }
  }
  return result;
}

absl::StatusOr<CachePruning> Cache::Prune(int64_t max_bytes) {
  if (max_bytes < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("the cache can't be pruned to ", max_bytes,
                     " bytes; give 0 to remove all entries"));
  SweepStagingDirectories(StagingPath(folder_));
  AITUNE_ASSIGN_OR_RETURN(
      const FileLock lock,
      FileLock::Acquire(LockPath(folder_), limits_.lock_timeout));
  AITUNE_RETURN_IF_ERROR(RemoveTree(TrashPath(folder_)));
  return PruneLocked(max_bytes, nullptr);
}

absl::StatusOr<CachePruning> Cache::PruneLocked(int64_t max_bytes,
                                                const CacheKey* keep) {
  std::vector<CacheListing> list = List();
  const auto now = std::chrono::system_clock::now();
  CachePruning result;
  for (CacheListing& listing : list) {
    result.kept_bytes += listing.bytes;
    ++result.kept_entries;
    if (listing.last_used <= now) continue;
    // The entry's time is in the future, from a clock that was ahead. Set it to
    // now, so that the entry ages as others do.
    TouchEntry(EntryPath(folder_, listing.key));
    listing.last_used = now;
  }
  std::sort(list.begin(), list.end(),
            [](const CacheListing& a, const CacheListing& b) {
              return std::tie(a.last_used, a.key) <
                     std::tie(b.last_used, b.key);
            });
  for (const CacheListing& listing : list) {
    if (result.kept_bytes <= max_bytes) break;
    if (keep != nullptr && listing.key == *keep) continue;
    AITUNE_RETURN_IF_ERROR(Remove(listing.key));
    result.kept_bytes -= listing.bytes;
    --result.kept_entries;
    result.removed_bytes += listing.bytes;
    ++result.removed_entries;
    counters_->AddEvictions(1);
  }
  return result;
}

CacheStats Cache::Stats() const {
  CacheStats stats;
  stats.process = counters_->process();
  stats.folder = counters_->folder();
  stats.max_bytes = limits_.max_bytes;
  for (const CacheListing& listing : List()) {
    ++stats.entries;
    stats.bytes += listing.bytes;
  }
  return stats;
}

}  // namespace aitune
