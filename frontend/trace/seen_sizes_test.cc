// Which sizes a part of control flow is compiled for.
#include "frontend/trace/seen_sizes.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

std::string Specs(const std::vector<SeenSizes>& seen, size_t around = 0,
                  const std::vector<size_t>& integers = {}) {
  SizesToCompile sizes(seen);
  for (const size_t i : integers) sizes.set_is_integer(i);
  std::string text;
  for (const InputSpec& spec : sizes.SpecsAround(
           seen[around],
           std::vector<DataType>(seen[0].size(), DataType::kFloat32)))
    absl::StrAppend(&text, ToString(spec), " ");
  return text;
}

TEST(SizesToCompileTest, OneSizeIsFixed) {
  EXPECT_EQ(Specs({{{4, 6}, {6}}}), "float32[4,6] float32[6] ");
}

TEST(SizesToCompileTest, SizesThatDifferAreRangesThatReachFarther) {
  EXPECT_EQ(Specs({{{4, 6}}, {{5, 6}}}, 1), "float32[n1=1..256,6] ");
  EXPECT_EQ(Specs({{{100, 6}}, {{101, 6}}}), "float32[n1=1..404,6] ");
  EXPECT_EQ(Specs({{{0, 6}}, {{5, 6}}}), "float32[n1=0..256,6] ");
}

TEST(SizesToCompileTest, SizesThatWereAlwaysEqualAreOne) {
  EXPECT_EQ(Specs({{{4, 6}, {4}, {5}}, {{5, 6}, {5}, {6}}}),
            "float32[n1=1..256,6] float32[n1=1..256] float32[n2=1..256] ");
}

TEST(SizesToCompileTest, IntegersMayBeAny) {
  EXPECT_EQ(Specs({{{4}, {1}, {1}}}, 0, {1, 2}),
            "float32[4] float32[n1=1..1024] float32[n2=1..1024] ");
}

TEST(SizesToCompileTest, LargeTensorsReachNoFartherThanSeen) {
  EXPECT_EQ(Specs({{{256, 40, 40}}, {{256, 20, 20}}}),
            "float32[256,n1=1..64,n1=1..64] ");
  EXPECT_EQ(Specs({{{4000, 800}}, {{4000, 700}}}), "float32[4000,n1=1..800] ");
}

TEST(SizesToCompileTest, FewSymbols) {
  EXPECT_EQ(Specs({{{1, 2, 3, 4, 5}}, {{2, 4, 6, 8, 9}}}),
            "float32[n1=1..8,n2=1..16,n3=1..32,n4=1..32,5] ");
}

}  // namespace
}  // namespace aitune::frontend
