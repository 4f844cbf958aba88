// A compiled model as bytes, which the on-disk cache and checkpoints store.
//
// An artifact holds the plan, the object code and the constants that the
// compiler computed from weights. Weights that kernels read unchanged are
// stored as their position in the model, so that an artifact is small and
// weights are read only once. Nothing here needs the compiler: a process
// without LLVM can load artifacts.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_ARTIFACT_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_ARTIFACT_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/compiled_model/build_report.h"
#include "frontend/torchscript/model.h"
#include "frontend/trace/trace.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// The version of the format: of the meaning of a stored plan, of its kernels'
// calling convention and of the constants' packed layouts. Increase it when any
// of them changes. The build is none of it: a service that runs what was saved
// is another program than the one that saved it, and reads what that one meant
// as long as the number is the same (entries of the cache have the build in
// their keys). artifact_version_test.cc asks for the number when a file changes
// that defines any of this.
constexpr int kArtifactVersion = 6;

struct ArtifactBlobs {
  std::string model;      // CompiledModelProto
  std::string constants;  // data of constants that are not in the model
};

// The compiled versions of a part of control flow (outlined_versions.h).
struct OutlinedParts {
  int program = 0;     // its position in Trace::outlined
  std::string sha256;  // OutlinedSha256 of it
  std::vector<std::shared_ptr<const ArtifactBlobs>> versions;
};

// Everything that an executable is loaded from.
struct CompiledParts {
  ExecutablePlan plan;
  std::vector<std::string> objects;       // object files, or cubins for a GPU
  std::vector<ConstantTensor> constants;  // in the order of the plan's indices
  std::vector<RegionDefinition> regions;  // in the order of the plan's indices
  std::vector<OutlinedParts> outlined;    // of these regions
  Structure input_structure, output_structure;
  // How to make the trace again that the plan was compiled from: the texts of
  // its InputSpecs, and its TraceOptions::anchor. The operators of regions are
  // positions in it; TraceSha256 of it is then here too, otherwise empty.
  std::string trace_sha256;
  std::vector<std::string> input_specs;
  std::vector<int64_t> trace_anchor;
  bool rolled_loops = false;
  // cuda::DescribeGpu of the GPU that the plan was made for; empty for a CPU.
  std::string gpu;
  BuildReport report;
};

// Alignment of the constants in ArtifactBlobs, in bytes.
constexpr size_t kConstantAlignment = 64;

// The blobs' names in a cache entry or a file.
inline constexpr char kModelBlob[] = "model";
inline constexpr char kConstantsBlob[] = "constants";

// The versions of the libraries that stored models depend on, by name:
// "libtorch", "onednn".
std::map<std::string, std::string> LibraryVersions();

// What artifacts say of the device that they are for: cuda::DescribeGpu of a
// GPU, whose errors it has; empty for the CPU.
absl::StatusOr<std::string> GpuOfArtifact(const Device& device);

// The stored form of `parts`, which were compiled from `model`, whose
// ModelSha256 is `model_sha256`. kUnimplemented when the structure of inputs or
// outputs has no stored form (see structure_proto.h).
absl::StatusOr<ArtifactBlobs> WriteArtifact(const CompiledParts& parts,
                                            const Model& model,
                                            std::string_view model_sha256);

// Reads what WriteArtifact wrote. Constants of the result refer to the model's
// memory and to `constants`, which they keep alive. `gpu` is GpuOfArtifact of
// the device that is to run the model. kFailedPrecondition, with the
// difference, when the artifact is for another kind of machine, other
// libraries, another model or another version; kInvalidArgument when it is
// damaged. The plan is not checked here but when it is loaded.
absl::StatusOr<CompiledParts> ReadArtifact(std::string_view model_blob,
                                           std::string constants,
                                           const Model& model,
                                           std::string_view model_sha256,
                                           std::string_view gpu = {});

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_ARTIFACT_H_
