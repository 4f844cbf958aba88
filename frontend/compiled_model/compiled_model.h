// A TorchScript model compiled for this machine. The command line and the
// compiling backend are built on it.
//
//   auto model = Model::Load("model.pt");
//   auto compiled = CompiledModel::Build(*model, {specs, samples}, {});
//   auto result = (*compiled)->Run(arguments);   // any nesting, any thread
//
// Loading and running need no compiler. Build needs it for models that are not
// in its cache: the program then links frontend/compiled_model/compile too (see
// compile_trace.h).
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_COMPILED_MODEL_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_COMPILED_MODEL_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/compiled_model/artifact.h"
#include "frontend/compiled_model/build_report.h"
#include "frontend/torchscript/input_queries.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "frontend/trace/input_nesting.h"
#include "frontend/trace/output_buffers.h"
#include "frontend/tracing/build_trace.h"
#include "runtime/backend/bound_call.h"
#include "runtime/cache/cache.h"
#include "runtime/control/host_allocator.h"
#include "runtime/device/device.h"
#include "runtime/executable/executable.h"

namespace aitune::frontend {

class OutlinedProgram;

// kInvalidArgument for options that have no effect on `options.device`, such as
// a target CPU on a GPU, because the user expects an effect. The text names the
// option.
absl::Status CheckCompileOptions(const CompileOptions& options);

// What is known of a build that gave a wrong result.
struct RepairRequest {
  ValueList arguments;  // for which the result was wrong, on the CPU
  std::vector<WrongCandidate> known;  // what was replaced so far
  // Whether to look for wrong kernels. Not where quantised layers are dropped.
  bool looks_through = true;
};

// Called after a part of a phase, as CompileOptions::progress.
using BuildProgress =
    std::function<void(const std::string& phase, int done, int total)>;

struct BuildOptions {
  CompileOptions compile;
  TraceOptions trace;
  // The cache in which builds are looked up and stored; null: none. Not used
  // when IR is to be dumped or printed, since that needs a compilation.
  Cache* cache = nullptr;
  // Whether Run compiles further versions for sizes that are in the ranges of
  // the inputs but that the first version is not right for (model_versions.h).
  bool all_sizes = false;
  // Whether calls on a GPU are recorded as CUDA graphs.
  bool cuda_graphs = true;
  // Whether to keep the artifact in memory if it is not in the cache.
  bool keep_artifact = false;
  // ModelSha256 of the model, if the caller knows it: many builds of one model
  // then hash it once. Empty: not known.
  std::string model_sha256;
  // Set for a build in place of one that was wrong (CompiledModel::Repair). It
  // is not taken from the cache, but stored there as the other was.
  std::optional<RepairRequest> repair;
};

class ModelVersions;
class VersionState;

class CompiledModel {
 public:
  ~CompiledModel();

  // Traces, compiles and loads `model` for inputs of these kinds, or loads it
  // from the cache if that has exactly this build. An entry of the cache that
  // does not fit or can't be loaded is compiled anew. The model is only read,
  // and must outlive the result. Errors: those of CheckCompileOptions,
  // kInvalidArgument when the inputs do not fit forward or the model raises for
  // them, and those of CompileTrace and CpuExecutable::Load. Takes seconds;
  // options.compile.progress is called meanwhile.
  static absl::StatusOr<std::unique_ptr<CompiledModel>> Build(
      const Model& model, const ModelInputs& inputs,
      const BuildOptions& options);

  // Loads the parts of an artifact, for the CPU or, if the plan is for a GPU,
  // for `device`, the first GPU if that is none. Fallback regions are made from
  // `trace`; if it is null and the plan has regions, the model is traced again.
  // Errors: those of CpuExecutable::Load, and kFailedPrecondition when the
  // trace is not the one that the artifact was made from.
  static absl::StatusOr<std::unique_ptr<CompiledModel>> FromParts(
      const Model& model, CompiledParts parts, const Trace* trace,
      const Device& device = Device(), bool cuda_graphs = true);

  // Runs the model on arguments of the nesting and dtypes that it was built
  // for, with dynamic axes in their ranges. Tensors must be on the device that
  // it was compiled for; on a GPU the work is queued on LibTorch's current
  // stream. Contiguous inputs are read in place, others are copied, and copied
  // back where the program writes to inputs; the result has memory of its own.
  // kInvalidArgument names the argument that does not fit. With kTakeConstants,
  // numbers and strings of the call are ignored and those of the build are
  // used. If the program asks for strides or contiguity, only contiguous
  // tensors are accepted. If it changes the sizes of arguments, or takes dicts
  // whose keys are tensors, LibTorch runs the call with the arguments
  // themselves, one call at a time. With all_sizes a call may compile a further
  // version, which takes seconds; of a model whose calls change its state
  // (ModelState) all versions see the changes, whether they share it with the
  // model or LibTorch runs the calls that make them, after one another.
  // Thread-safe; concurrent calls run concurrently, but with all_sizes those of
  // a model with state one after another.
  absl::StatusOr<c10::IValue> Run(
      const ValueList& arguments,
      ConstantCheck check = ConstantCheck::kCheck) const;

  // As Run, but takes the leaves of the arguments and returns those of the
  // result (frontend/trace/leaf_value.h), for callers that have flattened the
  // arguments already. A tensor on a GPU is an opaque leaf. Tensors must be
  // contiguous if the program asks for strides. Precondition: they don't write
  // shared memory (WritesSharedMemory). Uses this version only, also with
  // all_sizes. May throw LibTorch's exceptions.
  absl::StatusOr<std::vector<OwnedValue>> RunLeaves(
      absl::Span<const RegionValue> leaves,
      ConstantCheck check = ConstantCheck::kCheck) const;

  // As RunLeaves; nothing where this version is not right for the leaves.
  absl::StatusOr<std::optional<std::vector<OwnedValue>>> RunIfFits(
      absl::Span<const RegionValue> leaves) const;

  // A call of RunLeaves with memory of the caller's, as Backend::Bind says,
  // whose errors it has too. The call does not keep this version: once it is
  // destroyed or repaired, running the call is kFailedPrecondition.
  absl::StatusOr<std::unique_ptr<BoundCall>> Bind(
      absl::Span<const RegionValue> leaves,
      absl::Span<const RegionValue> outputs,
      ConstantCheck check = ConstantCheck::kCheck) const;

  // Builds the version that runs `arguments`, which are on the CPU, again, as
  // it gave a wrong result for them: its kernels are looked through with them
  // (AuditOptions), and what is wrong is replaced, at last by LibTorch. A
  // quantised model whose outputs have less than the least cosine to eager's is
  // built without some of the layers of greatest error instead. Whether
  // something was replaced that was not before; report() names it. Takes as
  // long as Build. No other call may run meanwhile. Errors: those of Build;
  // kInvalidArgument for arguments that no version runs; kFailedPrecondition
  // for a model that FromParts loaded.
  absl::StatusOr<bool> Repair(const ValueList& arguments,
                              const BuildProgress& progress = nullptr);

  // Whether this version is right for the sizes and dtypes of `arguments`,
  // whose tensors are on its device. May throw LibTorch's exceptions.
  // Thread-safe.
  bool Fits(const ValueList& arguments) const;

  // The same for the tensors among the arguments, whose elements are not read.
  bool FitsTensors(absl::Span<const TensorView> tensors) const;

  // Whether a call with these leaves writes to an input whose memory another
  // one has too: LibTorch must run it. Run refuses such arguments. Errors as
  // RunLeaves.
  absl::StatusOr<bool> WritesSharedMemory(
      absl::Span<const RegionValue> leaves) const;
  // The same of arguments; false for those that don't fit.
  bool WritesSharedMemory(const ValueList& arguments) const;

  // This version, then those made later for other sizes, in order.
  std::vector<const CompiledModel*> versions() const;

  // The error of an earlier call on a GPU, such as an index out of range, that
  // was found after Run had returned. It is certain to be found once the caller
  // has waited for the result. If it is not taken, the next Run returns it.
  // Always OK on the CPU, where Run returns all errors. Thread-safe.
  absl::Status TakeFailedCheck() const;

  // The median time of each step over `repeats` runs, in the plan's order. The
  // runs change the state of a model that has one. Errors as Run. Thread-safe.
  absl::StatusOr<std::vector<StepProfile>> Profile(const ValueList& arguments,
                                                   int repeats) const;

  const BuildReport& report() const { return report_; }
  const CacheReport& cache() const { return cache_; }
  // The artifact, with BuildOptions::keep_artifact and if it is not in the
  // cache; otherwise null.
  const std::shared_ptr<const ArtifactBlobs>& artifact() const {
    return artifact_;
  }
  const ExecutablePlan& plan() const { return executable_->plan(); }
  // The device that the model was compiled for.
  const Device& device() const { return device_; }
  // Why a model on a GPU runs without a CUDA graph; empty when it has one.
  std::string GraphReason() const {
    return std::string(executable_->GraphReason());
  }
  // Whether GraphReason is empty: for every call.
  bool HasGraph() const { return executable_->GraphReason().empty(); }
  const Structure& input_structure() const { return inputs_.structure(); }
  const Structure& output_structure() const { return output_structure_; }
  // Executable::MemoryInBytes, Memory and FreeKeptMemory, of this version and
  // the parts of control flow in it.
  int64_t MemoryInBytes() const;
  MemoryUse Memory() const;
  void FreeKeptMemory() const;
  // Executable::SetAllocator, likewise. Repair forgets it.
  void SetAllocator(std::shared_ptr<const HostAllocator> allocator) const;
  // The number of runs of parts of control flow for inputs that no compiled
  // version of the part was right for, in this version since it was loaded.
  int64_t EagerParts() const;
  // The phases of Build and their seconds, in order: trace, import, those of
  // the compiler, load; for a model from the cache, those of looking it up.
  const std::vector<std::pair<std::string, double>>& phase_seconds() const {
    return phase_seconds_;
  }

  // The facts about this version for reports.
  BuiltVersion Describe() const;

  // The values of the plan's symbols for these arguments.
  absl::StatusOr<std::vector<int64_t>> SymbolValues(
      const ValueList& arguments) const;

 private:
  // What a version is built of, to build it again.
  struct Origin;

  CompiledModel();
  CompiledModel& operator=(CompiledModel&&);

  // The inputs and outputs of one call.
  struct Call {
    FlatTensors inputs;
    OutputBuffers outputs;
  };
  // kInvalidArgument if WritesSharedMemory.
  absl::Status CheckSharedMemory(const FlatTensors& inputs) const;
  absl::StatusOr<FlatTensors> Flatten(const ValueList& arguments,
                                      ConstantCheck check) const;
  absl::StatusOr<Call> Prepare(FlatTensors inputs) const;
  absl::StatusOr<Call> Prepare(const ValueList& arguments,
                               ConstantCheck check) const;
  absl::Status Execute(Call& call) const;
  // Run, for contiguous arguments if the program writes to some.
  absl::StatusOr<c10::IValue> RunInPlace(const ValueList& arguments,
                                         ConstantCheck check) const;
  // The quantised layers, with the schemes, without which the model may be near
  // enough to eager for `arguments`, which lie on this version's device as
  // `there`.
  absl::StatusOr<LayersWithSchemes> LayersTooMany(const ValueList& arguments,
                                                  const ValueList& there) const;
  bool WritesInputs() const {
    return may_write_inputs_ || !written_inputs_.empty();
  }
  // Keeps what Repair and, with `dynamic` axes, further versions need.
  void Remember(const Model& model, const ModelInputs& inputs,
                const BuildOptions& options, bool dynamic);

  InputNesting inputs_;
  Structure output_structure_;
  InputQueries input_queries_;
  std::vector<int> written_inputs_;         // Trace::written_inputs
  bool may_write_inputs_ = false;           // any of them, as LibTorch runs all
  bool sees_dict_order_ = false;            // the result of SeesDictOrder
  std::shared_ptr<Executable> executable_;  // shared with calls under way
  // The parts of control flow that LibTorch runs, and their versions.
  std::vector<std::shared_ptr<const OutlinedProgram>> outlined_programs_;
  std::vector<std::shared_ptr<const CompiledModel>> outlined_;
  Device device_;
  BuildReport report_;
  CacheReport cache_;
  std::shared_ptr<const ArtifactBlobs> artifact_;
  std::unique_ptr<ModelVersions> others_;  // null without all_sizes
  // Makes Run's calls where LibTorch must be given the arguments themselves
  // (InputQueries::own_arguments); null otherwise, and if FromParts loaded it.
  std::unique_ptr<VersionState> whole_calls_;
  std::unique_ptr<const Origin> origin_;  // null if FromParts loaded it
  std::vector<std::pair<std::string, double>> phase_seconds_;
};

// The trace that a build is made from: with the specs if one of their axes is
// dynamic, otherwise with the samples if there are any. Errors as BuildTrace.
absl::StatusOr<Trace> MakeTrace(const Model& model, const ModelInputs& inputs,
                                const TraceOptions& options);

// The trace that `parts` were compiled from, made again from `model`. Errors as
// MakeTrace; kFailedPrecondition for parts that do not say for what inputs.
absl::StatusOr<Trace> TraceAgain(const Model& model,
                                 const CompiledParts& parts);

// A hash of the computation of a trace, as hexadecimal digits. It depends on
// the names of constants, not on their elements.
std::string TraceSha256(const Trace& trace);

// The IR of `model` after the phase options.compile.compileTo, which
// --compile-to prints. Errors as CompiledModel::Build.
absl::StatusOr<std::string> CompileToIr(const Model& model,
                                        const ModelInputs& inputs,
                                        const BuildOptions& options);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_COMPILED_MODEL_H_
