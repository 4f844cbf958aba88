#include "runtime/bundle/staged_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/bundle/bundle.h"

namespace aitune {
namespace {

namespace fs = std::filesystem;

class StagedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }

  fs::path Touch(const std::string& name) {
    std::ofstream(root_ / name) << "x";
    return root_ / name;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "staged_file_test";
  const fs::path path_ = root_ / "net.aitune";
};

TEST_F(StagedFileTest, SavingRemovesWhatAKilledWriterLeft) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    fs::path staged;
    if (OpenStagedFile(path_, &staged) < 0) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_FALSE(fs::is_empty(root_));
  ASSERT_TRUE(WriteBundle(path_, {{"a", "b"}}, BundleFormat::kFile).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(StagedFileTest, WhatIsBeingWrittenStays) {
  fs::path staged;
  const int file = OpenStagedFile(path_, &staged);
  ASSERT_GE(file, 0);
  RemoveDeadStagedFiles(path_);
  EXPECT_TRUE(fs::exists(staged));
  ASSERT_TRUE(WriteBundle(path_, {{"a", "b"}}, BundleFormat::kFile).ok());
  EXPECT_TRUE(fs::exists(staged));
  close(file);
  RemoveDeadStagedFiles(path_);
  EXPECT_FALSE(fs::exists(staged));
}

TEST_F(StagedFileTest, WhatIsNotOursStays) {
  const std::vector<fs::path> others = {
      Touch("net.aitune.tmp"),
      Touch("net.aitune.0123456789abcde.tmp"),
      Touch("net.aitune.0123456789abcdeg.tmp"),
      Touch("net.aitune.0123456789ABCDEF.tmp"),
      Touch("net.aitune.0123456789abcdef.bak"),
      Touch("other.aitune.0123456789abcdef.tmp"),
      Touch("net.aitune-0123456789abcdef.tmp"),
  };
  const fs::path target = Touch("target");
  const fs::path link = root_ / "net.aitune.0123456789abcde0.tmp";
  fs::create_symlink(target, link);
  const fs::path hard = root_ / "net.aitune.0123456789abcde1.tmp";
  fs::create_hard_link(target, hard);
  const fs::path folder = root_ / "net.aitune.0123456789abcde2.tmp";
  fs::create_directory(folder);
  const fs::path pipe = root_ / "net.aitune.0123456789abcde3.tmp";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const fs::path dead = Touch("net.aitune.0123456789abcde4.tmp");
  RemoveDeadStagedFiles(path_);
  EXPECT_FALSE(fs::exists(dead));
  for (const fs::path& other : others) EXPECT_TRUE(fs::exists(other)) << other;
  for (const fs::path& other : {target, link, hard, folder, pipe})
    EXPECT_TRUE(fs::exists(other)) << other;
}

TEST_F(StagedFileTest, WritersAtOnceAllSave) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto saved =
            WriteBundle(path_, {{"a", "b"}}, BundleFormat::kFile);
        EXPECT_TRUE(saved.ok()) << saved.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);
  EXPECT_TRUE(ReadBundle(path_).ok());
}

}  // namespace
}  // namespace aitune
