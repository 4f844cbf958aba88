// Named blobs in one file or one folder, for checkpoints and the artifacts in
// them.
//
// Reading a bundle is safe wherever it came from: every byte is covered by a
// checksum, names can't lead out of its folder, links are not followed, and
// what contradicts itself is refused before any of it is used. Using what is in
// it is not: a checkpoint holds machine code and a TorchScript program, which
// run with the rights of the process (SECURITY.md). The checksums find damage
// and are no signatures, anybody can write them anew. The digest of the whole
// bundle, kept or sent over another way, tells whether it is the bundle that
// was written.
#ifndef AITUNE_RUNTIME_BUNDLE_BUNDLE_H_
#define AITUNE_RUNTIME_BUNDLE_BUNDLE_H_

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace aitune {

enum class BundleFormat { kFile, kFolder };

// Contents by name. A name is a relative path of letters, digits, '.', '_', '-'
// and '/', without empty, "." or ".." parts.
using Blobs = std::map<std::string, std::string, std::less<>>;

// The SHA-256 of each blob, in 64 lower-case hexadecimal digits, by its name.
using BlobDigests = std::map<std::string, std::string, std::less<>>;

// Writes `blobs` to `path`, a file, or a folder that is empty or not there yet.
// Everything is on the disk when it returns, names and contents; it appears at
// once or not at all, also when several threads or processes write it (a folder
// that can't be replaced is filled instead, see write_folder.h).
// Returns the digest of the bundle: 64 hexadecimal digits that change with
// any byte or name of it. kInvalidArgument for a name that is not allowed,
// kAlreadyExists for a folder with something in it; else the system's error,
// with the path.
absl::StatusOr<std::string> WriteBundle(const std::filesystem::path& path,
                                        const Blobs& blobs,
                                        BundleFormat format);

// Whether WriteBundle can write there, before there is anything to write: OK,
// or what is wrong with `path` and what to do, such as that its folder is
// missing. Writes nothing. Thread-safe.
absl::Status CheckBundlePath(const std::filesystem::path& path,
                             BundleFormat format);

// The blobs of the bundle at `path`, of either format. `digest` is what
// WriteBundle returned, in digits of either case; nothing: it is not compared.
// kNotFound when nothing is at `path`; kDataLoss for anything that does not fit
// its checksum or the digest; kInvalidArgument for something that is not a
// bundle, was written by another version, or has names or links that lead out
// of it, and for a digest, also an empty one, that has not 64 hexadecimal
// digits. The text names the file and what is wrong with it. `digests`, unless
// it is null, is set to those that the blobs were found to have.
absl::StatusOr<Blobs> ReadBundle(const std::filesystem::path& path,
                                 std::optional<std::string_view> digest = {},
                                 BlobDigests* digests = nullptr);

// The same for the bytes of a bundle that was written as one file. `name` is
// what errors call it, such as its path.
absl::StatusOr<Blobs> ParseBundle(std::string_view bytes,
                                  std::optional<std::string_view> digest,
                                  const std::string& name,
                                  BlobDigests* digests = nullptr);

// Whether there is a bundle at `path`, by its first bytes alone. Pipes, sockets
// and devices are not bundles, and are not opened.
bool IsBundle(const std::filesystem::path& path);

// Whether a bundle may have a blob of this name.
bool IsBlobName(std::string_view name);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BUNDLE_BUNDLE_H_
