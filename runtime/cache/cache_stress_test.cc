// Many processes on one folder, killed at random: no wrong content, no entry
// that was committed is lost, nobody hangs.
//
// AITUNE_STRESS_KILLS sets how many processes are killed (default 24, a few
// seconds); 2000 take some minutes.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/cache/cache.h"
#include "runtime/cache/test_cache.h"

namespace aitune {
namespace {

constexpr int kProcesses = 16;
constexpr int kNumbers = 200;
constexpr int kStoresPerKill = 4;
constexpr int kWrong = 3;  // exit code

int Kills() {
  const char* text = std::getenv("AITUNE_STRESS_KILLS");
  return text == nullptr ? 24 : std::atoi(text);
}

// The size is part of what makes the content of a number.
int64_t Size(int number) { return 500 + 977 * (number % 30); }

// Works until it is killed; reports each number that Store said OK for.
[[noreturn]] void Work(const std::filesystem::path& folder, int64_t max_bytes,
                       bool damage, unsigned seed, int report) {
  std::mt19937 random(seed);
  CacheLimits limits;
  limits.max_bytes = max_bytes;
  const std::unique_ptr<Cache> cache = OpenCache(folder, limits);
  while (true) {
    const int number = static_cast<int>(random() % kNumbers);
    if (FindTestEntry(*cache, number, Size(number))) {  // aborts if wrong
      if (damage && random() % 20 == 0) {
        std::error_code error;
        std::filesystem::resize_file(TestEntryPath(folder, number) / "0", 3,
                                     error);
      }
      continue;
    }
    const absl::Status status = StoreTestEntry(*cache, number, Size(number));
    if (!status.ok() && !absl::IsUnavailable(status)) {
      fprintf(stderr, "%s\n", status.ToString().c_str());
      _exit(kWrong);
    }
    const char byte = static_cast<char>(number);
    if (status.ok() && write(report, &byte, 1) != 1) _exit(kWrong);
    if (random() % 50 == 0 && max_bytes < (1 << 20))
      (void)cache->Prune(max_bytes / 2);
  }
}

class Workers {
 public:
  Workers(std::filesystem::path folder, int64_t max_bytes, bool damage)
      : folder_(std::move(folder)), max_bytes_(max_bytes), damage_(damage) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) std::abort();
    read_ = fds[0];
    write_ = fds[1];
    for (int i = 0; i < kProcesses; ++i) processes_.push_back(Start());
  }
  ~Workers() {
    for (pid_t pid : processes_) Kill(pid);
    close(read_);
    close(write_);
  }

  void KillOne() {
    pid_t& pid = processes_[random_() % processes_.size()];
    Kill(pid);
    pid = Start();
  }
  // Waits for `count` reports. False when none comes for a minute: a hang.
  bool Wait(int count, std::set<int>* committed) {
    for (int i = 0; i < count; ++i) {
      pollfd poll_fd{read_, POLLIN, 0};
      unsigned char number;
      if (poll(&poll_fd, 1, 60000) != 1 || read(read_, &number, 1) != 1)
        return false;
      committed->insert(number);
    }
    return true;
  }
  // Reports that are left when nobody works any more.
  void Finish(std::set<int>* committed) {
    for (pid_t pid : processes_) Kill(pid);
    processes_.clear();
    fcntl(read_, F_SETFL, O_NONBLOCK);
    unsigned char number;
    while (read(read_, &number, 1) == 1) committed->insert(number);
  }
  int wrong() const { return wrong_; }

 private:
  pid_t Start() {
    const unsigned seed = random_();
    const pid_t pid = fork();
    if (pid == 0) Work(folder_, max_bytes_, damage_, seed, write_);
    return pid;
  }
  void Kill(pid_t pid) {
    kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    // It ended before: an abort for a wrong content, or an error.
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) ++wrong_;
  }

  const std::filesystem::path folder_;
  const int64_t max_bytes_;
  const bool damage_;
  std::mt19937 random_{7};
  int read_ = -1, write_ = -1;
  int wrong_ = 0;
  std::vector<pid_t> processes_;
};

TEST(CacheStressTest, NothingCommittedIsLost) {
  int kills = Kills();
  // Rounds, so that there is always something left to store.
  while (kills > 0) {
    const TemporaryFolder folder;
    std::set<int> committed;
    Workers workers(folder.path() / "cache", int64_t{1} << 30,
                    /*damage=*/false);
    for (int i = 0; i < 15 && kills > 0; ++i, --kills) {
      ASSERT_TRUE(workers.Wait(kStoresPerKill, &committed)) << "a hang";
      workers.KillOne();
    }
    workers.Finish(&committed);
    EXPECT_EQ(workers.wrong(), 0);
    const std::unique_ptr<Cache> cache = OpenCache(folder.path() / "cache");
    for (int number : committed)
      EXPECT_TRUE(FindTestEntry(*cache, number, Size(number))) << number;
    EXPECT_TRUE(cache->Verify(false).damaged.empty());
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "cache" / "trash"));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "cache" / "staging"));
  }
}

TEST(CacheStressTest, EvictionAndDamageGiveNoWrongContent) {
  const TemporaryFolder folder;
  std::set<int> committed;
  Workers workers(folder.path() / "cache", 300000, /*damage=*/true);
  for (int i = 0; i < Kills(); ++i) {
    ASSERT_TRUE(workers.Wait(kStoresPerKill, &committed)) << "a hang";
    workers.KillOne();
  }
  workers.Finish(&committed);
  EXPECT_EQ(workers.wrong(), 0);
  const std::unique_ptr<Cache> cache = OpenCache(folder.path() / "cache");
  (void)cache->Verify(true);
  EXPECT_TRUE(cache->Verify(false).damaged.empty());
  for (int number = 0; number < kNumbers; ++number) {
    ASSERT_TRUE(StoreTestEntry(*cache, number, Size(number)).ok());
    EXPECT_TRUE(FindTestEntry(*cache, number, Size(number)));
  }
}

}  // namespace
}  // namespace aitune
