// The name of an entry of the cache: a hash of everything that its contents
// depend on. Two builds with the same key give the same artifact, so an entry
// never has to be compared or invalidated: a changed input gives another key.
#ifndef AITUNE_RUNTIME_CACHE_CACHE_KEY_H_
#define AITUNE_RUNTIME_CACHE_CACHE_KEY_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace aitune {

// What a compiled artifact depends on.
struct CacheKeyParts {
  std::string graph;     // the graph's text, with hashes of its constants
  std::string config;    // BackendConfig::Key() and other options
  std::string target;    // CPU or GPU architecture, with its features
  std::string build_id;  // identifies the compiler's build
  // Versions of libraries and drivers by name, such as {"onednn", "3.2.0"}.
  std::map<std::string, std::string> versions;
};

class CacheKey {
 public:
  // The key of these parts: their SHA-256.
  static CacheKey Of(const CacheKeyParts& parts);

  // The key whose hex() is `hex`; not set if `hex` has another form.
  static std::optional<CacheKey> Parse(std::string_view hex);

  // 64 lower-case hexadecimal digits.
  const std::string& hex() const { return hex_; }

  friend bool operator==(const CacheKey& a, const CacheKey& b) {
    return a.hex_ == b.hex_;
  }
  friend bool operator!=(const CacheKey& a, const CacheKey& b) {
    return !(a == b);
  }
  friend bool operator<(const CacheKey& a, const CacheKey& b) {
    return a.hex_ < b.hex_;
  }

 private:
  explicit CacheKey(std::string hex) : hex_(std::move(hex)) {}
  std::string hex_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_CACHE_KEY_H_
