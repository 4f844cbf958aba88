// Bundles that are folders: what a killed writer, other writers and the system
// do to them.
#include "runtime/bundle/write_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/staged_file.h"

namespace aitune {
namespace {

namespace fs = std::filesystem;

const Blobs kBlobs = {{"a/b/small", "x"}, {"large", std::string(100000, 'y')}};

// The signal that ended `child`, or minus the code that it returned.
int EndOf(const std::function<int()>& child) {
  const pid_t process = fork();
  if (process == 0) _exit(child());
  int status = 0;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

// Ends the process in the middle of a file of more than so many bytes.
void EndWithinFilesOf(rlim_t bytes) {
  signal(SIGXFSZ, SIG_DFL);
  const rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

class WriteFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  absl::Status Write(const fs::path& path) {
    return WriteBundle(path, kBlobs, BundleFormat::kFolder).status();
  }
  // The names in root_ beside the bundle's.
  int64_t Others() const {
    return std::distance(fs::directory_iterator(root_), {}) -
           (fs::exists(path_) ? 1 : 0);
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "write_folder_test";
  const fs::path path_ = root_ / "net";
};

TEST_F(WriteFolderTest, AKilledWriterLeavesNothingThatIsInTheWay) {
  for (const bool exists : {false, true}) {
    SetUp();
    if (exists) fs::create_directory(path_);
    EXPECT_EQ(EndOf([&] {
                EndWithinFilesOf(5000);
                return Write(path_).ok() ? 1 : 2;
              }),
              SIGXFSZ);
    EXPECT_EQ(fs::exists(path_), exists);
    EXPECT_EQ(Others(), 1) << "half a folder";
    EXPECT_EQ(CheckBundlePath(path_, BundleFormat::kFolder), absl::OkStatus());
    // The next one does not keep it either.
    EXPECT_EQ(Write(path_), absl::OkStatus());
    EXPECT_EQ(*ReadBundle(path_), kBlobs);
    EXPECT_EQ(Others(), 0);
  }
}

// A limit on the size of files fails writes as a full disk does.
TEST_F(WriteFolderTest, AFullDiskLeavesNothing) {
  EXPECT_EQ(EndOf([&] {
              EndWithinFilesOf(5000);
              signal(SIGXFSZ, SIG_IGN);
              return Write(path_).ok() ? 1 : 0;
            }),
            0);
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(WriteFolderTest, WhatIsBeingWrittenOrIsNoFolderStays) {
  fs::path staged;
  const int lock = OpenStagedFolder(path_, &staged);
  ASSERT_GE(lock, 0);
  const fs::path target = root_ / "target";
  fs::create_directory(target);
  const fs::path link = root_ / "net.0123456789abcde0.tmp";
  fs::create_directory_symlink(target, link);
  const fs::path other = root_ / "net.0123456789abcde.tmp";
  fs::create_directory(other);
  EXPECT_EQ(Write(path_), absl::OkStatus());
  for (const fs::path& there : {staged, target, link, other})
    EXPECT_TRUE(fs::exists(there)) << there;
  close(lock);
  RemoveDeadStagedFolders(path_);
  EXPECT_FALSE(fs::exists(staged));
  EXPECT_EQ(Others(), 3);
}

TEST_F(WriteFolderTest, AnEmptyFolderKeepsItsMode) {
  fs::create_directory(path_);
  ASSERT_EQ(chmod(path_.c_str(), 0700), 0);
  EXPECT_EQ(Write(path_), absl::OkStatus());
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_all);
  EXPECT_EQ(Write(path_).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*ReadBundle(path_), kBlobs);
}

TEST_F(WriteFolderTest, PathsMayHaveASlashAtTheEndOrBeLinks) {
  EXPECT_EQ(Write(root_ / "more" / "net/"), absl::OkStatus());
  EXPECT_EQ(*ReadBundle(root_ / "more" / "net"), kBlobs);
  fs::create_directory(path_);
  fs::create_directory_symlink(path_, root_ / "link");
  EXPECT_EQ(Write(root_ / "link"), absl::OkStatus());
  EXPECT_TRUE(fs::is_symlink(root_ / "link"));
  EXPECT_EQ(*ReadBundle(path_), kBlobs);
  const fs::path before = fs::current_path();
  fs::current_path(root_);
  EXPECT_EQ(Write("here"), absl::OkStatus());
  fs::current_path(before);
  EXPECT_EQ(*ReadBundle(root_ / "here"), kBlobs);
}

// Nothing can be made beside it.
TEST_F(WriteFolderTest, AFolderThatCanNotBeReplacedIsFilled) {
  char name[] = "/tmp/write_folder_testXXXXXX";  // that others can reach
  const fs::path parent = mkdtemp(name);
  const fs::path path = parent / "net";
  fs::create_directory(path);
  ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  ASSERT_EQ(chmod(parent.c_str(), 0555), 0);
  EXPECT_EQ(EndOf([&] {
              // Root may write everywhere.
              if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
                return 1;
              return access(parent.c_str(), W_OK) != 0 && Write(path).ok() ? 0
                                                                           : 2;
            }),
            0);
  chmod(parent.c_str(), 0755);
  EXPECT_EQ(*ReadBundle(path), kBlobs);
  fs::remove_all(parent);
}

TEST_F(WriteFolderTest, OfWritersAtOnceOneSaves) {
  for (int round = 0; round < 10; ++round) {
    fs::remove_all(path_);
    std::atomic<int> saved = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        const absl::Status status = Write(path_);
        if (status.ok())
          ++saved;
        else
          EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(saved, 1);
    EXPECT_EQ(*ReadBundle(path_), kBlobs);
    EXPECT_EQ(Others(), 0);
  }
}

}  // namespace
}  // namespace aitune
