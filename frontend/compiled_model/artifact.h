// A compiled model as bytes: what the on-disk cache and checkpoints hold.
//
// The plan, the object code and what the compiler made of the weights are
// stored; weights that are read as they are in the model are referred to by
// their position, so that an artifact is small and loading it reads them once.
// Nothing here needs the compiler: a process without LLVM loads artifacts.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_ARTIFACT_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_ARTIFACT_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/compiled_model/build_report.h"
#include "frontend/torchscript/model.h"
#include "frontend/trace/trace.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// Of the meaning of a stored plan, its kernels' calling convention and the
// constants' packed layouts. Increase it when any of them changes.
constexpr int kArtifactVersion = 3;

// What an executable is loaded from.
struct CompiledParts {
  ExecutablePlan plan;
  std::vector<std::string> objects;
  std::vector<ConstantTensor> constants;  // as the plan numbers them
  std::vector<RegionDefinition> regions;  // likewise
  Structure input_structure, output_structure;
  // Of the trace that the regions' operators are numbered in, and what to trace
  // the model with to have it again. Empty without regions.
  std::string trace_sha256;
  std::vector<std::string> input_specs;
  std::vector<int64_t> trace_anchor;  // TraceOptions::anchor of that trace
  // cuda::DescribeGpu of the GPU that the plan was made for; empty for a CPU.
  std::string gpu;
  BuildReport report;
};

// The blobs' names in a cache entry or a file.
inline constexpr char kModelBlob[] = "model";
inline constexpr char kConstantsBlob[] = "constants";

struct ArtifactBlobs {
  std::string model;      // CompiledModelProto
  std::string constants;  // data of constants that the model does not have
};

// Versions of what stored models depend on beside this code: "libtorch",
// "onednn".
std::map<std::string, std::string> LibraryVersions();

// The stored form of `parts`, which were compiled from `model` with the hash
// `model_sha256`. kUnimplemented when they have none (see structure_proto.h).
absl::StatusOr<ArtifactBlobs> WriteArtifact(const CompiledParts& parts,
                                            const Model& model,
                                            std::string_view model_sha256);

// The inverse; constants refer to the model's memory and to `constants`, which
// they keep. `gpu` is cuda::DescribeGpu of the GPU that is to run them, empty for
// the CPU. kFailedPrecondition, saying what differs, when they are for
// another kind of machine, other libraries, another model or another version;
// kInvalidArgument when they are damaged. The plan is checked when it is
// loaded, not here.
absl::StatusOr<CompiledParts> ReadArtifact(std::string_view model_blob,
                                           std::string constants,
                                           const Model& model,
                                           std::string_view model_sha256,
                                           std::string_view gpu = {});

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_ARTIFACT_H_
