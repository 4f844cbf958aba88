#include "frontend/checkpoint/checkpoint.h"

#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "frontend/checkpoint/checkpoint.pb.h"
#include "frontend/checkpoint/weight_codes.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/substitution.h"
#include "frontend/values/gpu.h"
#include "runtime/backend/registry.h"
#include "runtime/bundle/message_bytes.h"
#include "runtime/bundle/private_folder.h"
#include "runtime/control/control.h"
#include "runtime/device/device.h"
#include "runtime/hash/sha256.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

namespace fs = std::filesystem;

constexpr int kVersion = 3;
// With parts that weight_codes.h describes, without which the model is wrong.
constexpr int kVersionWithCodes = 4;
constexpr char kCheckpoint[] = "checkpoint";
constexpr char kModel[] = "model.pt";

absl::StatusOr<std::string> Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    return absl::DataLossError(absl::StrCat(path.string(), ": can't be read"));
  return bytes;
}

absl::Status CheckSubstitutions(const CheckpointProto& proto,
                                const fs::path& path) {
  const std::map<std::string, std::string> here = Substitutions();
  for (const auto& [op, source] : proto.substitutions()) {
    const auto found = here.find(op);
    if (found != here.end() && found->second == source) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        path.string(), ": was made with a replacement of ", op,
        found == here.end() ? " that this process lacks"
                            : ", and this process has another one",
        "; call SubstituteInGraph with it before loading:\n", source));
  }
  return absl::OkStatus();
}

// Whether the parts of a checkpoint, of which these are the digests, are those
// that were saved together: each of two checkpoints fits its own checksums, and
// machine code of the one would compute with weights of the other.
absl::Status CheckParts(const CheckpointProto& proto,
                        const BlobDigests& digests, const fs::path& path) {
  const auto damaged = [&](const std::string& name, const char* what) {
    return absl::DataLossError(
        absl::StrCat(path.string(), ": the part ", name, what,
                     "; load the checkpoint as it was saved"));
  };
  for (const auto& [name, digest] : digests) {
    if (name == kCheckpoint) continue;
    const auto saved = proto.parts().find(name);
    if (saved == proto.parts().end())
      return damaged(name, " was added after the checkpoint was saved");
    if (saved->second != digest)
      return damaged(name,
                     " is not the one that was saved with the others: it was "
                     "exchanged or changed");
  }
  for (const auto& [name, digest] : proto.parts())
    if (digests.count(name) == 0) return damaged(name, " is missing");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> SaveCheckpoint(const Backend& backend,
                                           const TorchScriptSource& source,
                                           const fs::path& path,
                                           BundleFormat format) {
  const ScopedActivity activity(ScopedActivity::Kind::kExport);
  CheckpointProto proto;
  proto.set_version(kVersion);
  proto.set_module(source.name());
  AITUNE_ASSIGN_OR_RETURN(const int64_t state, source.StateNumber());
  AITUNE_ASSIGN_OR_RETURN(const std::string hash, source.Sha256());
  proto.set_model_sha256(hash);
  AITUNE_ASSIGN_OR_RETURN(*proto.mutable_backend(), backend.ToDict());
  AITUNE_ASSIGN_OR_RETURN(const auto substitutions,
                          SubstitutionsOf(source.model()));
  proto.mutable_substitutions()->insert(substitutions.begin(),
                                        substitutions.end());
  Blobs blobs;
  std::map<std::string, ArtifactBlobs> versions;  // by names of parts
  std::map<std::string, fs::path> files;
  for (ArtifactProto& artifact :
       *proto.mutable_backend()->mutable_artifacts()) {
    const std::string name = absl::StrCat("artifacts/", artifact.name());
    files[name] = artifact.path();
    AITUNE_ASSIGN_OR_RETURN(Blobs version, ReadBundle(artifact.path()));
    versions[name] = {std::move(version[kModelBlob]),
                      std::move(version[kConstantsBlob])};
    artifact.set_path(name);
  }
  {
    const auto held = source.HoldState();
    AITUNE_ASSIGN_OR_RETURN(const int64_t now, source.StateNumber());
    if (now != state && !source.SharesState())
      return absl::AbortedError(
          absl::StrCat(source.name(),
                       ": calls changed the model's state while it was saved; "
                       "save it again"));
    AITUNE_ASSIGN_OR_RETURN(const std::optional<Model> stripped,
                            TakeOutWeights(source, &versions, &proto, &blobs));
    AITUNE_ASSIGN_OR_RETURN(blobs[kModel],
                            ModelBytes(stripped ? *stripped : source.model()));
  }
  if (HasCodes(blobs)) proto.set_version(kVersionWithCodes);
  for (auto& [name, version] : versions) {
    AITUNE_RETURN_IF_ERROR(
        WriteBundle(files[name],
                    {{kModelBlob, std::move(version.model)},
                     {kConstantsBlob, std::move(version.constants)}},
                    BundleFormat::kFile)
            .status());
    AITUNE_ASSIGN_OR_RETURN(blobs[name], Contents(files[name]));
    std::error_code ignored;  // It is removed with the backend at the latest.
    fs::remove(files[name], ignored);
  }
  for (const auto& [name, bytes] : blobs)
    (*proto.mutable_parts())[name] = Sha256Hex(bytes);
  AITUNE_ASSIGN_OR_RETURN(blobs[kCheckpoint], MessageBytes(proto));
  return WriteBundle(path, blobs, format);
}

namespace {

// How the model is read from its part.
enum class Reading {
  kOnce,   // its memory goes meanwhile; kAborted if that can't be done
  kTwice,  // it stays until the model is there
};

// The checkpoint of these blobs. `path` is what errors call it.
absl::StatusOr<LoadedCheckpoint> FromBlobs(Blobs blobs,
                                           const BlobDigests& digests,
                                           const fs::path& path,
                                           Reading reading) {
  CheckpointProto proto;
  if (blobs.count(kModel) == 0 || !proto.ParseFromString(blobs[kCheckpoint]))
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": is no checkpoint of a model"));
  if (proto.version() != (HasCodes(blobs) ? kVersionWithCodes : kVersion))
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": was saved by another version (", proto.version(),
        "; this is ", HasCodes(blobs) ? kVersionWithCodes : kVersion,
        "); save it again with this one"));
  AITUNE_RETURN_IF_ERROR(CheckParts(proto, digests, path));
  AITUNE_RETURN_IF_ERROR(CheckSubstitutions(proto, path));
  // LibTorch looks for CUDA once, before the first tensor. Without the GPU it
  // can still be deployed elsewhere; deploying it there says what is missing.
  const absl::StatusOr<Device> device = Device::Parse(proto.backend().device());
  if (device.ok() && device->is_gpu()) StartLibTorchCuda(*device).IgnoreError();
  AITUNE_ASSIGN_OR_RETURN(Model model,
                          reading == Reading::kOnce
                              ? ModelFromOwnBytes(std::move(blobs[kModel]))
                              : ModelFromBytes(blobs[kModel]));
  blobs.erase(kModel);
  AITUNE_RETURN_IF_ERROR(PutBackWeights(path.string(), &blobs, &model));
  // Read by the backend while it is loaded, and not after.
  AITUNE_ASSIGN_OR_RETURN(const std::unique_ptr<PrivateFolder> folder,
                          PrivateFolder::Make());
  int number = 0;
  for (ArtifactProto& artifact :
       *proto.mutable_backend()->mutable_artifacts()) {
    const auto blob = blobs.find(artifact.path());
    if (blob == blobs.end())
      return absl::DataLossError(absl::StrCat(path.string(), ": the part ",
                                              artifact.path(), " is missing"));
    const fs::path file = folder->path() / absl::StrCat(number++);
    std::ofstream stream(file, std::ios::binary);
    stream << blob->second;
    stream.close();
    if (!stream)
      return absl::ResourceExhaustedError(
          absl::StrCat(file.string(), ": can't be written"));
    artifact.set_path(file.string());
    blob->second = std::string();
  }
  LoadedCheckpoint loaded;
  loaded.source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(std::move(model)), proto.module(),
      std::nullopt, proto.model_sha256());
  AITUNE_ASSIGN_OR_RETURN(loaded.backend,
                          BackendFromDict(loaded.source, proto.backend()));
  return loaded;
}

// `read` gives the blobs and their digests.
absl::StatusOr<LoadedCheckpoint> Load(
    absl::FunctionRef<absl::StatusOr<Blobs>(BlobDigests* digests)> read,
    const fs::path& path) {
  absl::StatusOr<LoadedCheckpoint> loaded;
  for (const Reading reading : {Reading::kOnce, Reading::kTwice}) {
    BlobDigests digests;
    AITUNE_ASSIGN_OR_RETURN(Blobs blobs, read(&digests));
    loaded = FromBlobs(std::move(blobs), digests, path, reading);
    if (!absl::IsAborted(loaded.status())) break;
  }
  return loaded;
}

}  // namespace

absl::StatusOr<LoadedCheckpoint> LoadCheckpoint(
    const fs::path& path, std::optional<std::string_view> digest) {
  return Load(
      [&](BlobDigests* digests) { return ReadBundle(path, digest, digests); },
      path);
}

absl::StatusOr<LoadedCheckpoint> LoadCheckpointBytes(
    std::string_view bytes, std::optional<std::string_view> digest) {
  constexpr char kName[] = "the checkpoint in memory";
  return Load(
      [&](BlobDigests* digests) {
        return ParseBundle(bytes, digest, kName, digests);
      },
      kName);
}

}  // namespace aitune::frontend
