#include "frontend/backends/compiled/kept_version.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/backends/compiled/version_inputs.h"
#include "runtime/bundle/bundle.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

KeptVersion Keep(const std::shared_ptr<const CompiledModel>& version,
                 std::vector<InputDescription> inputs, Cache* cache) {
  KeptVersion kept;
  kept.key = version->cache().key;
  kept.artifact = version->artifact();
  kept.inputs = std::move(inputs);
  kept.loaded = version;
  const std::optional<CacheKey> key = CacheKey::Parse(kept.key);
  if (kept.artifact != nullptr || cache == nullptr || !key) return kept;
  auto entry = cache->Hold(*key);
  if (entry.ok()) kept.entry = *std::move(entry);
  return kept;
}

absl::StatusOr<ArtifactBlobs> BlobsOf(const KeptVersion& version,
                                      Cache* cache) {
  if (version.artifact != nullptr) return *version.artifact;
  const std::optional<CacheKey> key = CacheKey::Parse(version.key);
  if (!key || cache == nullptr)
    return absl::FailedPreconditionError(
        "this model has no stored form: it can't be told from others, or its "
        "inputs can't be described");
  if (const auto loaded = version.loaded.lock()) {
    const CacheReport& report = loaded->cache();
    if (report.outcome == CacheReport::Outcome::kMiss && !report.stored)
      return absl::FailedPreconditionError(
          absl::StrCat("this model has no stored form: ", report.detail));
  }
  CacheLookup found;
  if (version.entry != nullptr) found = version.entry->Read();
  if (!found.entry) found = cache->Find(*key);
  if (!found.entry)
    return absl::DataLossError(
        absl::StrCat("the compiled model is no longer in the cache in ",
                     cache->folder().string(), " (",
                     std::string(Name(found.reason)), "); build it again"));
  auto& blobs = found.entry->blobs;
  return ArtifactBlobs{std::move(blobs[kModelBlob]),
                       std::move(blobs[kConstantsBlob])};
}

absl::Status SaveVersions(absl::Span<const KeptVersion> versions, Cache* cache,
                          const std::filesystem::path& folder, int64_t& count,
                          BackendStateProto* state,
                          TorchBackendStateProto* more) {
  for (size_t i = 0; i < versions.size(); ++i) {
    AITUNE_ASSIGN_OR_RETURN(ArtifactBlobs blobs, BlobsOf(versions[i], cache));
    const std::string name = absl::StrCat("version", i);
    const std::filesystem::path path = folder / absl::StrCat(count++);
    AITUNE_RETURN_IF_ERROR(
        WriteBundle(path,
                    {{kModelBlob, std::move(blobs.model)},
                     {kConstantsBlob, std::move(blobs.constants)}},
                    BundleFormat::kFile)
            .status());
    ArtifactProto& artifact = *state->add_artifacts();
    artifact.set_name(name);
    artifact.set_path(path.string());
    VersionProto& version = *more->add_versions();
    version.set_artifact(name);
    for (const InputDescription& input : versions[i].inputs)
      *version.add_inputs() = ToProto(input);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<KeptVersion>> LoadVersions(
    const BackendStateProto& state, const TorchBackendStateProto& more) {
  std::map<std::string, std::string> paths;
  for (const ArtifactProto& artifact : state.artifacts())
    paths[artifact.name()] = artifact.path();
  std::vector<KeptVersion> versions;
  for (const VersionProto& version : more.versions()) {
    KeptVersion& loaded = versions.emplace_back();
    for (const InputDescriptionProto& input : version.inputs()) {
      AITUNE_ASSIGN_OR_RETURN(InputDescription description, FromProto(input));
      loaded.inputs.push_back(std::move(description));
    }
    AITUNE_ASSIGN_OR_RETURN(Blobs blobs, ReadBundle(paths[version.artifact()]));
    loaded.artifact = std::make_shared<const ArtifactBlobs>(ArtifactBlobs{
        std::move(blobs[kModelBlob]), std::move(blobs[kConstantsBlob])});
  }
  return versions;
}

}  // namespace aitune::frontend
