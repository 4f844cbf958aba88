#include "runtime/bundle/private_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

namespace fs = std::filesystem;

class PrivateFolderTest : public testing::Test {
 protected:
  PrivateFolderTest() : temporary_(fs::path(testing::TempDir()) / "private") {
    fs::remove_all(temporary_);
    fs::create_directories(temporary_);
    setenv("TMPDIR", temporary_.c_str(), 1);
  }

  std::unique_ptr<PrivateFolder> Filled() {
    auto folder = PrivateFolder::Make();
    EXPECT_TRUE(folder.ok()) << folder.status();
    std::ofstream((*folder)->path() / "file") << "text";
    EXPECT_TRUE(fs::exists((*folder)->path() / "file"));
    return *std::move(folder);
  }

  const fs::path temporary_;
};

TEST_F(PrivateFolderTest, IsTheUsersAloneAndGoesWithTheObject) {
  std::unique_ptr<PrivateFolder> folder = Filled();
  EXPECT_EQ(fs::status(folder->path()).permissions(), fs::perms::owner_all);
  folder.reset();
  EXPECT_TRUE(fs::is_empty(temporary_));
}

TEST_F(PrivateFolderTest, GoesWithTheProcess) {
  EXPECT_EXIT(
      {
        Filled().release();
        std::exit(fs::is_empty(temporary_) ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_TRUE(fs::is_empty(temporary_));
}

TEST_F(PrivateFolderTest, OfAParentOutlivesAChild) {
  std::unique_ptr<PrivateFolder> folder = Filled(), kept = Filled();
  const pid_t child = fork();
  if (child == 0) {
    folder.reset();
    std::exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(folder->path() / "file"));
  EXPECT_TRUE(fs::exists(kept->path() / "file"));
}

TEST_F(PrivateFolderTest, SaysWhereItCannotBeMade) {
  setenv("TMPDIR", "/proc", 1);
  const absl::Status status = PrivateFolder::Make().status();
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(testing::HasSubstr("/proc"),
                             testing::HasSubstr("set TMPDIR")));
}

}  // namespace
}  // namespace aitune
