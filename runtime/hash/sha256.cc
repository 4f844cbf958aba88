#include "runtime/hash/sha256.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <new>
#include <stdexcept>

namespace aitune {
namespace {

// No input makes these calls fail: only memory that ran out, or an OpenSSL
// without SHA-256.
void Require(bool ok) {
  if (ok) return;
  if (ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_UNSUPPORTED)
    throw std::runtime_error("this process's OpenSSL has no SHA-256");
  throw std::bad_alloc();
}

struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

struct Sha256::State {
  State() : context(EVP_MD_CTX_new()) { Require(context != nullptr); }
  void Start() {
    if (has_begun) return;
    ERR_clear_error();
    Require(EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1);
    has_begun = true;
  }

  std::unique_ptr<EVP_MD_CTX, ContextDeleter> context;
  bool has_begun = false;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::string_view bytes) {
  state_->Start();
  Require(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) ==
          1);
}

Sha256Digest Sha256::Finish() {
  state_->Start();
  Sha256Digest digest;
  Require(EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr) ==
          1);
  state_->has_begun = false;
  return digest;
}

std::string ToHex(const Sha256Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (uint8_t byte : digest) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

Sha256Digest Sha256Of(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

std::string Sha256Hex(std::string_view bytes) { return ToHex(Sha256Of(bytes)); }

}  // namespace aitune
