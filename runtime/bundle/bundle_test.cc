#include "runtime/bundle/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "runtime/bundle/bundle.pb.h"
#include "runtime/hash/sha256.h"

namespace aitune {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const Blobs kBlobs = {{"checkpoint", "first"},
                      {"artifacts/0", std::string(1000, '\x7f')},
                      {"empty", ""}};

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Overwrite(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class BundleTest : public testing::TestWithParam<BundleFormat> {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / "bundle_test";
    fs::remove_all(root_);
    fs::create_directories(root_);
    path_ = root_ / "bundle";
  }
  bool folder() const { return GetParam() == BundleFormat::kFolder; }
  fs::path IndexFile() const { return folder() ? path_ / "index" : path_; }

  std::string Write(const Blobs& blobs = kBlobs) {
    auto digest = WriteBundle(path_, blobs, GetParam());
    EXPECT_TRUE(digest.ok()) << digest.status();
    return digest.ok() ? *digest : "";
  }

  fs::path root_, path_;
};
INSTANTIATE_TEST_SUITE_P(Formats, BundleTest,
                         testing::Values(BundleFormat::kFile,
                                         BundleFormat::kFolder));

TEST_P(BundleTest, ComesBack) {
  const std::string digest = Write();
  EXPECT_TRUE(IsBundle(path_));
  EXPECT_EQ(digest.size(), 64u);
  auto blobs = ReadBundle(path_, digest);
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  EXPECT_EQ(*blobs, kBlobs);
}

TEST_P(BundleTest, EveryChangedByteIsNoticed) {
  Write();
  for (const auto& file : fs::recursive_directory_iterator(root_)) {
    if (!file.is_regular_file()) continue;
    const std::string bytes = Contents(file.path());
    for (size_t i = 0; i < bytes.size(); i += i < 300 ? 1 : 11) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      Overwrite(file.path(), damaged);
      EXPECT_FALSE(ReadBundle(path_).ok()) << file.path() << " " << i;
    }
    for (const std::string& more :
         {std::string(1, '\0'), std::string(64, 'x')}) {
      Overwrite(file.path(), bytes + more);
      EXPECT_FALSE(ReadBundle(path_).ok()) << file.path();
    }
    Overwrite(file.path(), bytes);
  }
  EXPECT_TRUE(ReadBundle(path_).ok());
}

TEST_P(BundleTest, TruncationIsNoticed) {
  Write();
  for (const auto& file : fs::recursive_directory_iterator(root_)) {
    if (!file.is_regular_file()) continue;
    const std::string bytes = Contents(file.path());
    for (size_t size = 0; size < bytes.size();
         size += size + 64 < bytes.size() ? 7 : 1) {
      Overwrite(file.path(), bytes.substr(0, size));
      EXPECT_FALSE(ReadBundle(path_).ok()) << file.path() << " " << size;
    }
    Overwrite(file.path(), bytes);
  }
}

TEST_P(BundleTest, AnotherDigestIsRefused) {
  const std::string digest = Write();
  EXPECT_THAT(Message(ReadBundle(path_, std::string(64, '0')).status()),
              HasSubstr("its digest is " + digest));
  EXPECT_TRUE(ReadBundle(path_, absl::AsciiStrToUpper(digest)).ok());
  for (const std::string& none : {std::string(), digest.substr(1)}) {
    const absl::Status status = ReadBundle(path_, none).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << none;
    EXPECT_THAT(Message(status), HasSubstr("is no digest of a bundle"));
  }
}

// The bytes of an index file with this index and checksums that fit.
std::string Forged(const BundleIndexProto& proto) {
  const std::string index = proto.SerializeAsString();
  const Sha256Digest digest = Sha256Of(index);
  std::string forged = "AITUNEB1";
  for (int i = 0; i < 8; ++i)
    forged.push_back(static_cast<char>(index.size() >> (8 * i)));
  forged.append(digest.begin(), digest.end());
  return forged + index;
}

// With the zeros that are behind each part of a file.
std::string Padded(std::string part) {
  part.resize((part.size() + 63) / 64 * 64);
  return part;
}

// A well-formed bundle with a name that WriteBundle would refuse.
TEST_P(BundleTest, NamesThatLeadOutAreRefused) {
  Write();
  for (const char* name : {"../outside", "/etc/passwd", "a/../../b", "a//b",
                           ".", "", "a\\b", "index"}) {
    EXPECT_FALSE(IsBlobName(name)) << name;
    EXPECT_FALSE(WriteBundle(root_ / "other", {{name, "x"}}, GetParam()).ok());
    BundleIndexProto proto;
    BundleEntryProto& entry = *proto.add_entries();
    entry.set_name(name);
    const Sha256Digest empty = Sha256Of("");
    entry.set_sha256(std::string(empty.begin(), empty.end()));
    Overwrite(IndexFile(), folder() ? Forged(proto) : Padded(Forged(proto)));
    EXPECT_THAT(Message(ReadBundle(path_).status()),
                HasSubstr("leads out of it"))
        << name;
  }
}

// A thousand parts of the same megabyte would take a gigabyte of memory.
TEST(ParseBundle, PartsThatShareBytesAreRefused) {
  const std::string blob(1000, 'x');
  const Sha256Digest digest = Sha256Of(blob);
  BundleIndexProto proto;
  for (const char* name : {"a", "b"}) {
    BundleEntryProto& entry = *proto.add_entries();
    entry.set_name(name);
    entry.set_size(blob.size());
    entry.set_sha256(std::string(digest.begin(), digest.end()));
  }
  const std::string bytes = Padded(Forged(proto)) + Padded(blob);
  const absl::Status status =
      ParseBundle(bytes, std::nullopt, "forged").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(status),
            "forged: damaged: b begins within the part before it");
}

TEST_P(BundleTest, IsReadFromMemoryToo) {
  if (folder()) GTEST_SKIP() << "a folder has no bytes";
  const std::string digest = Write();
  const std::string bytes = Contents(path_);
  auto blobs = ParseBundle(bytes, digest, "memory");
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  EXPECT_EQ(*blobs, kBlobs);
  EXPECT_THAT(
      Message(ParseBundle(bytes.substr(0, 90), digest, "memory").status()),
      HasSubstr("memory: damaged"));
}

TEST_P(BundleTest, ThreadsMaySaveToOnePath) {
  if (folder()) GTEST_SKIP() << "a folder is written once";
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) Write();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*ReadBundle(path_), kBlobs);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);
}

TEST_P(BundleTest, LinksAreRefused) {
  Write();
  if (!folder()) {
    fs::create_symlink(path_, root_ / "link");
    EXPECT_THAT(Message(ReadBundle(root_ / "link").status()),
                HasSubstr("is a link"));
    return;
  }
  fs::copy_file(path_ / "artifacts/0", root_ / "elsewhere");
  fs::remove(path_ / "artifacts/0");
  fs::create_symlink(root_ / "elsewhere", path_ / "artifacts/0");
  EXPECT_THAT(Message(ReadBundle(path_).status()), HasSubstr("is a link"));
  fs::remove_all(path_ / "artifacts");
  fs::create_directories(root_ / "folder");
  fs::copy_file(root_ / "elsewhere", root_ / "folder/0");
  fs::create_directory_symlink(root_ / "folder", path_ / "artifacts");
  EXPECT_THAT(Message(ReadBundle(path_).status()), HasSubstr("is a link"));
}

TEST_P(BundleTest, MissingAndForeignFiles) {
  EXPECT_EQ(ReadBundle(path_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(IsBundle(path_));
  if (folder()) fs::create_directories(path_);
  Overwrite(IndexFile(),
            "PK\x03\x04 something else altogether, and longer "
            "than a header is");
  EXPECT_EQ(ReadBundle(path_).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(IsBundle(path_));
}

// Opening a pipe would wait for somebody who writes to it.
TEST_P(BundleTest, APipeIsNoBundleAndIsNotWaitedFor) {
  if (folder()) fs::create_directories(path_);
  ASSERT_EQ(mkfifo(IndexFile().c_str(), 0600), 0);
  EXPECT_FALSE(IsBundle(path_));
  const absl::Status status = ReadBundle(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("it is no regular file"));
}

TEST_P(BundleTest, PathsAreCheckedBeforehand) {
  EXPECT_EQ(CheckBundlePath(path_, GetParam()), absl::OkStatus());
  const absl::Status deep = CheckBundlePath(path_ / "new" / "b", GetParam());
  if (folder()) {
    EXPECT_EQ(deep, absl::OkStatus());
  } else {
    EXPECT_THAT(Message(deep), HasSubstr("there is no folder"));
  }
  Write();
  EXPECT_EQ(
      CheckBundlePath(path_, GetParam()).code(),
      folder() ? absl::StatusCode::kAlreadyExists : absl::StatusCode::kOk);
  const BundleFormat other =
      folder() ? BundleFormat::kFile : BundleFormat::kFolder;
  EXPECT_THAT(
      Message(CheckBundlePath(path_, other)),
      HasSubstr(folder() ? ": is a folder: name" : ": is a file: name"));
}

// "a" is a file, and is to be a folder, too.
TEST_P(BundleTest, NothingIsLeftOfAFolderThatFails) {
  if (!folder()) GTEST_SKIP() << "a file may have both parts";
  const Blobs blobs = {{"a", "x"}, {"a/b", "x"}};
  EXPECT_FALSE(WriteBundle(path_, blobs, GetParam()).ok());
  EXPECT_TRUE(fs::is_empty(root_));
  fs::create_directory(path_);
  EXPECT_FALSE(WriteBundle(path_, blobs, GetParam()).ok());
  EXPECT_TRUE(fs::is_empty(path_));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);
  Write();
}

// As root, /dev/null would become a file.
TEST_P(BundleTest, ADeviceOrPipeIsNotReplaced) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const absl::Status status = WriteBundle(path_, kBlobs, GetParam()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(fs::is_fifo(path_));
}

TEST_P(BundleTest, WhatIsThereIsReplacedOrKept) {
  Write({{"a", "old"}});
  if (folder()) {
    EXPECT_EQ(WriteBundle(path_, kBlobs, GetParam()).status().code(),
              absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(ReadBundle(path_)->at("a"), "old");
  } else {
    Write();
    EXPECT_EQ(*ReadBundle(path_), kBlobs);
    EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);
  }
}

}  // namespace
}  // namespace aitune
