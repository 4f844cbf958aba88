// Versions of a model as they are kept without being loaded, and their form in
// a checkpoint.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_KEPT_VERSION_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_KEPT_VERSION_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/backends/torch_backend_state.pb.h"
#include "frontend/compiled_model/artifact.h"
#include "frontend/compiled_model/compiled_model.h"
#include "runtime/backend/backend_state.pb.h"
#include "runtime/cache/cache.h"
#include "runtime/guards/input_description.h"

namespace aitune::frontend {

// A version as it is kept without being loaded: in the cache or in memory.
struct KeptVersion {
  std::string key;                                // in the cache, as text
  std::shared_ptr<const ArtifactBlobs> artifact;  // null: in the cache
  std::vector<InputDescription> inputs;           // that the version is for
  std::weak_ptr<const CompiledModel> loaded;      // where it is loaded
  // Its entry, which others may remove from the cache; null if it is in memory,
  // or could not be held.
  std::shared_ptr<const HeldEntry> entry;
};

// Keeps the stored form that `version` has in `cache` (which may be null), or
// in memory.
KeptVersion Keep(const std::shared_ptr<const CompiledModel>& version,
                 std::vector<InputDescription> inputs, Cache* cache);

// The stored form of `version`, from memory, from its entry, or from `cache`
// (which may be null). kFailedPrecondition if it has none, kDataLoss if it
// could not be held and the cache lost it, or the cache's folder is gone.
absl::StatusOr<ArtifactBlobs> BlobsOf(const KeptVersion& version, Cache* cache);

// Writes each of `versions` to a file in `folder` and adds the files to `state`
// and what the versions are for to `more`. Files are named by numbers, from
// `count` on, which counts on. Errors as BlobsOf, and of writing.
absl::Status SaveVersions(absl::Span<const KeptVersion> versions, Cache* cache,
                          const std::filesystem::path& folder, int64_t& count,
                          BackendStateProto* state,
                          TorchBackendStateProto* more);

// What SaveVersions wrote.
absl::StatusOr<std::vector<KeptVersion>> LoadVersions(
    const BackendStateProto& state, const TorchBackendStateProto& more);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_KEPT_VERSION_H_
