#include "runtime/cache/entry_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/cache/manifest.pb.h"
#include "runtime/cache/posix_file.h"
#include "runtime/hash/sha256.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

constexpr char kManifestName[] = "manifest";

// The manifest file: this, the SHA-256 of the rest, the CacheManifestProto. A
// change of meaning changes the number.
constexpr std::string_view kMagic = "AITUNE-CACHE\n001";
constexpr std::string_view kMagicOfAnyVersion = "AITUNE-CACHE\n";
constexpr size_t kDigestSize = sizeof(Sha256Digest);
constexpr size_t kHeaderSize = kMagic.size() + kDigestSize;

constexpr int64_t kMaxManifestBytes = int64_t{16} << 20;
constexpr int64_t kMaxBlobBytes = int64_t{1} << 40;

std::string_view AsBytes(const Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::chrono::system_clock::time_point TimePoint(const timespec& time) {
  return std::chrono::system_clock::time_point(
      std::chrono::seconds(time.tv_sec) +
      std::chrono::nanoseconds(time.tv_nsec));
}

CacheLookup Miss(MissReason reason, std::string detail) {
  CacheLookup lookup;
  lookup.reason = reason;
  lookup.detail = std::move(detail);
  return lookup;
}

CacheLookup MissFrom(const absl::Status& status,
                     const std::filesystem::path& path) {
  return Miss(
      MissReason::kUnreadable,
      absl::StrCat(path.string(), ": ", absl::string_view(status.message())));
}

// The manifest, or the miss that it is.
std::optional<CacheLookup> ReadManifest(const ScopedFd& directory,
                                        const std::filesystem::path& path,
                                        CacheManifestProto* manifest) {
  const absl::StatusOr<std::string> bytes =
      ReadFileAt(directory, kManifestName, kMaxManifestBytes);
  if (!bytes.ok()) return MissFrom(bytes.status(), path);
  const std::string_view text = *bytes;
  const std::string file = (path / kManifestName).string();
  if (text.substr(0, kMagic.size()) != kMagic) {
    if (text.substr(0, kMagicOfAnyVersion.size()) == kMagicOfAnyVersion)
      return Miss(MissReason::kOtherVersion,
                  absl::StrCat(file, " is of another version of the format"));
    return Miss(MissReason::kDamagedManifest,
                absl::StrCat(file, " does not begin as a manifest does"));
  }
  if (text.size() < kHeaderSize)
    return Miss(MissReason::kDamagedManifest,
                absl::StrCat(file, " has only ", text.size(), " bytes"));
  const std::string_view payload = text.substr(kHeaderSize);
  if (text.substr(kMagic.size(), kDigestSize) != AsBytes(Sha256Of(payload)))
    return Miss(MissReason::kDamagedManifest,
                absl::StrCat(file, " does not have the checksum it says"));
  if (!manifest->ParseFromArray(payload.data(),
                                static_cast<int>(payload.size())))
    return Miss(MissReason::kDamagedManifest,
                absl::StrCat(file, " can't be parsed"));
  return std::nullopt;
}

}  // namespace

absl::Status WriteEntry(const std::filesystem::path& path, const CacheKey& key,
                        absl::Span<const CacheBlob> blobs,
                        std::string_view description) {
  CacheManifestProto manifest;
  manifest.set_key(key.hex());
  manifest.set_description(std::string(description));
  manifest.set_created_seconds(
      std::chrono::duration_cast<std::chrono::seconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
  for (size_t i = 0; i < blobs.size(); ++i) {
    AITUNE_RETURN_IF_ERROR(WriteFile(path / absl::StrCat(i), blobs[i].bytes));
    CacheBlobProto* blob = manifest.add_blobs();
    blob->set_name(blobs[i].name);
    blob->set_size(static_cast<int64_t>(blobs[i].bytes.size()));
    const Sha256Digest digest = Sha256Of(blobs[i].bytes);
    blob->set_sha256(std::string(AsBytes(digest)));
  }
  const std::string payload = manifest.SerializeAsString();
  std::string bytes(kMagic);
  bytes += AsBytes(Sha256Of(payload));
  bytes += payload;
  return WriteFile(path / kManifestName, bytes);
}

CacheLookup ReadEntry(const std::filesystem::path& path, const CacheKey& key) {
  // All files are opened in this one directory, even when another takes its
  // name: a manifest is never paired with the blobs of another entry.
  const absl::StatusOr<ScopedFd> directory = OpenDirectory(path);
  if (absl::IsNotFound(directory.status()))
    return Miss(MissReason::kAbsent, "");
  if (!directory.ok()) return MissFrom(directory.status(), path);
  if (const absl::Status trusted = CheckPrivate(*directory, path);
      !trusted.ok())
    return Miss(MissReason::kUnreadable, std::string(trusted.message()));
  CacheManifestProto manifest;
  if (std::optional<CacheLookup> miss =
          ReadManifest(*directory, path, &manifest))
    return *std::move(miss);
  if (manifest.key() != key.hex())
    return Miss(
        MissReason::kOtherKey,
        absl::StrCat(path.string(), " holds the entry ", manifest.key()));
  CacheLookup lookup;
  lookup.entry.emplace();
  lookup.entry->description = manifest.description();
  for (int i = 0; i < manifest.blobs_size(); ++i) {
    const CacheBlobProto& expected = manifest.blobs(i);
    const std::string file = absl::StrCat(i);
    absl::StatusOr<int64_t> size = FileSizeAt(*directory, file);
    if (!size.ok()) return MissFrom(size.status(), path);
    // Before a buffer is made for it.
    if (*size != expected.size())
      return Miss(MissReason::kTruncated,
                  absl::StrCat((path / file).string(), " has ", *size,
                               " bytes instead of ", expected.size()));
    absl::StatusOr<std::string> bytes =
        ReadFileAt(*directory, file, kMaxBlobBytes);
    if (!bytes.ok()) return MissFrom(bytes.status(), path);
    if (AsBytes(Sha256Of(*bytes)) != expected.sha256())
      return Miss(MissReason::kDamagedBlob,
                  absl::StrCat((path / file).string(),
                               " does not have the checksum that the manifest "
                               "says"));
    lookup.entry->blobs.emplace(expected.name(), *std::move(bytes));
  }
  return lookup;
}

absl::Status LinkEntry(const std::filesystem::path& path,
                       const std::filesystem::path& to) {
  AITUNE_ASSIGN_OR_RETURN(const ScopedFd directory, OpenDirectory(path));
  CacheManifestProto manifest;
  if (const auto miss = ReadManifest(directory, path, &manifest))
    return absl::FailedPreconditionError(miss->detail);
  for (int i = -1; i < manifest.blobs_size(); ++i) {
    const std::string name = i < 0 ? kManifestName : absl::StrCat(i);
    if (linkat(directory.get(), name.c_str(), AT_FDCWD, (to / name).c_str(),
               0) == 0)
      continue;
    if (errno == ENOENT)
      return absl::NotFoundError(
          absl::StrCat((path / name).string(), " was removed"));
    AITUNE_ASSIGN_OR_RETURN(const std::string bytes,
                            ReadFileAt(directory, name, kMaxBlobBytes));
    AITUNE_RETURN_IF_ERROR(WriteFile(to / name, bytes));
  }
  return absl::OkStatus();
}

CacheListing InspectEntry(const std::filesystem::path& path,
                          const CacheKey& key) {
  CacheListing listing{key, 0, "", {}, {}};
  const absl::StatusOr<ScopedFd> directory = OpenDirectory(path);
  if (!directory.ok()) return listing;
  struct stat info;
  for (const std::string& name : ListDirectory(path)) {
    if (fstatat(directory->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) ==
        0)
      listing.bytes += info.st_size;
  }
  if (fstatat(directory->get(), kManifestName, &info, AT_SYMLINK_NOFOLLOW) == 0)
    listing.last_used = TimePoint(info.st_mtim);
  CacheManifestProto manifest;
  if (!ReadManifest(*directory, path, &manifest).has_value()) {
    listing.description = manifest.description();
    listing.created = std::chrono::system_clock::time_point(
        std::chrono::seconds(manifest.created_seconds()));
  }
  return listing;
}

void TouchEntry(const std::filesystem::path& path) {
  utimensat(AT_FDCWD, (path / kManifestName).c_str(), nullptr,
            AT_SYMLINK_NOFOLLOW);
}

}  // namespace aitune
