// SHA-256, for keys that name a content and for checksums that notice damage.
// OpenSSL computes it (with the CPU's SHA instructions where there are any).
// Everything here throws std::bad_alloc where there is no memory, and
// std::runtime_error where OpenSSL was configured without SHA-256.
#ifndef AITUNE_RUNTIME_HASH_SHA256_H_
#define AITUNE_RUNTIME_HASH_SHA256_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace aitune {

using Sha256Digest = std::array<uint8_t, 32>;

// 64 lower-case hexadecimal digits.
std::string ToHex(const Sha256Digest& digest);

// The digest of `bytes`. Thread-safe.
Sha256Digest Sha256Of(std::string_view bytes);

// ToHex(Sha256Of(bytes)).
std::string Sha256Hex(std::string_view bytes);

// The digest of bytes that come in parts. Not thread-safe; movable.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(std::string_view bytes);
  // The digest of all parts so far; the object is then as new.
  Sha256Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_HASH_SHA256_H_
