// CompiledModel::Build: the compiler, with the on-disk cache in front of it.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/cache_key.h"
#include "frontend/compiled_model/compile_trace.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/layer_inputs.h"
#include "frontend/compiled_model/model_versions.h"
#include "frontend/compiled_model/outlined_versions.h"
#include "frontend/torchscript/layer_modules.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_tensors.h"
#include "frontend/trace/input_nesting.h"
#include "frontend/values/gpu.h"
#include "quant/options.h"
#include "runtime/control/control.h"
#include "runtime/control/memory_budget.h"
#include "runtime/device/device.h"
#include "runtime/logging/logging.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Adds the time since the last lap to a list of phases.
class Phases {
 public:
  void Lap(const std::string& name) {
    const auto now = std::chrono::steady_clock::now();
    laps.emplace_back(name, std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }
  // Starts the next lap now; the time since the last lap belongs to no phase.
  void Skip() { last_ = std::chrono::steady_clock::now(); }

  std::vector<std::pair<std::string, double>> laps;

 private:
  std::chrono::steady_clock::time_point last_ =
      std::chrono::steady_clock::now();
};

TraceOptions WithProgress(const BuildOptions& options) {
  TraceOptions trace = options.trace;
  trace.for_gpu = options.compile.device != "cpu";
  if (!trace.progress && options.compile.progress) {
    trace.progress = [&options](int done, int total) {
      options.compile.progress("trace", done, total);
    };
  }
  return trace;
}

// Sets the anchor of the trace, if it is not set, to the sizes that the samples
// have in dynamic axes. kInvalidArgument when they do not fit the specs.
absl::Status AnchorAtSamples(const ModelInputs& inputs, BuildOptions& options) {
  if (!inputs.samples || inputs.specs.empty() || !options.trace.anchor.empty())
    return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(const SymbolAssignment assignment,
                          AssignSymbols(inputs.specs));
  if (assignment.symbols.empty()) return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(options.trace.anchor,
                          SymbolSizes(inputs.specs, *inputs.samples));
  return absl::OkStatus();
}

// A trace and what it was made from.
struct Traced {
  Trace trace;
  std::vector<InputSpec> specs;
  std::vector<int64_t> anchor;
  bool rolled_loops = false;
};

// Whether LibTorch runs the whole model as one operator.
bool IsWhole(const Trace& trace) {
  return trace.ops.size() == 1 && trace.ops[0].name == kWholeModel;
}

// MakeTrace. Where the model raises at other sizes of dynamic axes than those
// of the samples, the trace is for those of the samples alone.
absl::StatusOr<Traced> TraceInputs(const Model& model,
                                   const ModelInputs& inputs,
                                   const BuildOptions& options) {
  TraceOptions trace_options = WithProgress(options);
  absl::StatusOr<Trace> trace = MakeTrace(model, inputs, trace_options);
  if (trace_options.rolled_loops && trace.ok() && IsWhole(*trace)) {
    // A loop that can't be one operator may be unrolled.
    trace_options.rolled_loops = false;
    trace = MakeTrace(model, inputs, trace_options);
  }
  if (trace.ok())
    return Traced{*std::move(trace), inputs.specs, options.trace.anchor,
                  trace_options.rolled_loops};
  // An anchor is of dynamic axes.
  if (!absl::IsInvalidArgument(trace.status()) || !inputs.samples ||
      options.trace.anchor.empty())
    return trace.status();
  ModelInputs fixed = inputs;
  AITUNE_ASSIGN_OR_RETURN(fixed.specs,
                          WithSizesOf(inputs.specs, *inputs.samples));
  trace_options.anchor.clear();
  absl::StatusOr<Trace> alone = MakeTrace(model, fixed, trace_options);
  if (!alone.ok()) return trace.status();
  return Traced{*std::move(alone),
                std::move(fixed.specs),
                {},
                trace_options.rolled_loops};
}

// A build's entry in the cache, or the reason why the cache is not used.
class CachedBuild {
 public:
  CachedBuild(const Model& model, const ModelInputs& inputs,
              const BuildOptions& options, const Device& device)
      : model_(model),
        cache_(options.cache),
        if_there_(options.repair ? IfThere::kReplace : IfThere::kKeep) {
    if (cache_ == nullptr) report.detail = "no cache was given";
    if (cache_ == nullptr && !options.keep_artifact) return;
    absl::StatusOr<std::string> gpu = GpuOfArtifact(device);
    if (!gpu.ok()) {
      report.detail = std::string(gpu.status().message());
      return;
    }
    gpu_ = *std::move(gpu);
    absl::StatusOr<std::string> hash = options.model_sha256.empty()
                                           ? ModelSha256(model)
                                           : options.model_sha256;
    if (!hash.ok()) {
      report.detail = std::string(hash.status().message());
      return;
    }
    model_sha256_ = *std::move(hash);
    if (options.compile.tuning.budgetSeconds > 0) {
      report.detail = "schedules are to be searched";
      return;
    }
    if (!options.compile.dumpDirectory.empty()) {
      report.detail = "files are to be dumped on the way";
      return;
    }
    if (cache_ == nullptr) return;
    key_ =
        KeyOfBuild(model_sha256_, inputs, options.compile, options.trace, gpu_);
    report.key = key_->hex();
    report.outcome = CacheReport::Outcome::kMiss;
  }

  bool possible() const { return key_.has_value(); }

  // The parts of an intact entry that fits; else nothing, and why.
  std::optional<CompiledParts> Find() {
    CacheLookup found = cache_->Find(*key_);
    if (!found.entry) {
      report.detail = absl::StrCat(
          std::string(Name(found.reason)),
          found.detail.empty() ? "" : absl::StrCat(": ", found.detail));
      return std::nullopt;
    }
    auto& blobs = found.entry->blobs;
    absl::StatusOr<CompiledParts> parts =
        ReadArtifact(blobs[kModelBlob], std::move(blobs[kConstantsBlob]),
                     model_, model_sha256_, gpu_);
    if (!parts.ok()) {
      Missed(parts.status());
      return std::nullopt;
    }
    return *std::move(parts);
  }

  // An entry that can't be used, whatever the reason, is compiled again.
  void Missed(const absl::Status& status) {
    report.detail = std::string(status.message());
  }

  // Stores `parts` in the cache. If they could not be stored, returns the
  // artifact for a caller that wants to keep it.
  std::shared_ptr<const ArtifactBlobs> Store(const CompiledParts& parts) {
    absl::StatusOr<ArtifactBlobs> artifact =
        WriteArtifact(parts, model_, model_sha256_);
    absl::Status status = artifact.status();
    if (status.ok() && possible()) {
      const CacheBlob blobs[] = {{kModelBlob, artifact->model},
                                 {kConstantsBlob, artifact->constants}};
      status = cache_->Store(*key_, blobs,
                             absl::StrCat(model_.Signature(), ", ",
                                          parts.report.kernels, " kernels"),
                             if_there_);
      report.stored = status.ok();
    }
    if (!status.ok())
      report.detail = absl::StrCat(
          report.detail, "; not stored: ", std::string(status.message()));
    if (report.stored || !artifact.ok()) return nullptr;
    return std::make_shared<const ArtifactBlobs>(*std::move(artifact));
  }

  // Whether a build has a stored form: it is known which model it is of and,
  // on a GPU, which one that is.
  bool storable() const { return !model_sha256_.empty(); }

  // The GPU that is compiled for; empty for the CPU.
  const std::string& gpu() const { return gpu_; }

  CacheReport report;

 private:
  const Model& model_;
  Cache* const cache_;
  const IfThere if_there_;
  std::string model_sha256_, gpu_;
  std::optional<CacheKey> key_;
};

// What is recorded of a call with copies of the samples, or random arguments
// without; nothing if LibTorch can't run it on the CPU, which is logged.
std::map<int64_t, ConstantTensor> LayerInputsOf(const Trace& trace,
                                                const ModelInputs& inputs,
                                                uint64_t seed) {
  absl::StatusOr<ValueList> arguments = TypicalArguments(inputs, seed);
  absl::StatusOr<std::map<int64_t, ConstantTensor>> recorded =
      arguments.ok() ? RecordLayerInputs(trace, ToCpu(*arguments).Clone())
                     : absl::StatusOr<std::map<int64_t, ConstantTensor>>(
                           arguments.status());
  if (recorded.ok()) return *std::move(recorded);
  Log(LogChannel::kGraphBreaks,
      absl::StrCat("the inputs of layers are not known: ",
                   std::string(recorded.status().message())));
  return {};
}

// Adds the modules of the layers that options.quantization is about. Errors:
// nothing that can be quantised, patterns of layers that are not there.
absl::Status DescribeLayers(const Model& model, const Trace& trace,
                            CompileOptions& options) {
  AITUNE_ASSIGN_OR_RETURN(
      const quant::QuantizationOptions asked,
      quant::ParseQuantizationOptions(options.quantization));
  if (asked.verdict == quant::Verdict::kOn && !options.mayQuantizeNone &&
      IsWhole(trace))
    return absl::FailedPreconditionError(absl::StrCat(
        "No layer of the model can be quantised, as LibTorch runs it whole: ",
        trace.ops[0].must_fall_back));
  LayerModules modules = FindLayerModules(model);
  AITUNE_RETURN_IF_ERROR(CheckLayerPatterns(modules, asked.skip_modules));
  options.layers.classes = std::move(modules.classes);
  options.layers.holders = std::move(modules.holders);
  for (const ConstantTensor& tensor : model.impl().beside)
    options.layers.codes.emplace(tensor.name, tensor);
  return absl::OkStatus();
}

CompiledParts PartsOf(Traced& traced, CompiledTrace compiled) {
  CompiledParts parts;
  Trace& trace = traced.trace;
  CompileResult& result = compiled.result;
  DescribeTrace(trace, std::move(compiled.fallbacks), &parts.report);
  parts.report.kernels = result.kernels;
  parts.report.unique_kernels = result.uniqueKernels;
  parts.report.candidates = std::move(result.candidates);
  parts.report.rejections = std::move(result.rejections);
  parts.report.wrong = std::move(result.wrong);
  parts.report.libtorch_wins = std::move(result.libtorchWins);
  parts.report.reference = result.reference;
  parts.report.tuning = std::move(result.tuning);
  parts.report.quantized_layers = std::move(result.quantizedLayers);
  parts.plan = std::move(result.plan);
  for (KernelObject& kernel : result.objects)
    parts.objects.push_back(std::move(kernel.object));
  parts.regions = std::move(compiled.regions);
  for (const InputSpec& spec : traced.specs)
    parts.input_specs.push_back(ToString(spec));
  parts.trace_anchor = traced.anchor;
  parts.rolled_loops = traced.rolled_loops;
  if (!parts.regions.empty()) parts.trace_sha256 = TraceSha256(trace);
  for (const SizeConstraint& constraint : trace.constraints)
    *parts.plan.add_constraints() = ToProto(constraint);
  parts.input_structure = trace.input_structure;
  parts.output_structure = trace.output_structure;
  parts.constants = std::move(trace.constants);
  std::move(result.newConstants.begin(), result.newConstants.end(),
            std::back_inserter(parts.constants));
  return parts;
}

}  // namespace

absl::Status CheckCompileOptions(const CompileOptions& options) {
  AITUNE_ASSIGN_OR_RETURN(const Device device, Device::Parse(options.device));
  const auto no_effect = [&](const std::string& option, const char* why) {
    return absl::InvalidArgumentError(absl::StrCat(option, " has no effect on ",
                                                   device.ToString(), ", ", why,
                                                   "; leave it out"));
  };
  if (!device.is_gpu() && (options.tf32Matmul || !options.tf32Convolution))
    return no_effect("--tf32: what may round to tf32",
                     "which computes in float32");
  if (!device.is_gpu()) return absl::OkStatus();
  if (!options.target.empty())
    return no_effect(absl::StrCat("the target ", options.target),
                     "for which code is made of the GPU's own kind");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CompiledModel>> CompiledModel::Build(
    const Model& model, const ModelInputs& inputs, const BuildOptions& asked) {
  const ScopedActivity activity(ScopedActivity::Kind::kCompile);
  AITUNE_RETURN_IF_ERROR(CheckCompileOptions(asked.compile));
  BuildOptions options = asked;
  AITUNE_ASSIGN_OR_RETURN(const SymbolAssignment assignment,
                          AssignSymbols(inputs.specs));
  const bool dynamic = !assignment.symbols.empty();
  AITUNE_RETURN_IF_ERROR(AnchorAtSamples(inputs, options));
  AITUNE_ASSIGN_OR_RETURN(const Device device,
                          Device::ParseCpuOrGpu(options.compile.device));
  Phases phases;
  CachedBuild cached(model, inputs, options, device);
  std::optional<Traced> traced;
  if (options.repair) cached.report.detail = "built again, as it was wrong";
  if (cached.possible() && !options.repair) {
    phases.Lap("cache key");
    std::optional<CompiledParts> parts = cached.Find();
    phases.Lap("cache read");
    if (parts) {
      absl::StatusOr<std::unique_ptr<CompiledModel>> loaded;
      absl::Status status;
      if (!parts->regions.empty()) {
        absl::StatusOr<Traced> made = TraceInputs(model, inputs, options);
        status = made.status();
        if (made.ok()) traced = *std::move(made);
        phases.Lap("trace");
      }
      const ScopedMemoryBudget no_call(nullptr);
      if (status.ok())
        loaded = FromParts(model, *std::move(parts),
                           traced ? &traced->trace : nullptr, device,
                           options.cuda_graphs);
      if (status.ok()) status = loaded.status();
      if (status.ok()) {
        phases.Lap("load");
        (*loaded)->cache_ = cached.report;
        (*loaded)->cache_.outcome = CacheReport::Outcome::kHit;
        (*loaded)->phase_seconds_ = std::move(phases.laps);
        (*loaded)->Remember(model, inputs, options, dynamic);
        return loaded;
      }
      cached.Missed(status);
    }
  }

  if (!traced) {
    AITUNE_ASSIGN_OR_RETURN(traced, TraceInputs(model, inputs, options));
    phases.Lap("trace");
  }
  Trace& trace = traced->trace;
  FlatTensors audited;  // what the compiler is given refers to it
  CompileOptions compile = options.compile;
  if (options.repair) {
    AITUNE_ASSIGN_OR_RETURN(
        audited,
        InputNesting(trace.input_structure).Flatten(options.repair->arguments));
    if (options.repair->looks_through) compile.audit.inputs = audited.views;
    const std::vector<WrongCandidate>& known = options.repair->known;
    compile.leftOut.insert(compile.leftOut.end(), known.begin(), known.end());
    // What was found is in the database.
    if (!compile.tuning.database.empty()) compile.tuning.budgetSeconds = 0;
  }
  if (!compile.quantization.empty()) {
    AITUNE_RETURN_IF_ERROR(DescribeLayers(model, trace, compile));
    compile.layers.inputs = LayerInputsOf(trace, inputs, options.trace.seed);
  }
  // What tracing freed would otherwise stay beside the compiler's memory.
  malloc_trim(0);
  // The compiler's runs, and those of loading, are no calls.
  const ScopedMemoryBudget no_call(nullptr);
  AITUNE_ASSIGN_OR_RETURN(CompiledTrace compiled, CompileTrace(trace, compile));
  phases.laps.insert(phases.laps.end(), compiled.result.phaseSeconds.begin(),
                     compiled.result.phaseSeconds.end());
  phases.Skip();
  CompiledParts parts = PartsOf(*traced, std::move(compiled));
  parts.gpu = cached.gpu();
  if (!parts.regions.empty() && !trace.outlined.empty()) {
    if (options.repair) {
      // They are not looked through for what is wrong.
      for (const auto& program : trace.outlined)
        parts.report.outlined.push_back(
            {program->place(), 0, 0, 0, 0, "the build was wrong with it"});
    } else {
      parts.outlined =
          CompileOutlined(trace.outlined, options, parts.report.outlined);
    }
    phases.Lap("control flow");
  }
  std::shared_ptr<const ArtifactBlobs> artifact;
  if (cached.possible() || (options.keep_artifact && cached.storable())) {
    artifact = cached.Store(parts);
    phases.Lap("cache write");
  }
  malloc_trim(0);
  if (options.compile.progress) options.compile.progress("load", 0, 0);
  // From here on only what runs holds constants: packing then frees them.
  if (parts.regions.empty()) trace.make_fallback_region = nullptr;
  AITUNE_ASSIGN_OR_RETURN(
      std::unique_ptr<CompiledModel> built,
      FromParts(model, std::move(parts), &trace, device, options.cuda_graphs));
  phases.Lap("load");
  built->cache_ = std::move(cached.report);
  if (options.keep_artifact) built->artifact_ = std::move(artifact);
  built->phase_seconds_ = std::move(phases.laps);
  built->Remember(model, inputs, options, dynamic);
  return built;
}

absl::StatusOr<std::string> CompileToIr(const Model& model,
                                        const ModelInputs& inputs,
                                        const BuildOptions& asked) {
  BuildOptions options = asked;
  AITUNE_RETURN_IF_ERROR(AnchorAtSamples(inputs, options));
  AITUNE_ASSIGN_OR_RETURN(Traced traced, TraceInputs(model, inputs, options));
  AITUNE_ASSIGN_OR_RETURN(CompiledTrace compiled,
                          CompileTrace(traced.trace, options.compile));
  return std::move(compiled.result.ir);
}

}  // namespace aitune::frontend
