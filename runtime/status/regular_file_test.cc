#include "runtime/status/regular_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using testing::HasSubstr;

TEST(RegularFile, AnythingElseIsNamed) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "regular_file";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto error = [&](const char* name) {
    const absl::Status status = CheckRegularFile((folder / name).string());
    if (!status.ok())
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr((folder / name).string()));
    return std::string(status.message());
  };
  std::ofstream(folder / "file").flush();
  std::filesystem::create_symlink("file", folder / "link");
  EXPECT_EQ(error("file"), "");
  EXPECT_EQ(error("link"), "");
  EXPECT_THAT(error("none"), HasSubstr(": no such file"));
  EXPECT_THAT(error("file/inside"), HasSubstr(": no such file"));
  EXPECT_THAT(error("."), HasSubstr(": is a directory"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error("pipe"), HasSubstr(": is a pipe"));
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  EXPECT_THAT(error("a"), HasSubstr("evels of symbolic links"));
}

}  // namespace
}  // namespace aitune
