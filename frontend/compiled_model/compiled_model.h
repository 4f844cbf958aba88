// A TorchScript model compiled for this machine: what an embedder calls, and
// what the command line is made of.
//
//   auto model = Model::Load("model.pt");
//   auto compiled = CompiledModel::Build(*model, {specs, samples}, {});
//   auto result = (*compiled)->Run(arguments);   // any nesting, any thread
//
// Loading and running need no compiler (target :compiled_model); Build needs
// one only for what its cache does not have (target :session has both).
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_COMPILED_MODEL_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_COMPILED_MODEL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/compiled_model/artifact.h"
#include "frontend/compiled_model/build_report.h"
#include "frontend/compiled_model/model_inputs.h"
#include "frontend/torchscript/model.h"
#include "frontend/trace/structure.h"
#include "frontend/tracing/build_trace.h"
#include "runtime/cache/cache.h"
#include "runtime/executable/executable.h"

namespace aitune::frontend {

// kInvalidArgument for options that have no effect on what `options.device`
// names, such as a target on a GPU: who asks for them expects one.
absl::Status CheckCompileOptions(const CompileOptions& options);

struct BuildOptions {
  CompileOptions compile;
  TraceOptions trace;
  // Where builds are looked up and kept; null: nowhere. Not used when there is
  // something to be dumped or printed on the way.
  Cache* cache = nullptr;
  // Whether Run compiles further versions for sizes in the ranges asked for
  // that the first one is not right for (model_versions.h).
  bool all_sizes = false;
  // On a GPU: record calls as CUDA graphs.
  bool cuda_graphs = true;
  // Keep the artifact in memory when it is not in the cache.
  bool keep_artifact = false;
  // ModelSha256 of the model if it is known already, to hash it once for many
  // builds.
  std::string model_sha256;
};

class ModelVersions;

class CompiledModel {
 public:
  ~CompiledModel();

  // Traces, compiles and loads `model` for inputs of these kinds, or takes what
  // the cache has of exactly that; the model is only read, and must stay.
  // Whatever the cache has that does not fit or can't be loaded is compiled
  // anew. Errors: those of CheckCompileOptions, kInvalidArgument when the
  // inputs do not fit forward or the model raises for them, and those of
  // CompileTrace and CpuExecutable::Load. Takes seconds; options.compile.progress
  // tells where it is.
  static absl::StatusOr<std::unique_ptr<CompiledModel>> Build(
      const Model& model, const ModelInputs& inputs,
      const BuildOptions& options);

  // Loads what an artifact holds, for the CPU or, if its plan says so, for the
  // GPU `gpu`. Parts that LibTorch runs are those of
  // `trace`; without it (null) the model is traced again where there are any.
  // Errors: those of CpuExecutable::Load, and kFailedPrecondition when the
  // trace is another one than the artifact was made from.
  static absl::StatusOr<std::unique_ptr<CompiledModel>> FromParts(
      const Model& model, CompiledParts parts, const Trace* trace, int gpu = -1,
      bool cuda_graphs = true);

  // Runs the model on tensors of the device that it was compiled for (on a GPU
  // queued on LibTorch's current stream) in the nesting and dtypes it was built
  // for, with dynamic axes in their ranges. Inputs are read in place when they
  // are contiguous; the result is freshly allocated. kInvalidArgument names
  // what does not fit; with kTakeConstants numbers and strings are those that
  // it was built for, whatever is given. A program that asks for strides or
  // contiguity takes contiguous tensors only. With all_sizes a call may take
  // the seconds that a further version needs. Thread-safe; concurrent calls run
  // concurrently.
  absl::StatusOr<c10::IValue> Run(
      const ValueList& arguments,
      ConstantCheck check = ConstantCheck::kCheck) const;

  // As Run, from the leaves of the arguments to those of the result
  // (frontend/trace/structure.h): what a caller has who took them apart for
  // guards. A tensor on a GPU is an opaque leaf. Tensors are contiguous if the
  // program asks for strides. This version alone, whatever all_sizes says.
  // LibTorch's exceptions may leave it.
  absl::StatusOr<std::vector<OwnedValue>> RunLeaves(
      absl::Span<const RegionValue> leaves,
      ConstantCheck check = ConstantCheck::kCheck) const;

  // Whether this version is right for the sizes and dtypes of `arguments`.
  bool Fits(const ValueList& arguments) const;

  // This version and those made since for other sizes, in that order.
  std::vector<const CompiledModel*> versions() const;

  // The error of an earlier call on a GPU, for which Run has returned before
  // the GPU found an index out of range: sure to be known once the result was
  // waited for. The next Run gives it otherwise. OK on the CPU, where Run
  // itself gives it. Thread-safe.
  absl::Status TakeFailedCheck() const;

  // The median time of each step over `repeats` runs, in the plan's order.
  absl::StatusOr<std::vector<StepProfile>> Profile(const ValueList& arguments,
                                                   int repeats) const;

  const BuildReport& report() const { return report_; }
  const CacheReport& cache() const { return cache_; }
  // With BuildOptions::keep_artifact, unless the cache has it; else null.
  const std::shared_ptr<const ArtifactBlobs>& artifact() const {
    return artifact_;
  }
  const ExecutablePlan& plan() const { return executable_->plan(); }
  // The GPU that it was compiled for; -1: the CPU.
  int gpu() const { return gpu_; }
  // Why a model on a GPU runs without a CUDA graph; empty when it has one.
  std::string GraphReason() const { return executable_->GraphReason(); }
  const Structure& input_structure() const { return inputs_.structure(); }
  const Structure& output_structure() const { return output_structure_; }
  // Arenas, packed constants and library scratch now held; on a GPU its memory.
  int64_t MemoryInBytes() const { return executable_->MemoryInBytes(); }
  // Phase and seconds, in order: trace, import, the compiler's, load; or those
  // of the cache.
  const std::vector<std::pair<std::string, double>>& phase_seconds() const {
    return phase_seconds_;
  }

  // What is told of this version.
  BuiltVersion Describe() const;

  // The values of the plan's symbols for these arguments.
  absl::StatusOr<std::vector<int64_t>> SymbolValues(
      const ValueList& arguments) const;

 private:
  CompiledModel() = default;

  // What a run reads and writes.
  struct Call {
    FlatTensors inputs;
    OutputBuffers outputs;
  };
  absl::StatusOr<Call> Prepare(FlatTensors inputs) const;
  absl::StatusOr<Call> Prepare(const ValueList& arguments,
                               ConstantCheck check) const;
  absl::Status Execute(Call& call) const;

  InputNesting inputs_;
  Structure output_structure_;
  std::string layout_query_;  // of FindLayoutQuery
  std::unique_ptr<Executable> executable_;
  int gpu_ = -1;
  BuildReport report_;
  CacheReport cache_;
  std::shared_ptr<const ArtifactBlobs> artifact_;
  std::unique_ptr<ModelVersions> others_;  // null without all_sizes
  std::vector<std::pair<std::string, double>> phase_seconds_;
};

// The trace that a build is made from: of the specs where an axis is dynamic,
// else of the samples. Errors as BuildTrace.
absl::StatusOr<Trace> MakeTrace(const Model& model, const ModelInputs& inputs,
                                const TraceOptions& options);

// A hash of what a trace computes; constants count by name.
std::string TraceSha256(const Trace& trace);

// The IR of `phase` for `model`: what --compile-to prints.
absl::StatusOr<std::string> CompileToIr(const Model& model,
                                        const ModelInputs& inputs,
                                        const BuildOptions& options);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_COMPILED_MODEL_H_
