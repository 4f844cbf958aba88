#include "runtime/cache/cache_key.h"

#include <set>

#include "gtest/gtest.h"

namespace aitune {
namespace {

CacheKeyParts Parts() {
  return {"graph", "config", "x86-64 avx512", "build 1", {{"onednn", "3.2"}}};
}

TEST(CacheKeyTest, EqualPartsGiveEqualKeys) {
  EXPECT_EQ(CacheKey::Of(Parts()), CacheKey::Of(Parts()));
  EXPECT_EQ(CacheKey::Of(Parts()).hex().size(), 64u);
}

TEST(CacheKeyTest, EveryPartCounts) {
  std::set<CacheKey> keys = {CacheKey::Of(Parts())};
  const auto add = [&](auto change) {
    CacheKeyParts parts = Parts();
    change(parts);
    keys.insert(CacheKey::Of(parts));
  };
  add([](CacheKeyParts& p) { p.graph += "x"; });
  add([](CacheKeyParts& p) { p.config += "x"; });
  add([](CacheKeyParts& p) { p.target += "x"; });
  add([](CacheKeyParts& p) { p.build_id += "x"; });
  add([](CacheKeyParts& p) { p.versions["onednn"] = "3.3"; });
  add([](CacheKeyParts& p) { p.versions["cuda"] = "13"; });
  add([](CacheKeyParts& p) { p.versions.clear(); });
  EXPECT_EQ(keys.size(), 8u);
}

TEST(CacheKeyTest, TextCannotMoveFromOnePartToTheNext) {
  CacheKeyParts a = Parts(), b = Parts();
  a.graph = "ab";
  a.config = "c";
  b.graph = "a";
  b.config = "bc";
  EXPECT_NE(CacheKey::Of(a), CacheKey::Of(b));
  a = b = Parts();
  a.versions = {{"a", "b"}, {"c", "d"}};
  b.versions = {{"a", "b1:c1:d"}};
  EXPECT_NE(CacheKey::Of(a), CacheKey::Of(b));
}

TEST(CacheKeyTest, Parse) {
  const CacheKey key = CacheKey::Of(Parts());
  EXPECT_EQ(CacheKey::Parse(key.hex()), key);
  EXPECT_FALSE(CacheKey::Parse("").has_value());
  EXPECT_FALSE(CacheKey::Parse(key.hex().substr(1)).has_value());
  EXPECT_FALSE(CacheKey::Parse(std::string(64, 'A')).has_value());
  EXPECT_FALSE(CacheKey::Parse(std::string(61, 'a') + "/..").has_value());
}

}  // namespace
}  // namespace aitune
