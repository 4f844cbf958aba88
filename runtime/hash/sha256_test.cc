#include "runtime/hash/sha256.h"

#include <utility>

#include "gtest/gtest.h"

namespace aitune {
namespace {

// FIPS 180-2, appendix B.
TEST(Sha256Test, PublishedVectors) {
  EXPECT_EQ(Sha256Hex(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256Test, PartsGiveTheDigestOfTheWhole) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("");
  Sha256 moved = std::move(hash);
  moved.Update("bc");
  EXPECT_EQ(moved.Finish(), Sha256Of("abc"));
  moved.Update("abc");
  EXPECT_EQ(moved.Finish(), Sha256Of("abc"));
}

TEST(Sha256Test, ZeroBytesCount) {
  EXPECT_NE(Sha256Of(std::string_view("a\0", 2)), Sha256Of("a"));
}

}  // namespace
}  // namespace aitune
