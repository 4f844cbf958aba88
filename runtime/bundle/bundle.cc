#include "runtime/bundle/bundle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/bundle/bundle.pb.h"
#include "runtime/bundle/bundle_file.h"
#include "runtime/bundle/staged_file.h"
#include "runtime/bundle/write_folder.h"
#include "runtime/hash/sha256.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

namespace fs = std::filesystem;

// A file is: magic, size of the index (8 bytes, little endian), SHA-256 of the
// index, the index, the blobs at aligned offsets. A folder has the first four
// in its file "index" and each blob in a file of its own.
constexpr char kMagic[] = "AITUNEB1";
constexpr size_t kMagicBytes = 8, kHeaderBytes = kMagicBytes + 8 + 32;
constexpr size_t kAlignment = 64;
constexpr char kIndexFile[] = "index";
constexpr uint64_t kLargestIndex = size_t{64} << 20;

absl::Status NoBundle(const fs::path& path, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(),
                   ": not a checkpoint that this version can "
                   "read: ",
                   why));
}

absl::Status Damaged(const fs::path& path, const std::string& why) {
  return absl::DataLossError(absl::StrCat(path.string(), ": damaged: ", why));
}

// A file that is read, and how many bytes it has.
struct OpenedFile {
  std::unique_ptr<const File> file;
  uint64_t size = 0;
};

absl::StatusOr<OpenedFile> OpenFile(const fs::path& path) {
  // Without O_NONBLOCK, opening a pipe would wait for its other end. The flag
  // changes nothing for regular files.
  auto file = std::make_unique<const File>(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file->descriptor() < 0) return SystemError(path, "can't be read", errno);
  struct stat status = {};
  if (fstat(file->descriptor(), &status) != 0)
    return SystemError(path, "can't be read", errno);
  if (!S_ISREG(status.st_mode)) return NoBundle(path, "it is no regular file");
  return OpenedFile{std::move(file), static_cast<uint64_t>(status.st_size)};
}

// `size` bytes of the file `path` from `position` on, which it had when it was
// opened.
absl::StatusOr<std::string> ReadPart(const OpenedFile& file,
                                     const fs::path& path, uint64_t position,
                                     uint64_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(file.file->descriptor(), bytes.data() + done, bytes.size() - done,
              static_cast<off_t>(position + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path, "can't be read", errno);
    if (got == 0) return Damaged(path, "it became shorter");
    done += got;
  }
  return bytes;
}

absl::StatusOr<std::string> ReadFile(const fs::path& path) {
  AITUNE_ASSIGN_OR_RETURN(const OpenedFile file, OpenFile(path));
  return ReadPart(file, path, 0, file.size);
}

std::string Bytes(const Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

size_t AlignUp(size_t value) {
  return (value + kAlignment - 1) & ~(kAlignment - 1);
}

// The header and the index after it.
std::string Head(const std::string& index) {
  std::string head(kMagic, kMagicBytes);
  for (int i = 0; i < 8; ++i)
    head.push_back(static_cast<char>(uint64_t{index.size()} >> (8 * i)));
  return head + Bytes(Sha256Of(index)) + index;
}

struct Index {
  BundleIndexProto proto;
  size_t bytes = 0;  // bytes of the head
  std::string digest;
};

// What a header, which has no fewer bytes than one, says.
uint64_t IndexSize(std::string_view header) {
  uint64_t size = 0;
  for (int i = 0; i < 8; ++i)
    size |= uint64_t{static_cast<uint8_t>(header[kMagicBytes + i])} << (8 * i);
  return size;
}

absl::StatusOr<Index> ParseHead(const fs::path& path, std::string_view bytes,
                                std::optional<std::string_view> digest) {
  if (digest &&
      (digest->size() != 2 * std::tuple_size_v<Sha256Digest> ||
       !std::all_of(digest->begin(), digest->end(), absl::ascii_isxdigit)))
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(*digest),
                     "\" is no digest of a bundle, "
                     "which has 64 hexadecimal digits"));
  if (bytes.size() < kHeaderBytes ||
      bytes.substr(0, kMagicBytes) != std::string_view(kMagic, kMagicBytes))
    return NoBundle(path, "it does not begin like one");
  const uint64_t size = IndexSize(bytes);
  if (size > kLargestIndex || size > bytes.size() - kHeaderBytes)
    return Damaged(path, "it is too short");
  const std::string_view text = bytes.substr(kHeaderBytes, size);
  Index index;
  const Sha256Digest hash = Sha256Of(text);
  if (bytes.substr(kMagicBytes + 8, 32) != Bytes(hash))
    return Damaged(path, "its index does not fit the checksum");
  index.digest = ToHex(hash);
  if (digest && absl::AsciiStrToLower(std::string(*digest)) != index.digest)
    return absl::DataLossError(
        absl::StrCat(path.string(),
                     ": is another checkpoint, or was changed: its digest is ",
                     index.digest, ", not ", std::string(*digest)));
  if (!index.proto.ParseFromArray(text.data(), static_cast<int>(text.size())))
    return Damaged(path, "its index can't be read");
  index.bytes = kHeaderBytes + size;
  return index;
}

// Adds the blob's digest to `digests`, unless it is null.
absl::Status CheckBlob(const fs::path& path, const BundleEntryProto& entry,
                       std::string_view bytes, BlobDigests* digests) {
  if (bytes.size() != entry.size())
    return Damaged(path, absl::StrCat(entry.name(), " has ", bytes.size(),
                                      " bytes instead of ", entry.size()));
  const Sha256Digest digest = Sha256Of(bytes);
  if (Bytes(digest) != entry.sha256())
    return Damaged(path,
                   absl::StrCat(entry.name(), " does not fit its checksum"));
  if (digests != nullptr) (*digests)[entry.name()] = ToHex(digest);
  return absl::OkStatus();
}

// Refuses links among the folders that lead to a blob.
absl::Status CheckFolders(const fs::path& root, const std::string& name) {
  fs::path folder = root;
  for (const fs::path& part : fs::path(name).parent_path()) {
    folder /= part;
    std::error_code error;
    const fs::file_status status = fs::symlink_status(folder, error);
    if (fs::is_symlink(status))
      return absl::InvalidArgumentError(absl::StrCat(
          folder.string(), ": is a link, which a bundle can't have"));
  }
  return absl::OkStatus();
}

// What is at a path is replaced, which harms devices and the like.
absl::Status CheckIsReplaceable(const fs::path& path) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (!fs::exists(there) || fs::is_regular_file(there) ||
      fs::is_directory(there))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(),
                   " is a device, pipe or socket: name a file "
                   "or folder that may be replaced"));
}

// Whether a bundle with `blobs` may have another one of this name.
absl::Status CheckName(const fs::path& path, const std::string& name,
                       const Blobs& blobs) {
  if (!IsBlobName(name))
    return NoBundle(path,
                    absl::StrCat("the name '", name, "' leads out of it"));
  if (blobs.count(name) > 0)
    return NoBundle(path, absl::StrCat("two parts ", name));
  return absl::OkStatus();
}

absl::StatusOr<Blobs> ReadFolder(const fs::path& path,
                                 std::optional<std::string_view> digest,
                                 BlobDigests* digests) {
  AITUNE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path / kIndexFile));
  AITUNE_ASSIGN_OR_RETURN(const Index index, ParseHead(path, bytes, digest));
  if (index.bytes != bytes.size())
    return Damaged(path,
                   absl::StrCat("its index goes on at byte ", index.bytes));
  Blobs blobs;
  for (const BundleEntryProto& entry : index.proto.entries()) {
    AITUNE_RETURN_IF_ERROR(CheckName(path, entry.name(), blobs));
    AITUNE_RETURN_IF_ERROR(CheckFolders(path, entry.name()));
    absl::StatusOr<std::string> blob = ReadFile(path / entry.name());
    if (absl::IsNotFound(blob.status()))
      return Damaged(path, absl::StrCat(entry.name(), " is missing"));
    if (!blob.ok()) return blob.status();
    AITUNE_RETURN_IF_ERROR(CheckBlob(path, entry, *blob, digests));
    blobs.emplace(entry.name(), *std::move(blob));
  }
  return blobs;
}

}  // namespace

bool IsBlobName(std::string_view name) {
  if (name == kIndexFile || name.size() > 255) return false;
  for (const char c : name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                         c == '-' || c == '/';
    if (!allowed) return false;
  }
  for (absl::string_view part :
       absl::StrSplit(absl::string_view(name.data(), name.size()), '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

absl::Status CheckBundlePath(const fs::path& given, BundleFormat format) {
  // "file/" is no name of a file.
  const fs::path path = given.has_filename() ? given : given.parent_path();
  AITUNE_RETURN_IF_ERROR(CheckIsReplaceable(path));
  std::error_code error;
  const bool wants_folder = format == BundleFormat::kFolder;
  if (fs::is_directory(path, error) != wants_folder && fs::exists(path, error))
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), wants_folder ? ": is a file: name a folder, or a file"
                                      " without / at the end"
                                    : ": is a folder: name a file in it, or an "
                                      "empty folder with / at the end"));
  if (wants_folder && fs::exists(path, error) && !fs::is_empty(path, error))
    return absl::AlreadyExistsError(
        absl::StrCat(path.string(), ": is not an empty folder"));
  fs::path folder = wants_folder ? path : path.parent_path();
  // Folders are made on the way to a folder, and not to a file.
  while (wants_folder && !folder.empty() && !fs::exists(folder, error))
    folder = folder.parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, error))
    return absl::NotFoundError(
        absl::StrCat(path.string(), ": there is no folder ", folder.string(),
                     "; make it, or give another path"));
  if (access(folder.c_str(), W_OK) != 0)
    return SystemError(folder, "can't be written", errno);
  return absl::OkStatus();
}

absl::StatusOr<std::string> WriteBundle(const fs::path& path,
                                        const Blobs& blobs,
                                        BundleFormat format) {
  AITUNE_RETURN_IF_ERROR(CheckIsReplaceable(path));
  BundleIndexProto proto;
  for (const auto& [name, bytes] : blobs) {
    if (!IsBlobName(name))
      return absl::InvalidArgumentError(absl::StrCat(
          "a checkpoint can't have a part of the name '", name, "'"));
    BundleEntryProto& entry = *proto.add_entries();
    entry.set_name(name);
    entry.set_size(bytes.size());
    entry.set_sha256(Bytes(Sha256Of(bytes)));
  }
  if (format == BundleFormat::kFolder) {
    const std::string index = proto.SerializeAsString();
    const std::string head = Head(index);
    std::vector<FolderFile> files(blobs.begin(), blobs.end());
    files.emplace_back(kIndexFile, head);  // nothing is a bundle without it
    AITUNE_RETURN_IF_ERROR(WriteFolder(path, files));
    return Sha256Hex(index);
  }
  // Offsets count from the end of the index, whose size they would change.
  size_t offset = 0;
  for (BundleEntryProto& entry : *proto.mutable_entries()) {
    entry.set_offset(offset);
    offset = AlignUp(offset + entry.size());
  }
  const std::string index = proto.SerializeAsString();
  std::string head = Head(index);
  head.resize(AlignUp(head.size()));
  const std::string padding(kAlignment, '\0');
  std::vector<std::string_view> parts = {head};
  for (const auto& [name, bytes] : blobs) {
    parts.push_back(bytes);
    parts.push_back(std::string_view(padding).substr(
        0, AlignUp(bytes.size()) - bytes.size()));
  }
  // Threads and processes may save to one path at once: the last one wins.
  RemoveDeadStagedFiles(path);
  fs::path staged;
  const File file(OpenStagedFile(path, &staged));
  absl::Status status = WriteParts(file, staged, parts);
  if (status.ok()) {
    std::error_code error;
    fs::rename(staged, path, error);
    if (error) status = SystemError(path, "can't be written", error.value());
  }
  if (!status.ok()) {
    std::error_code error;
    fs::remove(staged, error);
    return status;
  }
  AITUNE_RETURN_IF_ERROR(SyncFolder(path.parent_path()));
  return Sha256Hex(index);
}

bool IsBundle(const fs::path& path) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  const fs::path head = folder ? path / kIndexFile : path;
  if (!fs::is_regular_file(head, error)) return false;
  char magic[kMagicBytes] = {};
  std::ifstream file(head, std::ios::binary);
  return file.read(magic, kMagicBytes) &&
         std::string_view(magic, kMagicBytes) == kMagic;
}

namespace {

// The blobs of a file of `size` bytes with this index, of which `read` gives
// those at a position.
absl::StatusOr<Blobs> BlobsOf(const Index& index, uint64_t size,
                              const std::string& name,
                              absl::FunctionRef<absl::StatusOr<std::string>(
                                  uint64_t position, uint64_t size)>
                                  read,
                              BlobDigests* digests) {
  const uint64_t begin = AlignUp(index.bytes);
  // What no digest covers: from the end of the index or of a blob, at `from`,
  // to the next aligned place.
  const auto check_padding = [&](uint64_t from) -> absl::Status {
    const uint64_t bytes = AlignUp(from) - from;
    if (from > size || bytes > size - from)
      return Damaged(name, "its end is missing");
    AITUNE_ASSIGN_OR_RETURN(const std::string padding, read(from, bytes));
    if (padding != std::string(bytes, '\0'))
      return Damaged(name, absl::StrCat("something is written at byte ", from,
                                        ", between its parts"));
    return absl::OkStatus();
  };
  AITUNE_RETURN_IF_ERROR(check_padding(index.bytes));
  // Where the blob before ended: blobs that share bytes would make a small file
  // a large one in memory.
  uint64_t end = 0;
  Blobs blobs;
  for (const BundleEntryProto& entry : index.proto.entries()) {
    AITUNE_RETURN_IF_ERROR(CheckName(name, entry.name(), blobs));
    if (begin > size || entry.offset() > size - begin ||
        entry.size() > size - begin - entry.offset())
      return Damaged(name, absl::StrCat("it ends within ", entry.name()));
    if (entry.offset() < end)
      return Damaged(name, absl::StrCat(entry.name(),
                                        " begins within the part before it"));
    if (entry.offset() != AlignUp(end))
      return Damaged(name, absl::StrCat(entry.name(),
                                        " begins behind the part before it"));
    end = entry.offset() + entry.size();
    AITUNE_ASSIGN_OR_RETURN(std::string blob,
                            read(begin + entry.offset(), entry.size()));
    AITUNE_RETURN_IF_ERROR(CheckBlob(name, entry, blob, digests));
    AITUNE_RETURN_IF_ERROR(check_padding(begin + end));
    blobs.emplace(entry.name(), std::move(blob));
  }
  if (size != begin + AlignUp(end))
    return Damaged(name,
                   absl::StrCat("it goes on behind its last part, at byte ",
                                begin + AlignUp(end)));
  return blobs;
}

}  // namespace

absl::StatusOr<Blobs> ReadBundle(const fs::path& path,
                                 std::optional<std::string_view> digest,
                                 BlobDigests* digests) {
  std::error_code error;
  if (fs::is_directory(path, error)) return ReadFolder(path, digest, digests);
  AITUNE_ASSIGN_OR_RETURN(const OpenedFile file, OpenFile(path));
  const auto read = [&](uint64_t position, uint64_t size) {
    return ReadPart(file, path, position, size);
  };
  AITUNE_ASSIGN_OR_RETURN(std::string head,
                          read(0, std::min<uint64_t>(kHeaderBytes, file.size)));
  // A larger index is refused by what follows.
  if (head.size() == kHeaderBytes && IndexSize(head) <= kLargestIndex) {
    AITUNE_ASSIGN_OR_RETURN(
        head, read(0, std::min(kHeaderBytes + IndexSize(head), file.size)));
  }
  AITUNE_ASSIGN_OR_RETURN(const Index index, ParseHead(path, head, digest));
  return BlobsOf(index, file.size, path.string(), read, digests);
}

absl::StatusOr<Blobs> ParseBundle(std::string_view bytes,
                                  std::optional<std::string_view> digest,
                                  const std::string& name,
                                  BlobDigests* digests) {
  AITUNE_ASSIGN_OR_RETURN(const Index index, ParseHead(name, bytes, digest));
  const auto read = [&](uint64_t position,
                        uint64_t size) -> absl::StatusOr<std::string> {
    return std::string(bytes.substr(position, size));
  };
  return BlobsOf(index, bytes.size(), name, read, digests);
}

}  // namespace aitune
