#include "frontend/compiled_model/outlined_versions.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/values/spinning_threads.h"
#include "runtime/hash/sha256.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"
#include "runtime/strategy/interleaved_timing.h"

namespace aitune::frontend {
namespace {

// Of one program; LibTorch runs it for other inputs.
constexpr size_t kMostVersions = 4;

// For all programs of a model, in seconds: LibTorch runs what is left then.
constexpr double kMostSeconds = 20;

// Of one program's calls that are timed beside LibTorch's.
constexpr double kTimingMilliseconds = 60;

using Versions = std::vector<std::shared_ptr<const CompiledModel>>;

bool AnyFits(const Versions& versions, const SeenSizes& sizes,
             absl::Span<const InputSpec> specs) {
  alignas(64) static char no_elements;  // nobody reads them
  std::vector<TensorView> views;
  for (size_t i = 0; i < sizes.size(); ++i) {
    TensorView& view = views.emplace_back();
    view.data = &no_elements;
    view.dtype = specs[i].dtype;
    view.sizes = sizes[i];
  }
  return std::any_of(
      versions.begin(), versions.end(),
      [&](const auto& version) { return version->FitsTensors(views); });
}

absl::StatusOr<std::unique_ptr<CompiledModel>> BuildAround(
    const OutlinedProgram& program, const SeenSizes& sizes,
    const BuildOptions& options) {
  ModelInputs inputs;
  inputs.specs = program.SpecsAround(sizes);
  inputs.source = "the calls that were seen";
  BuildOptions around = options;
  AITUNE_ASSIGN_OR_RETURN(const SymbolAssignment assignment,
                          AssignSymbols(inputs.specs));
  for (const SymbolSpec& symbol : assignment.symbols)
    around.trace.anchor.push_back(sizes[symbol.input][symbol.axis]);
  // Made up elements need not be indices that the program takes.
  if (sizes == program.seen()[0]) inputs.samples = program.sample();
  return CompiledModel::Build(program.model(), inputs, around);
}

// That LibTorch runs the sample faster, with both times; empty if it does not,
// and on a GPU, where what LibTorch runs operator by operator waits for its
// launches.
std::string WhyNotFaster(const OutlinedProgram& program,
                         const CompiledModel& version) {
  if (version.device().is_gpu()) return "";
  const std::function<absl::Status()> runs[] = {
      [&] { return version.Run(program.sample()).status(); },
      [&] { return program.model().RunEager(program.sample()).status(); }};
  TimingOptions timing;
  timing.min_rounds = 5;
  timing.milliseconds = kTimingMilliseconds;
  timing.settle_milliseconds = SettleMilliseconds(version.device());
  const auto times = TimeInterleaved(runs, timing);
  // What the one raises the other does too, and no time is known.
  if (!times[0].ok() || !times[1].ok()) return "";
  const double ours = times[0]->median, theirs = times[1]->median;
  if (ours <= theirs) return "";
  return absl::StrFormat("LibTorch is faster, %.3f against %.3f ms", theirs,
                         ours);
}

// `gpu` is GpuOfArtifact of `device`.
absl::StatusOr<std::unique_ptr<CompiledModel>> Load(
    const OutlinedProgram& program, const ArtifactBlobs& blobs,
    const std::string& sha256, const Device& device, const std::string& gpu,
    bool cuda_graphs) {
  AITUNE_ASSIGN_OR_RETURN(
      CompiledParts read,
      ReadArtifact(blobs.model, blobs.constants, program.model(), sha256, gpu));
  return CompiledModel::FromParts(program.model(), std::move(read), nullptr,
                                  device, cuda_graphs);
}

// What LibTorch runs of a version is traced again when it is loaded, which
// gives another trace where that depends on the elements of the sample.
absl::Status CheckLoads(const OutlinedProgram& program,
                        const CompiledModel& version,
                        const BuildOptions& options) {
  const auto& steps = version.plan().steps();
  if (std::none_of(steps.begin(), steps.end(),
                   [](const Step& step) { return step.has_fallback(); }))
    return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(const std::string gpu,
                          GpuOfArtifact(version.device()));
  return Load(program, *version.artifact(), options.model_sha256,
              version.device(), gpu, options.cuda_graphs)
      .status();
}

// The versions of `program`; where there is none, `report` says why.
Versions Compile(const OutlinedProgram& program, const BuildOptions& options,
                 OutlinedReport& report) {
  Versions versions;
  report.place = program.place();
  report.ops = program.operators();
  report.why_not = program.why_not();
  if (report.why_not.empty() && program.seen().empty())
    report.why_not = "no input that was tried leads there";
  for (const SeenSizes& sizes : program.seen()) {
    if (versions.size() == kMostVersions) break;
    if (AnyFits(versions, sizes, program.SpecsAround(sizes))) continue;
    absl::StatusOr<std::unique_ptr<CompiledModel>> built =
        BuildAround(program, sizes, options);
    if (built.ok() && (*built)->report().LibTorchRunsAll())
      built = absl::UnimplementedError((*built)->report().fallbacks[0].reason);
    if (built.ok() && (*built)->artifact() == nullptr)
      built = absl::UnimplementedError((*built)->cache().detail);
    if (built.ok()) {
      if (absl::Status loads = CheckLoads(program, **built, options);
          !loads.ok())
        built = std::move(loads);
    }
    if (!built.ok()) {
      report.why_not = std::string(built.status().message());
      Log(LogChannel::kGraphBreaks,
          absl::StrCat("LibTorch runs a part of control flow at ",
                       program.place(), ": ", report.why_not));
      break;
    }
    if (versions.empty() && options.compile.measureCandidates) {
      report.why_not = WhyNotFaster(program, **built);
      if (!report.why_not.empty()) break;
    }
    const BuildReport& told = (*built)->report();
    report.ops = std::max(report.ops, told.coverage.ops);
    report.compiled_ops =
        std::max(report.compiled_ops, told.coverage.compiled_ops);
    report.kernels = std::max(report.kernels, told.kernels);
    versions.push_back(*std::move(built));
  }
  report.versions = static_cast<int>(versions.size());
  if (report.versions > 0) report.why_not.clear();
  return versions;
}

// Inputs as the leaves of a call.
OutlinedRunner RunnerOf(Versions versions) {
  return [versions = std::move(versions)](
             std::vector<c10::IValue>& values) -> absl::StatusOr<bool> {
    Sample leaves;
    for (const c10::IValue& value : values) leaves.push_back(ToOwned(value));
    const std::vector<RegionValue> inputs = Values(leaves);
    for (const std::shared_ptr<const CompiledModel>& version : versions) {
      AITUNE_ASSIGN_OR_RETURN(auto outputs, version->RunIfFits(inputs));
      if (!outputs) continue;
      values.clear();
      for (OwnedValue& output : *outputs)
        values.push_back(
            ToIValue(output.value, std::move(output.owner), version->device()));
      return true;
    }
    return false;
  };
}

}  // namespace

std::string OutlinedSha256(const OutlinedProgram& program) {
  return Sha256Hex(program.text());
}

std::vector<OutlinedParts> CompileOutlined(
    absl::Span<const std::shared_ptr<OutlinedProgram>> programs,
    const BuildOptions& options, std::vector<OutlinedReport>& reports) {
  BuildOptions inner;
  inner.compile = options.compile;
  inner.compile.progress = nullptr;
  inner.compile.quantization.clear();
  inner.compile.layers = {};
  inner.compile.dumpDirectory.clear();
  inner.compile.tuning.budgetSeconds = 0;
  inner.trace = options.trace;
  inner.trace.anchor.clear();
  inner.trace.progress = nullptr;
  inner.trace.outlines = false;
  inner.cuda_graphs = options.cuda_graphs;
  inner.keep_artifact = true;
  std::vector<OutlinedParts> parts;
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < programs.size(); ++i) {
    if (std::chrono::steady_clock::now() - begin >
        std::chrono::duration<double>(kMostSeconds)) {
      OutlinedReport& report = reports.emplace_back();
      report.place = programs[i]->place();
      report.ops = programs[i]->operators();
      report.why_not =
          absl::StrCat("compiling the others took over ", kMostSeconds, " s");
      continue;
    }
    inner.model_sha256 = OutlinedSha256(*programs[i]);
    const Versions versions =
        Compile(*programs[i], inner, reports.emplace_back());
    programs[i]->ForgetSample();
    if (versions.empty()) continue;
    OutlinedParts& stored = parts.emplace_back();
    stored.program = static_cast<int>(i);
    stored.sha256 = inner.model_sha256;
    for (const std::shared_ptr<const CompiledModel>& version : versions)
      stored.versions.push_back(version->artifact());
  }
  return parts;
}

absl::StatusOr<Versions> LoadOutlined(
    absl::Span<const std::shared_ptr<OutlinedProgram>> programs,
    const std::vector<OutlinedParts>& parts, const Device& device,
    bool cuda_graphs) {
  Versions all;
  for (const std::shared_ptr<OutlinedProgram>& program : programs)
    program->ForgetSample();
  std::string gpu;
  if (!parts.empty()) {
    AITUNE_ASSIGN_OR_RETURN(gpu, GpuOfArtifact(device));
  }
  for (const OutlinedParts& stored : parts) {
    if (stored.program < 0 ||
        static_cast<size_t>(stored.program) >= programs.size() ||
        OutlinedSha256(*programs[stored.program]) != stored.sha256)
      return absl::FailedPreconditionError(
          "the stored model has parts of control flow that its trace has not; "
          "compile the model again");
    OutlinedProgram& program = *programs[stored.program];
    Versions versions;
    for (const std::shared_ptr<const ArtifactBlobs>& blobs : stored.versions) {
      AITUNE_ASSIGN_OR_RETURN(
          std::unique_ptr<CompiledModel> version,
          Load(program, *blobs, stored.sha256, device, gpu, cuda_graphs));
      versions.push_back(std::move(version));
    }
    all.insert(all.end(), versions.begin(), versions.end());
    program.set_runner(RunnerOf(std::move(versions)));
  }
  return all;
}

}  // namespace aitune::frontend
