// Folders, keys and contents for tests of the cache.
#ifndef AITUNE_RUNTIME_CACHE_TEST_CACHE_H_
#define AITUNE_RUNTIME_CACHE_TEST_CACHE_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cache/cache.h"

namespace aitune {

// A new folder, deleted with the object. In /tmp: tests that give up root's
// rights must be able to reach it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

CacheKey TestKey(int number);

// The content that belongs to a key: `bytes` bytes in two blobs, "plan" and
// "code", that differ from those of any other number.
std::map<std::string, std::string, std::less<>> TestContent(
    int number, int64_t bytes = 3000);

absl::Status StoreTestEntry(Cache& cache, int number, int64_t bytes = 3000);

// Whether the entry is there; a hit with another content ends the test.
bool FindTestEntry(Cache& cache, int number, int64_t bytes = 3000);

// Opens a cache or ends the process.
std::unique_ptr<Cache> OpenCache(const std::filesystem::path& folder,
                                 const CacheLimits& limits = {});

// The directory of an entry.
std::filesystem::path TestEntryPath(const std::filesystem::path& folder,
                                    int number);

std::string ReadWholeFile(const std::filesystem::path& path);
void WriteWholeFile(const std::filesystem::path& path,
                    const std::string& bytes);

// Runs `child` in another process and returns its exit code, or minus the
// signal that ended it.
int RunInChild(const std::function<int()>& child);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_TEST_CACHE_H_
