// What the system does to a cache: full disks, folders without rights, locks
// that stay taken, processes that die.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/cache/cache.h"
#include "runtime/cache/test_cache.h"

namespace aitune {
namespace {

using testing::HasSubstr;

// EXPECT does not reach out of a child process; this prints and returns a code.
int Check(bool ok, const std::string& what) {
  if (ok) return 0;
  fprintf(stderr, "child: %s\n", what.c_str());
  return 1;
}

std::vector<std::string> Names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename());
  }
  return names;
}

class CacheSystemTest : public testing::Test {
 protected:
  CacheSystemTest() { EXPECT_TRUE(StoreTestEntry(*Open(), 1).ok()); }
  std::unique_ptr<Cache> Open() {
    CacheLimits limits;
    limits.lock_timeout = std::chrono::milliseconds(20);
    return OpenCache(folder_, limits);
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path() / "cache";
};

TEST_F(CacheSystemTest, WritingThatFails) {
  // A limit on the size of files fails writes as a full disk does.
  EXPECT_EQ(RunInChild([&] {
              signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{2000, 2000};
              setrlimit(RLIMIT_FSIZE, &limit);
              const std::unique_ptr<Cache> cache = Open();
              const absl::Status status = StoreTestEntry(*cache, 2, 100000);
              return Check(absl::IsResourceExhausted(status),
                           status.ToString()) +
                     Check(FindTestEntry(*cache, 1), "lost 1") +
                     Check(!FindTestEntry(*cache, 2), "found 2");
            }),
            0);
  EXPECT_TRUE(Names(folder_ / "staging").empty());
  const std::unique_ptr<Cache> cache = Open();
  EXPECT_TRUE(FindTestEntry(*cache, 1));
  EXPECT_TRUE(StoreTestEntry(*cache, 2, 100000).ok());
  EXPECT_TRUE(FindTestEntry(*cache, 2, 100000));
  EXPECT_EQ(cache->Stats().folder.failed_stores, 1);
}

TEST_F(CacheSystemTest, FullDisk) {
  constexpr int kNoMount = 77;
  const int code = RunInChild([&] {
    if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", temporary_.path().c_str(), "tmpfs", 0,
              "size=200k,mode=700") != 0)
      return kNoMount;
    const std::unique_ptr<Cache> cache = Open();
    int stored = 0;
    absl::Status status;
    while (status.ok() && stored < 100)
      status = StoreTestEntry(*cache, stored++, 10000);
    int bad = Check(absl::IsResourceExhausted(status), status.ToString());
    for (int i = 0; i < stored - 1; ++i)
      bad += Check(FindTestEntry(*cache, i, 10000), "lost an entry");
    bad += Check(!FindTestEntry(*cache, stored - 1, 10000), "half an entry");
    bad += Check(cache->Verify(false).damaged.empty(), "damage");
    // Removing works on a full disk, and makes room.
    bad += Check(cache->Prune(50000).ok(), "prune");
    bad += Check(StoreTestEntry(*cache, 200, 10000).ok(), "store after prune");
    return bad == 0 ? 0 : 1;
  });
  if (code == kNoMount) GTEST_SKIP() << "this user may not mount a tmpfs";
  EXPECT_EQ(code, 0);
}

TEST_F(CacheSystemTest, AFolderThatCanOnlyBeRead) {
  ASSERT_EQ(chmod(temporary_.path().c_str(), 0755), 0);
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder_))
    ASSERT_EQ(chmod(entry.path().c_str(), entry.is_directory() ? 0555 : 0444),
              0);
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  EXPECT_EQ(
      RunInChild([&] {
        // Root may write everywhere.
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 1;
        const std::unique_ptr<Cache> cache = Open();
        const absl::Status status = StoreTestEntry(*cache, 2);
        return Check(FindTestEntry(*cache, 1), "1 is not found") +
               Check(absl::IsPermissionDenied(status), status.ToString()) +
               Check(StoreTestEntry(*cache, 1).ok(), "1 is there already") +
               Check(!cache->Prune(0).ok(), "pruned") +
               Check(cache->Verify(true).intact == 1, "verify") +
               Check(cache->Stats().process.hits == 1, "hits") +
               Check(FindTestEntry(*cache, 1), "1 is lost");
      }),
      0);
  EXPECT_EQ(chmod(folder_.c_str(), 0755), 0);
}

TEST_F(CacheSystemTest, AFolderThatCannotBeMade) {
  WriteWholeFile(temporary_.path() / "file", "x");
  const absl::Status status =
      Cache::Open(temporary_.path() / "file" / "cache").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("file"));
  EXPECT_FALSE(Cache::Open(temporary_.path() / "file").ok());
}

TEST_F(CacheSystemTest, AFolderThatIsRemovedWhileItIsOpen) {
  const std::unique_ptr<Cache> cache = Open();
  std::filesystem::remove_all(folder_);
  EXPECT_FALSE(FindTestEntry(*cache, 1));
  EXPECT_TRUE(cache->List().empty());
  EXPECT_TRUE(StoreTestEntry(*cache, 1).ok());
  EXPECT_TRUE(FindTestEntry(*cache, 1));
}

TEST_F(CacheSystemTest, ALockThatStaysTakenIsAnErrorNotAHang) {
  const std::unique_ptr<Cache> cache = Open();
  const int fd = open((folder_ / "lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  const absl::Status status = cache->Prune(0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("lock"));
  // Finding and storing need no lock, nor does opening.
  EXPECT_TRUE(FindTestEntry(*Open(), 1));
  EXPECT_TRUE(StoreTestEntry(*cache, 2).ok());
  // Replacing does.
  WriteWholeFile(TestEntryPath(folder_, 1) / "0", "x");
  EXPECT_EQ(StoreTestEntry(*cache, 1).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Names(folder_ / "staging").size(), 0u);
  EXPECT_FALSE(cache->Verify(true).damaged.at(0).removed);
  close(fd);
  EXPECT_TRUE(StoreTestEntry(*cache, 1).ok());
  EXPECT_TRUE(FindTestEntry(*cache, 1));
}

TEST_F(CacheSystemTest, AKilledProcessLeavesNothingForLong) {
  // Killed with a staged directory: as Store does, it holds the lock beside it.
  ASSERT_EQ(RunInChild([&] {
              const auto staged = folder_ / "staging" / "1-abc";
              std::filesystem::create_directories(staged);
              const int fd = open((folder_ / "staging" / "1-abc.lock").c_str(),
                                  O_RDWR | O_CREAT, 0600);
              flock(fd, LOCK_EX);
              WriteWholeFile(staged / "0", "half");
              raise(SIGKILL);
              return 0;
            }),
            -SIGKILL);
  EXPECT_EQ(Names(folder_ / "staging").size(), 2u);
  const std::unique_ptr<Cache> cache = Open();
  EXPECT_TRUE(Names(folder_ / "staging").empty());
  EXPECT_TRUE(FindTestEntry(*cache, 1));
}

TEST_F(CacheSystemTest, WhatAKilledProcessHeldIsSwept) {
  ASSERT_EQ(RunInChild([&] {
              const std::unique_ptr<Cache> cache = Open();
              const auto held = cache->Hold(TestKey(1));
              if (!held.ok()) return Check(false, held.status().ToString());
              raise(SIGKILL);
              return 0;
            }),
            -SIGKILL);
  EXPECT_EQ(Names(folder_ / "staging").size(), 2u);
  const std::unique_ptr<Cache> cache = Open();
  EXPECT_TRUE(Names(folder_ / "staging").empty());
  EXPECT_TRUE(FindTestEntry(*cache, 1));
}

TEST_F(CacheSystemTest, WhatIsStagedByALivingProcessStays) {
  const auto staging = folder_ / "staging";
  std::filesystem::create_directories(staging / "1-abc");
  const int fd = open((staging / "1-abc.lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  EXPECT_TRUE(Open()->Prune(0).ok());
  EXPECT_EQ(Names(staging).size(), 2u);
  close(fd);
  Open();
  EXPECT_TRUE(Names(staging).empty());
}

TEST_F(CacheSystemTest, OrphansAndTrashAreSwept) {
  std::filesystem::create_directories(folder_ / "staging" / "5-x" / "deep");
  WriteWholeFile(folder_ / "staging" / "6-x.lock", "");
  std::filesystem::create_directories(folder_ / "trash" / "abc");
  Open();
  EXPECT_TRUE(Names(folder_ / "staging").empty());
  EXPECT_TRUE(Names(folder_ / "trash").empty());
}

}  // namespace
}  // namespace aitune
