// Entries that are damaged in every way there is: no crash, no wrong answer,
// and the next Store repairs them.
#include <sys/stat.h>

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/cache/cache.h"
#include "runtime/cache/test_cache.h"

namespace aitune {
namespace {

using testing::HasSubstr;

class CacheDamageTest : public testing::Test {
 protected:
  CacheDamageTest() {
    EXPECT_TRUE(StoreTestEntry(*cache_, 1).ok());
    EXPECT_TRUE(StoreTestEntry(*cache_, 2).ok());
  }

  void ExpectMiss(MissReason reason, const std::string& detail) {
    const CacheLookup lookup = cache_->Find(TestKey(1));
    ASSERT_FALSE(lookup.entry.has_value());
    EXPECT_EQ(Name(lookup.reason), Name(reason)) << lookup.detail;
    EXPECT_THAT(lookup.detail, HasSubstr(detail));
    EXPECT_TRUE(FindTestEntry(*cache_, 2));
  }
  void ExpectRepair() {
    EXPECT_TRUE(StoreTestEntry(*cache_, 1).ok());
    EXPECT_TRUE(FindTestEntry(*cache_, 1));
  }

  const TemporaryFolder folder_;
  const std::unique_ptr<Cache> cache_ = OpenCache(folder_.path());
  const std::filesystem::path entry_ = TestEntryPath(folder_.path(), 1);
};

TEST_F(CacheDamageTest, TruncatedBlob) {
  std::filesystem::resize_file(entry_ / "1", 10);
  ExpectMiss(MissReason::kTruncated, "has 10 bytes instead of 1000");
  ExpectRepair();
}

TEST_F(CacheDamageTest, LongerBlob) {
  WriteWholeFile(entry_ / "1", ReadWholeFile(entry_ / "1") + "x");
  ExpectMiss(MissReason::kTruncated, "has 1001 bytes instead of 1000");
  ExpectRepair();
}

TEST_F(CacheDamageTest, FlippedBitInABlob) {
  std::string bytes = ReadWholeFile(entry_ / "0");
  bytes[100] ^= 4;
  WriteWholeFile(entry_ / "0", bytes);
  ExpectMiss(MissReason::kDamagedBlob, "checksum");
  ExpectRepair();
}

TEST_F(CacheDamageTest, FlippedBitInTheManifest) {
  std::string bytes = ReadWholeFile(entry_ / "manifest");
  bytes.back() ^= 1;
  WriteWholeFile(entry_ / "manifest", bytes);
  ExpectMiss(MissReason::kDamagedManifest, "checksum");
  ExpectRepair();
}

TEST_F(CacheDamageTest, EmptyManifest) {
  WriteWholeFile(entry_ / "manifest", "");
  ExpectMiss(MissReason::kDamagedManifest, "does not begin");
  ExpectRepair();
}

TEST_F(CacheDamageTest, ManifestOfAnotherVersion) {
  std::string bytes = ReadWholeFile(entry_ / "manifest");
  const size_t digit = bytes.find("001");
  ASSERT_NE(digit, std::string::npos);
  bytes[digit + 2] = '2';
  WriteWholeFile(entry_ / "manifest", bytes);
  ExpectMiss(MissReason::kOtherVersion, "version");
  ExpectRepair();
}

TEST_F(CacheDamageTest, MissingFiles) {
  std::filesystem::remove(entry_ / "0");
  ExpectMiss(MissReason::kUnreadable, "can't open 0");
  ExpectRepair();
  std::filesystem::remove(entry_ / "manifest");
  ExpectMiss(MissReason::kUnreadable, "can't open manifest");
  ExpectRepair();
}

TEST_F(CacheDamageTest, AnotherEntryUnderThisName) {
  std::filesystem::remove_all(entry_);
  std::filesystem::copy(TestEntryPath(folder_.path(), 2), entry_);
  ExpectMiss(MissReason::kOtherKey, TestKey(2).hex());
  ExpectRepair();
}

TEST_F(CacheDamageTest, BlobsOfAnotherEntry) {
  std::filesystem::copy(TestEntryPath(folder_.path(), 2) / "1", entry_ / "1",
                        std::filesystem::copy_options::overwrite_existing);
  ExpectMiss(MissReason::kDamagedBlob, "checksum");
  ExpectRepair();
}

// Opening a pipe could wait for ever.
TEST_F(CacheDamageTest, PipesLinksAndFoldersInThePlaceOfFiles) {
  for (const char* name : {"manifest", "0"}) {
    std::filesystem::remove(entry_ / name);
    ASSERT_EQ(mkfifo((entry_ / name).c_str(), 0600), 0);
    ExpectMiss(MissReason::kUnreadable, "not a regular file");
    ExpectRepair();
    std::filesystem::rename(entry_ / name, folder_.path() / "elsewhere");
    std::filesystem::create_symlink(folder_.path() / "elsewhere",
                                    entry_ / name);
    ExpectMiss(MissReason::kUnreadable, "can't open");
    ExpectRepair();
    std::filesystem::remove(entry_ / name);
    std::filesystem::create_directory(entry_ / name);
    ExpectMiss(MissReason::kUnreadable, "not a regular file");
    ExpectRepair();
  }
}

TEST_F(CacheDamageTest, AFileInThePlaceOfTheEntry) {
  std::filesystem::remove_all(entry_);
  WriteWholeFile(entry_, "x");
  ExpectMiss(MissReason::kUnreadable, "can't open");
  ExpectRepair();
}

TEST_F(CacheDamageTest, AnEmptyEntry) {
  std::filesystem::remove_all(entry_);
  std::filesystem::create_directory(entry_);
  ExpectMiss(MissReason::kUnreadable, "can't open manifest");
  ExpectRepair();
}

TEST_F(CacheDamageTest, VerifyFindsAndRemovesDamage) {
  WriteWholeFile(entry_ / "0", "x");
  CacheVerification result = cache_->Verify(false);
  EXPECT_EQ(result.intact, 1);
  ASSERT_EQ(result.damaged.size(), 1u);
  EXPECT_EQ(result.damaged[0].key, TestKey(1));
  EXPECT_EQ(result.damaged[0].reason, MissReason::kTruncated);
  EXPECT_FALSE(result.damaged[0].removed);
  EXPECT_EQ(cache_->List().size(), 2u);

  result = cache_->Verify(true);
  ASSERT_EQ(result.damaged.size(), 1u);
  EXPECT_TRUE(result.damaged[0].removed);
  EXPECT_EQ(cache_->List().size(), 1u);
  EXPECT_TRUE(cache_->Verify(true).damaged.empty());
}

TEST_F(CacheDamageTest, ListShowsWhatCannotBeRead) {
  WriteWholeFile(entry_ / "manifest", "x");
  int empty = 0;
  for (const CacheListing& listing : cache_->List())
    empty += listing.description.empty();
  EXPECT_EQ(empty, 1);
  EXPECT_EQ(cache_->List().size(), 2u);
}

TEST_F(CacheDamageTest, NamesThatAreNoEntriesAreLeftAlone) {
  std::filesystem::create_directory(folder_.path() / "entries" / "zz");
  WriteWholeFile(folder_.path() / "entries" / "notes.txt", "mine");
  WriteWholeFile(entry_.parent_path() / "notes.txt", "mine");
  EXPECT_EQ(cache_->List().size(), 2u);
  ASSERT_TRUE(cache_->Prune(0).ok());
  EXPECT_TRUE(cache_->Verify(true).damaged.empty());
  EXPECT_EQ(ReadWholeFile(folder_.path() / "entries" / "notes.txt"), "mine");
  EXPECT_EQ(ReadWholeFile(entry_.parent_path() / "notes.txt"), "mine");
}

// Damages one file at random. What is found afterwards is the content or
// nothing; FindTestEntry ends the process otherwise.
TEST_F(CacheDamageTest, Fuzz) {
  std::mt19937 random(1);
  int misses = 0;
  for (int round = 0; round < 600; ++round) {
    const char* names[] = {"manifest", "0", "1"};
    const std::filesystem::path file = entry_ / names[random() % 3];
    std::string bytes = ReadWholeFile(file);
    const std::string before = bytes;
    const size_t at = random() % bytes.size();
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        bytes.resize(at);
        break;
      case 2:
        bytes.insert(at, 1 + random() % 50, static_cast<char>(random()));
        break;
      case 3:
        bytes.erase(at, 1 + random() % 50);
        break;
      case 4:
        for (size_t i = at; i < bytes.size() && i < at + 200; ++i)
          bytes[i] = static_cast<char>(random());
        break;
    }
    WriteWholeFile(file, bytes);
    if (!FindTestEntry(*cache_, 1)) {
      ++misses;
      ASSERT_TRUE(StoreTestEntry(*cache_, 1).ok()) << round;
    } else {
      ASSERT_EQ(bytes, before) << round;
    }
    ASSERT_TRUE(FindTestEntry(*cache_, 1)) << round;
  }
  EXPECT_GT(misses, 590);
}

}  // namespace
}  // namespace aitune
