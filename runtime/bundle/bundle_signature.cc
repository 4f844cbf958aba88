#include "runtime/bundle/bundle_signature.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

// The first line of the file, and the beginning of what is signed, so that no
// signature of this key for something else counts as one of a bundle.
constexpr char kHeader[] = "aitune bundle signature 1";

// Keys and signatures have about a hundred bytes; something longer is none.
constexpr size_t kMostBytes = 16384;
constexpr size_t kDigestDigits = 64;    // a SHA-256 in hexadecimal
constexpr size_t kSignatureBytes = 64;  // Ed25519 (RFC 8032, section 5.1.6)

struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Key = std::unique_ptr<EVP_PKEY, KeyDeleter>;
struct MemoryDeleter {
  void operator()(BIO* memory) const { BIO_free(memory); }
};
struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

absl::StatusOr<std::string> ReadSmallFile(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return absl::NotFoundError(absl::StrCat(
        path.string(), " cannot be read: ",
        error ? error.message() : std::string("it is no regular file")));
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.eof() && !file)
    return absl::NotFoundError(
        absl::StrCat(path.string(), " cannot be read; check its permissions"));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() <= kMostBytes) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(), " has more than ", kMostBytes,
                   " bytes; it is neither a key nor a signature"));
}

absl::StatusOr<Key> ReadKey(const std::filesystem::path& path,
                            bool is_private) {
  AITUNE_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  const std::unique_ptr<BIO, MemoryDeleter> memory(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Key key;
  if (memory != nullptr) {
    // No password is asked for: a key with one can't be read.
    const auto no_password = +[](char*, int, int, void*) { return 0; };
    key.reset(is_private ? PEM_read_bio_PrivateKey(memory.get(), nullptr,
                                                   no_password, nullptr)
                         : PEM_read_bio_PUBKEY(memory.get(), nullptr,
                                               no_password, nullptr));
  }
  ERR_clear_error();
  if (key != nullptr && EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_ED25519)
    return key;
  return absl::InvalidArgumentError(absl::StrCat(
      path.string(), " holds no ", is_private ? "private" : "public",
      " Ed25519 key in PEM", is_private ? " without a password" : "",
      "; make one with `openssl ",
      is_private ? "genpkey -algorithm ed25519" : "pkey -in KEY -pubout", "`"));
}

std::string SignedText(std::string_view digest) {
  return absl::StrCat(kHeader, "\n", std::string(digest), "\n");
}

const unsigned char* Bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::filesystem::path SignaturePath(const std::filesystem::path& bundle) {
  std::string text = bundle.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text + ".sig";
}

absl::Status CheckSigningKey(const std::filesystem::path& key) {
  return ReadKey(key, /*is_private=*/true).status();
}

absl::Status SignBundle(const std::filesystem::path& bundle,
                        std::string_view digest,
                        const std::filesystem::path& key) {
  AITUNE_ASSIGN_OR_RETURN(const Key secret, ReadKey(key, /*is_private=*/true));
  const std::string text = SignedText(digest);
  std::string signature(kSignatureBytes, '\0');
  size_t size = signature.size();
  const std::unique_ptr<EVP_MD_CTX, ContextDeleter> context(EVP_MD_CTX_new());
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr,
                         secret.get()) != 1 ||
      EVP_DigestSign(context.get(),
                     reinterpret_cast<unsigned char*>(signature.data()), &size,
                     Bytes(text), text.size()) != 1 ||
      size != kSignatureBytes) {
    ERR_clear_error();
    return absl::InternalError(
        absl::StrCat("OpenSSL could not sign with ", key.string()));
  }
  const std::filesystem::path path = SignaturePath(bundle);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << absl::BytesToHexString(signature) << "\n";
  file.close();
  if (file) return absl::OkStatus();
  return absl::ErrnoToStatus(
      errno != 0 ? errno : EIO,
      absl::StrCat("the signature ", path.string(), " cannot be written"));
}

absl::StatusOr<std::string> VerifiedDigest(const std::filesystem::path& bundle,
                                           const std::filesystem::path& key) {
  AITUNE_ASSIGN_OR_RETURN(const Key known, ReadKey(key, /*is_private=*/false));
  const std::filesystem::path path = SignaturePath(bundle);
  AITUNE_ASSIGN_OR_RETURN(const std::string file, ReadSmallFile(path));
  const std::vector<std::string> lines = absl::StrSplit(file, '\n');
  if (lines.size() != 4 || lines[0] != kHeader ||
      lines[1].size() != kDigestDigits || !lines[3].empty() ||
      lines[2].size() != 2 * kSignatureBytes ||
      !std::all_of(lines[2].begin(), lines[2].end(), absl::ascii_isxdigit))
    return absl::DataLossError(absl::StrCat(
        path.string(), " is no signature of a bundle; sign the bundle again"));
  const std::string signature = absl::HexStringToBytes(lines[2]);
  const std::string text = SignedText(lines[1]);
  const std::unique_ptr<EVP_MD_CTX, ContextDeleter> context(EVP_MD_CTX_new());
  const bool is_known =
      context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr,
                           known.get()) == 1 &&
      EVP_DigestVerify(context.get(), Bytes(signature), signature.size(),
                       Bytes(text), text.size()) == 1;
  ERR_clear_error();
  if (is_known) return lines[1];
  return absl::PermissionDeniedError(absl::StrCat(
      path.string(), " was not signed by the owner of ", key.string(),
      ", or was changed since; do not run ", bundle.string()));
}

}  // namespace aitune
