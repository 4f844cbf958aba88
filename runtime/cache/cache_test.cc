#include "runtime/cache/cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/cache/test_cache.h"

namespace aitune {
namespace {

using testing::HasSubstr;

class CacheTest : public testing::Test {
 protected:
  std::unique_ptr<Cache> Open(int64_t max_bytes = 1 << 30) {
    CacheLimits limits;
    limits.max_bytes = max_bytes;
    limits.lock_timeout = std::chrono::milliseconds(50);
    return OpenCache(folder_, limits);
  }
  // Says that an entry was used last so many seconds from now.
  void SetLastUse(int number, int64_t seconds) {
    std::filesystem::last_write_time(
        TestEntryPath(folder_, number) / "manifest",
        std::filesystem::file_time_type::clock::now() +
            std::chrono::seconds(seconds));
  }
  static std::vector<int> Present(Cache& cache, int count) {
    std::vector<int> present;
    for (int i = 0; i < count; ++i) {
      for (const CacheListing& listing : cache.List()) {
        if (listing.key == TestKey(i)) present.push_back(i);
      }
    }
    return present;
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path() / "a" / "cache";
};

TEST_F(CacheTest, WhatIsStoredIsFound) {
  const std::unique_ptr<Cache> cache = Open();
  EXPECT_FALSE(FindTestEntry(*cache, 1));
  ASSERT_TRUE(StoreTestEntry(*cache, 1).ok());
  EXPECT_TRUE(FindTestEntry(*cache, 1));
  EXPECT_FALSE(FindTestEntry(*cache, 2));
}

TEST_F(CacheTest, IsKnownWithoutBeingOpened) {
  EXPECT_FALSE(Cache::IsIn(folder_));
  EXPECT_FALSE(Cache::IsIn(temporary_.path()));
  EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
  (void)Open();
  EXPECT_TRUE(Cache::IsIn(folder_));
  ASSERT_TRUE(StoreTestEntry(*Open(), 1).ok());
  EXPECT_TRUE(Cache::IsIn(folder_));
}

TEST_F(CacheTest, AnotherObjectFindsIt) {
  ASSERT_TRUE(StoreTestEntry(*Open(), 1).ok());
  EXPECT_TRUE(FindTestEntry(*Open(), 1));
}

TEST_F(CacheTest, AnotherProcessFindsIt) {
  ASSERT_EQ(RunInChild([&] { return StoreTestEntry(*Open(), 1).ok() ? 0 : 1; }),
            0);
  EXPECT_TRUE(FindTestEntry(*Open(), 1));
}

TEST_F(CacheTest, WhatIsHeldCanBeReadWhateverBecomesOfIt) {
  std::unique_ptr<Cache> cache = Open();
  EXPECT_EQ(cache->Hold(TestKey(1)).status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(StoreTestEntry(*cache, 1).ok());
  auto held = cache->Hold(TestKey(1));
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(cache->List().size(), 1u);
  // A child holds it on its own, and the parent again beside it.
  EXPECT_EQ(RunInChild([&] {
              {
                auto own = cache->Hold(TestKey(1));
                if (!own.ok() || !(*own)->Read().entry) return 1;
              }
              cache = nullptr;
              return 0;
            }),
            0);
  EXPECT_TRUE(cache->Hold(TestKey(1)).ok());
  ASSERT_TRUE(Open()->Prune(0).ok());  // another process does so
  EXPECT_FALSE(FindTestEntry(*cache, 1));
  EXPECT_EQ((*held)->Read().entry->blobs, TestContent(1));
  // Replaced, what is held is still what it was.
  ASSERT_TRUE(cache->Store(TestKey(1), {{"plan", "another"}}).ok());
  EXPECT_EQ((*held)->Read().entry->blobs, TestContent(1));
  cache = nullptr;
  EXPECT_EQ((*held)->Read().entry->blobs, TestContent(1));
  // A child that ends does not take it from its parent.
  EXPECT_EQ(RunInChild([&] {
              *held = nullptr;
              return 0;
            }),
            0);
  EXPECT_EQ((*held)->Read().entry->blobs, TestContent(1));
  *held = nullptr;
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "staging"));
}

TEST_F(CacheTest, EmptyBlobsAndNoBlobs) {
  const std::unique_ptr<Cache> cache = Open();
  ASSERT_TRUE(cache->Store(TestKey(1), {}).ok());
  ASSERT_TRUE(cache->Find(TestKey(1)).entry.has_value());
  EXPECT_TRUE(cache->Find(TestKey(1)).entry->blobs.empty());
  ASSERT_TRUE(cache->Store(TestKey(2), {{"empty", ""}}).ok());
  EXPECT_EQ(cache->Find(TestKey(2)).entry->blobs.at("empty"), "");
}

TEST_F(CacheTest, NamesOfBlobsAreAnyText) {
  const std::unique_ptr<Cache> cache = Open();
  const std::string name = "../../\xff\n";
  ASSERT_TRUE(cache->Store(TestKey(1), {{name, "x"}}).ok());
  EXPECT_EQ(cache->Find(TestKey(1)).entry->blobs.at(name), "x");
}

TEST_F(CacheTest, NamesOfBlobsMustBeThereAndDiffer) {
  const std::unique_ptr<Cache> cache = Open();
  EXPECT_EQ(cache->Store(TestKey(1), {{"", "x"}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(cache->Store(TestKey(1), {{"a", "x"}, {"a", "x"}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(cache->List().empty());
}

TEST_F(CacheTest, AnEntryThatIsThereStays) {
  const std::unique_ptr<Cache> cache = Open();
  ASSERT_TRUE(cache->Store(TestKey(1), {{"a", "first"}}).ok());
  ASSERT_TRUE(cache->Store(TestKey(1), {{"a", "second"}}).ok());
  EXPECT_EQ(cache->Find(TestKey(1)).entry->blobs.at("a"), "first");
}

TEST_F(CacheTest, AWrongEntryIsReplaced) {
  const std::unique_ptr<Cache> cache = Open();
  const auto replace = [&](const char* bytes) {
    return cache->Store(TestKey(1), {{"a", bytes}}, "", IfThere::kReplace);
  };
  ASSERT_TRUE(replace("first").ok());
  EXPECT_EQ(cache->Find(TestKey(1)).entry->blobs.at("a"), "first");
  ASSERT_TRUE(replace("second").ok());
  EXPECT_EQ(cache->Find(TestKey(1)).entry->blobs.at("a"), "second");
  EXPECT_EQ(cache->List().size(), 1u);
}

TEST_F(CacheTest, List) {
  const std::unique_ptr<Cache> cache = Open();
  ASSERT_TRUE(StoreTestEntry(*cache, 7, 5000).ok());
  const std::vector<CacheListing> list = cache->List();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].key, TestKey(7));
  EXPECT_EQ(list[0].description, "test entry 7");
  EXPECT_GE(list[0].bytes, 5000);
  EXPECT_LT(list[0].bytes, 6000);
  EXPECT_LE(list[0].created, std::chrono::system_clock::now());
}

TEST_F(CacheTest, StatsCountHitsAndMissesWithReasons) {
  {
    const std::unique_ptr<Cache> cache = Open();
    FindTestEntry(*cache, 1);
    ASSERT_TRUE(StoreTestEntry(*cache, 1).ok());
    FindTestEntry(*cache, 1);
    FindTestEntry(*cache, 1);
    WriteWholeFile(TestEntryPath(folder_, 1) / "0", "x");
    FindTestEntry(*cache, 1);
    const CacheStats stats = cache->Stats();
    EXPECT_EQ(stats.process.hits, 2);
    EXPECT_EQ(stats.process.misses[static_cast<int>(MissReason::kAbsent)], 1);
    EXPECT_EQ(stats.process.misses[static_cast<int>(MissReason::kTruncated)],
              1);
    EXPECT_EQ(stats.process.total_misses(), 2);
    EXPECT_EQ(stats.process.stores, 1);
    EXPECT_EQ(stats.entries, 1);
    EXPECT_GT(stats.bytes, 0);
  }
  // Another process sees its own and everybody's.
  const std::unique_ptr<Cache> cache = Open();
  FindTestEntry(*cache, 2);
  const CacheStats stats = cache->Stats();
  EXPECT_EQ(stats.process.hits, 0);
  EXPECT_EQ(stats.process.total_misses(), 1);
  EXPECT_EQ(stats.folder.hits, 2);
  EXPECT_EQ(stats.folder.total_misses(), 3);
}

TEST_F(CacheTest, StatsThatMakeNoSenseStartAtZero) {
  Open();
  WriteWholeFile(folder_ / "stats", "hits: -3\nhits: x\n\xff\n: \nstores: 9");
  const std::unique_ptr<Cache> cache = Open();
  EXPECT_EQ(cache->Stats().folder.hits, 0);
  EXPECT_EQ(cache->Stats().folder.stores, 9);
  FindTestEntry(*cache, 1);
  EXPECT_EQ(Open()->Stats().folder.total_misses(), 1);
}

TEST_F(CacheTest, TheLeastRecentlyUsedGoFirst) {
  const std::unique_ptr<Cache> cache = Open(10000);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(StoreTestEntry(*cache, i, 3000).ok());
    SetLastUse(i, -100 + i);
  }
  ASSERT_TRUE(FindTestEntry(*cache, 0, 3000));
  ASSERT_TRUE(StoreTestEntry(*cache, 3, 3000).ok());
  EXPECT_EQ(Present(*cache, 4), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(cache->Stats().process.evictions, 1);
}

TEST_F(CacheTest, TheEntryJustStoredStays) {
  const std::unique_ptr<Cache> cache = Open(4000);
  ASSERT_TRUE(StoreTestEntry(*cache, 0, 3000).ok());
  SetLastUse(0, -100);
  ASSERT_TRUE(StoreTestEntry(*cache, 1, 3500).ok());
  EXPECT_EQ(Present(*cache, 2), (std::vector<int>{1}));
}

TEST_F(CacheTest, AnEntryLargerThanTheLimitIsRefusedAndRemovesNothing) {
  const std::unique_ptr<Cache> cache = Open(4000);
  ASSERT_TRUE(StoreTestEntry(*cache, 0, 3000).ok());
  const absl::Status status = StoreTestEntry(*cache, 1, 5000);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("Increase the cache's limit"));
  EXPECT_EQ(Present(*cache, 2), (std::vector<int>{0}));
}

TEST_F(CacheTest, Prune) {
  const std::unique_ptr<Cache> cache = Open();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(StoreTestEntry(*cache, i, 3000).ok());
    SetLastUse(i, -100 - i);
  }
  const absl::StatusOr<CachePruning> half = cache->Prune(7000);
  ASSERT_TRUE(half.ok()) << half.status();
  EXPECT_EQ(half->removed_entries, 2);
  EXPECT_EQ(half->kept_entries, 2);
  EXPECT_LE(half->kept_bytes, 7000);
  EXPECT_EQ(Present(*cache, 4), (std::vector<int>{0, 1}));
  EXPECT_EQ(cache->Prune(0)->removed_entries, 2);
  EXPECT_TRUE(cache->List().empty());
  const absl::Status negative = cache->Prune(-1).status();
  EXPECT_EQ(negative.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(negative.message(),
            "the cache can't be pruned to -1 bytes; give 0 to remove all "
            "entries");
}

// A machine whose clock was ahead stored something: that must not stay for
// ever, nor go first.
TEST_F(CacheTest, ClockSkew) {
  const std::unique_ptr<Cache> cache = Open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(StoreTestEntry(*cache, i, 3000).ok());
  SetLastUse(0, 400LL * 24 * 3600);
  SetLastUse(1, -100);
  SetLastUse(2, -50LL * 365 * 24 * 3600);
  EXPECT_TRUE(FindTestEntry(*cache, 1, 3000));
  SetLastUse(1, -100);
  ASSERT_TRUE(cache->Prune(7000).ok());
  EXPECT_EQ(Present(*cache, 3), (std::vector<int>{0, 1}));
  // Its time is now that of the first pruning.
  SetLastUse(1, 0);
  for (const CacheListing& listing : cache->List())
    EXPECT_LE(listing.last_used, std::chrono::system_clock::now());
  ASSERT_TRUE(cache->Prune(4000).ok());
  EXPECT_EQ(Present(*cache, 3), (std::vector<int>{1}));
}

TEST_F(CacheTest, LimitsMustNotBeNegative) {
  CacheLimits limits;
  limits.max_bytes = -1;
  const absl::Status status = Cache::Open(folder_, limits).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the limits of the cache are -1 bytes and 10000 ms; "
                        "they must be at least 0"));
}

TEST_F(CacheTest, AFolderForEverybodyOrAGroupIsRefused) {
  ASSERT_TRUE(StoreTestEntry(*Open(), 1).ok());
  for (const auto& folder : {folder_, folder_ / "entries"}) {
    for (const auto& [mode, whom] :
         {std::pair(0777, "everybody"), std::pair(0770, "its group")}) {
      ASSERT_EQ(chmod(folder.c_str(), mode), 0);
      const absl::Status status = Cache::Open(folder_).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
      EXPECT_THAT(std::string(status.message()),
                  testing::AllOf(HasSubstr(folder.string() + " can be"),
                                 HasSubstr(whom), HasSubstr("chmod -R go-w")));
    }
    ASSERT_EQ(chmod(folder.c_str(), 0700), 0);
  }
  EXPECT_TRUE(FindTestEntry(*Open(), 1));
}

TEST_F(CacheTest, LinksInThePlaceOfFoldersAreRefused) {
  ASSERT_TRUE(StoreTestEntry(*Open(), 1).ok());
  const std::filesystem::path link = folder_.string() + "-link";
  std::filesystem::create_directory_symlink(folder_, link);
  const absl::Status status = Cache::Open(link).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is a link"));
  std::filesystem::rename(folder_ / "entries", folder_ / "elsewhere");
  std::filesystem::create_directory_symlink(folder_ / "elsewhere",
                                            folder_ / "entries");
  EXPECT_THAT(std::string(Cache::Open(folder_).status().message()),
              HasSubstr("entries is a link"));
}

// Whoever can write to a file of the cache could have put code into it after
// the folder was opened.
TEST_F(CacheTest, WhatOthersCanWriteIsAMiss) {
  const std::unique_ptr<Cache> cache = Open();
  ASSERT_TRUE(StoreTestEntry(*cache, 1).ok());
  const std::filesystem::path entry = TestEntryPath(folder_, 1);
  for (const auto& path : {entry, entry / "manifest", entry / "1"}) {
    const mode_t mode = path == entry ? 0700 : 0600;
    ASSERT_EQ(chmod(path.c_str(), mode | 0020), 0);
    const CacheLookup lookup = cache->Find(TestKey(1));
    EXPECT_FALSE(lookup.entry.has_value()) << path;
    EXPECT_EQ(lookup.reason, MissReason::kUnreadable);
    EXPECT_THAT(lookup.detail,
                testing::AllOf(HasSubstr(entry.string()), HasSubstr("group")));
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(FindTestEntry(*cache, 1));
  }
}

TEST_F(CacheTest, WhatBelongsToAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::unique_ptr<Cache> cache = Open();
  ASSERT_TRUE(StoreTestEntry(*cache, 1).ok());
  constexpr uid_t kNobody = 65534;
  const std::filesystem::path file = TestEntryPath(folder_, 1) / "0";
  ASSERT_EQ(chown(file.c_str(), kNobody, 0), 0);
  const CacheLookup lookup = cache->Find(TestKey(1));
  EXPECT_FALSE(lookup.entry.has_value());
  EXPECT_THAT(lookup.detail, HasSubstr("belongs to the user 65534"));
  ASSERT_EQ(chown(folder_.c_str(), kNobody, 0), 0);
  const absl::Status status = Cache::Open(folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr(folder_.string()), HasSubstr("chown")));
}

TEST_F(CacheTest, ThreadsShareAnObject) {
  const std::unique_ptr<Cache> cache = Open(20000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 30; ++j) {
        const int number = (i + j) % 8;
        if (!FindTestEntry(*cache, number)) {
          const absl::Status status = StoreTestEntry(*cache, number);
          EXPECT_TRUE(status.ok()) << status;
        }
        if (j == 20) (void)cache->Prune(5000);
        if (j % 10 == 0) (void)cache->Stats();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(cache->Verify(false).damaged.empty());
  EXPECT_LE(cache->Stats().bytes, 20000);
}

}  // namespace
}  // namespace aitune
