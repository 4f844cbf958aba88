// Who made a bundle: an Ed25519 signature of its digest, in a file beside it.
//
// Keys are files in PEM, as OpenSSL makes them:
//   openssl genpkey -algorithm ed25519 -out key.pem         (keep it secret)
//   openssl pkey -in key.pem -pubout -out key.pub.pem       (give it away)
#ifndef AITUNE_RUNTIME_BUNDLE_BUNDLE_SIGNATURE_H_
#define AITUNE_RUNTIME_BUNDLE_BUNDLE_SIGNATURE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace aitune {

// The file of a bundle's signature: "PATH.sig", beside the file or folder.
std::filesystem::path SignaturePath(const std::filesystem::path& bundle);

// Whether SignBundle can sign with the private key in the file `key`: its
// errors about the key. Thread-safe.
absl::Status CheckSigningKey(const std::filesystem::path& key);

// Signs the bundle that has `digest` (WriteBundle) with the private key in the
// file `key`, and writes SignaturePath(bundle), in place of one that is there.
// kNotFound without the key, kInvalidArgument for a file that holds no private
// Ed25519 key or one with a password, the system's errors for the signature's
// file. Thread-safe.
absl::Status SignBundle(const std::filesystem::path& bundle,
                        std::string_view digest,
                        const std::filesystem::path& key);

// The digest that SignaturePath(bundle) names, if the owner of the public key
// in the file `key` signed it. The bundle itself is not read: whoever loads it
// gives this digest (ReadBundle). kNotFound without the key or the signature,
// kInvalidArgument for a file that holds no public Ed25519 key,
// kPermissionDenied for a signature of somebody else or of another digest,
// kDataLoss for a file that is no signature. Thread-safe.
absl::StatusOr<std::string> VerifiedDigest(const std::filesystem::path& bundle,
                                           const std::filesystem::path& key);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BUNDLE_BUNDLE_SIGNATURE_H_
