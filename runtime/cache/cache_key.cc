#include "runtime/cache/cache_key.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/hash/sha256.h"

namespace aitune {
namespace {

// The length first, so that no two lists of texts give the same bytes.
void Add(std::string_view text, Sha256* hash) {
  hash->Update(absl::StrCat(text.size(), ":"));
  hash->Update(text);
}

}  // namespace

CacheKey CacheKey::Of(const CacheKeyParts& parts) {
  Sha256 hash;
  Add("aitune cache key 1", &hash);
  Add(parts.graph, &hash);
  Add(parts.config, &hash);
  Add(parts.target, &hash);
  Add(parts.build_id, &hash);
  for (const auto& [name, version] : parts.versions) {
    Add(name, &hash);
    Add(version, &hash);
  }
  return CacheKey(ToHex(hash.Finish()));
}

std::optional<CacheKey> CacheKey::Parse(std::string_view hex) {
  const bool valid =
      hex.size() == 64 && std::all_of(hex.begin(), hex.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      });
  if (!valid) return std::nullopt;
  return CacheKey(std::string(hex));
}

}  // namespace aitune
