#include "runtime/cache/cache_counters.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/cache/posix_file.h"

namespace aitune {
namespace {

// Every count with its name in the file.
std::vector<std::pair<std::string, int64_t*>> Fields(CacheCounts* counts) {
  std::vector<std::pair<std::string, int64_t*>> fields = {
      {"hits", &counts->hits},
      {"stores", &counts->stores},
      {"failed stores", &counts->failed_stores},
      {"evictions", &counts->evictions}};
  for (int i = 0; i < kMissReasons; ++i)
    fields.emplace_back(
        absl::StrCat("misses, ", std::string(Name(static_cast<MissReason>(i)))),
        &counts->misses[i]);
  return fields;
}

void Add(CacheCounts more, CacheCounts* counts) {
  auto from = Fields(&more);
  auto to = Fields(counts);
  for (size_t i = 0; i < to.size(); ++i) *to[i].second += *from[i].second;
}

CacheCounts Read(const ScopedFd& fd) {
  std::array<char, 4096> buffer;
  const ssize_t size = pread(fd.get(), buffer.data(), buffer.size(), 0);
  CacheCounts counts;
  if (size <= 0) return counts;
  auto fields = Fields(&counts);
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(buffer.data(), size), '\n')) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    int64_t value = 0;
    if (!absl::SimpleAtoi(parts.second, &value) || value < 0) continue;
    for (auto& [name, field] : fields) {
      if (name == parts.first) *field = value;
    }
  }
  return counts;
}

}  // namespace

CacheCounters::CacheCounters(std::filesystem::path path)
    : path_(std::move(path)) {}

CacheCounters::~CacheCounters() {
  std::lock_guard<std::mutex> lock(mutex_);
  Flush();
}

template <typename F>
void CacheCounters::Change(F change) {
  std::lock_guard<std::mutex> lock(mutex_);
  change(&process_);
  change(&pending_);
  Flush();
}

void CacheCounters::AddHit() {
  Change([](CacheCounts* counts) { ++counts->hits; });
}

void CacheCounters::AddMiss(MissReason reason) {
  Change([reason](CacheCounts* counts) {
    ++counts->misses[static_cast<int>(reason)];
  });
}

void CacheCounters::AddStore(bool ok) {
  Change([ok](CacheCounts* counts) {
    ++(ok ? counts->stores : counts->failed_stores);
  });
}

void CacheCounters::AddEvictions(int64_t count) {
  Change([count](CacheCounts* counts) { counts->evictions += count; });
}

CacheCounts CacheCounters::process() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return process_;
}

CacheCounts CacheCounters::folder() const {
  std::lock_guard<std::mutex> lock(mutex_);
  CacheCounts counts;
  const ScopedFd fd(
      open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd.valid()) counts = Read(fd);
  Add(pending_, &counts);
  return counts;
}

void CacheCounters::Flush() {
  const ScopedFd fd(open(path_.c_str(),
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                         0600));
  if (!fd.valid() || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
  CacheCounts counts = Read(fd);
  Add(pending_, &counts);
  std::string text;
  for (const auto& [name, field] : Fields(&counts))
    absl::StrAppend(&text, name, ": ", *field, "\n");
  // Never shorter than before, so there is nothing to cut off.
  if (pwrite(fd.get(), text.data(), text.size(), 0) ==
      static_cast<ssize_t>(text.size()))
    pending_ = CacheCounts();
}

}  // namespace aitune
