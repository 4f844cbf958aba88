#include "runtime/target/build_id.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace aitune {
namespace {

int here;

TEST(LinkersBuildId, IsOneOfTheWholeProgram) {
  const std::string id = LinkersBuildId(&here);
  EXPECT_GE(id.size(), 8u);
  EXPECT_EQ(id, LinkersBuildId(reinterpret_cast<const void*>(&LinkersBuildId)));
}

TEST(LinkersBuildId, DiffersByLibrary) {
  const std::string libc =
      LinkersBuildId(reinterpret_cast<const void*>(&std::getenv));
  EXPECT_GE(libc.size(), 8u);
  EXPECT_NE(libc, LinkersBuildId(&here));
}

TEST(LinkersBuildId, IsEmptyForAnAddressOfNothing) {
  int local = 0;
  EXPECT_EQ(LinkersBuildId(&local), "");
  EXPECT_EQ(LinkersBuildId(nullptr), "");
}

}  // namespace
}  // namespace aitune
