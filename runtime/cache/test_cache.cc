#include "runtime/cache/test_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

namespace aitune {
namespace {

[[noreturn]] void Die(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = "/tmp/aitune-cache-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) Die("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

CacheKey TestKey(int number) {
  CacheKeyParts parts;
  parts.graph = std::to_string(number);
  return CacheKey::Of(parts);
}

std::map<std::string, std::string, std::less<>> TestContent(int number,
                                                            int64_t bytes) {
  std::mt19937 random(number);
  std::string text = "entry " + std::to_string(number) + " ";
  while (static_cast<int64_t>(text.size()) < bytes)
    text.push_back(static_cast<char>(random()));
  const int64_t split = static_cast<int64_t>(text.size()) / 3;
  return {{"plan", text.substr(0, split)}, {"code", text.substr(split)}};
}

absl::Status StoreTestEntry(Cache& cache, int number, int64_t bytes) {
  const auto content = TestContent(number, bytes);
  std::vector<CacheBlob> blobs;
  for (const auto& [name, text] : content) blobs.push_back({name, text});
  return cache.Store(TestKey(number), blobs,
                     "test entry " + std::to_string(number));
}

bool FindTestEntry(Cache& cache, int number, int64_t bytes) {
  const CacheLookup lookup = cache.Find(TestKey(number));
  if (!lookup.entry.has_value()) return false;
  if (lookup.entry->blobs != TestContent(number, bytes))
    Die("a hit with the wrong content for " + std::to_string(number));
  return true;
}

std::unique_ptr<Cache> OpenCache(const std::filesystem::path& folder,
                                 const CacheLimits& limits) {
  absl::StatusOr<std::unique_ptr<Cache>> cache = Cache::Open(folder, limits);
  if (!cache.ok()) Die(cache.status().ToString());
  return *std::move(cache);
}

std::filesystem::path TestEntryPath(const std::filesystem::path& folder,
                                    int number) {
  const std::string hex = TestKey(number).hex();
  return folder / "entries" / hex.substr(0, 2) / hex;
}

std::string ReadWholeFile(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void WriteWholeFile(const std::filesystem::path& path,
                    const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (!file) Die("can't write " + path.string());
}

int RunInChild(const std::function<int()>& child) {
  const pid_t pid = fork();
  if (pid == 0) _exit(child());
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) Die("no child process");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace aitune
