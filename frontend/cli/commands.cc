#include "frontend/cli/commands.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/tune/TuningDatabase.h"
#include "frontend/api/module_options.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/memory.h"
#include "frontend/cli/output_files.h"
#include "frontend/cli/thread_choice.h"
#include "frontend/compiled_model/build_logs.h"
#include "frontend/torchscript/substitution.h"
#include "frontend/values/gpu.h"
#include "runtime/bundle/bundle.h"
#include "runtime/cache/default_folder.h"
#include "runtime/cpu/cpu_quota.h"
#include "runtime/status/regular_file.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

absl::StatusOr<std::optional<DataType>> ChosenDataType(
    const std::string& name) {
  if (name.empty()) return std::nullopt;
  const absl::StatusOr<DataType> dtype = ait::ParseFloatingPoint(name);
  if (dtype.ok()) return *dtype;
  return absl::InvalidArgumentError(
      absl::StrCat("--dtype ", name, ": ", dtype.status().message()));
}

std::string CommandName(Command command) {
  switch (command) {
    case Command::kTune:
      return "tune";
    case Command::kRun:
      return "run";
    case Command::kBench:
      return "bench";
    case Command::kInspect:
      return "inspect";
    case Command::kDeploy:
      return "deploy";
    case Command::kBackends:
      return "backends";
    case Command::kCache:
      return "cache";
    case Command::kTuning:
      return "tuning";
    case Command::kReduce:
      return "reduce";
    case Command::kMeasure:
      return "measure-schedules";
    case Command::kGenerate:
      return "generate-kernels";
  }
  return "";
}

bool IsOperator(const std::string& name) {
  return name.find("::") != std::string::npos;
}

// That named one can be opened: a build would go on without it.
absl::Status CheckTuningDatabase(const Options& options) {
  const std::string& file = options.compile.tuning.database;
  if (file.empty()) return absl::OkStatus();
  const absl::Status opened = TuningDatabase::open(file).status();
  if (opened.ok()) return opened;
  return absl::Status(opened.code(),
                      absl::StrCat("--tuning-database: ", opened.message()));
}

absl::StatusOr<std::string> ReadSource(const std::string& path) {
  AITUNE_RETURN_IF_ERROR(CheckRegularFile(path));
  std::ifstream file(path);
  std::string source{std::istreambuf_iterator<char>(file), {}};
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": can't be read"));
  return source;
}

// Loads the model, and disables and substitutes submodules as the options say.
absl::StatusOr<frontend::Model> LoadChanged(const Options& options,
                                            const frontend::LoadOptions& load) {
  AITUNE_ASSIGN_OR_RETURN(frontend::Model model,
                          frontend::Model::Load(options.model, load));
  for (const std::string& submodule : options.disabled) {
    AITUNE_RETURN_IF_ERROR(model.Disable(submodule));
  }
  for (const std::string& text : options.substitutes) {
    const auto [name, path] = SplitSubstitute(text);
    if (IsOperator(name)) continue;
    AITUNE_ASSIGN_OR_RETURN(std::string source, ReadSource(path));
    AITUNE_RETURN_IF_ERROR(model.Substitute(name, source));
  }
  return model;
}

// Refuses the replacement of an operator that the model does not call. What
// replacements call is not looked at: beside others, none is refused.
absl::Status CheckSubstituted(const Options& options,
                              const frontend::Model& model) {
  if (options.substitutes.size() != 1) return absl::OkStatus();
  const std::string name = SplitSubstitute(options.substitutes[0]).first;
  if (!IsOperator(name)) return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(const auto called, frontend::SubstitutionsOf(model));
  if (called.count(name) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--substitute ", name,
      " has no effect: the model does not call the operator; leave it out"));
}

}  // namespace

absl::Status SubstituteOperators(const Options& options) {
  for (const std::string& text : options.substitutes) {
    const auto [name, path] = SplitSubstitute(text);
    if (!IsOperator(name)) continue;
    AITUNE_ASSIGN_OR_RETURN(std::string source, ReadSource(path));
    AITUNE_RETURN_IF_ERROR(frontend::SubstituteInGraph(name, source));
  }
  return absl::OkStatus();
}

absl::StatusOr<Subject> LoadSubject(const Options& options,
                                    Progress& progress) {
  AITUNE_RETURN_IF_ERROR(CheckOutputFiles(options));
  AITUNE_RETURN_IF_ERROR(CheckTuningDatabase(options));
  if (IsBundle(options.model))
    return absl::InvalidArgumentError(absl::StrCat(
        options.model,
        " was compiled before (aitune deploy --save): `aitune run` runs it; "
        "give the model that it was made of"));
  AITUNE_RETURN_IF_ERROR(frontend::CheckCompileOptions(options.compile));
  AITUNE_ASSIGN_OR_RETURN(Device device,
                          Device::ParseCpuOrGpu(options.compile.device));
  if (device.is_gpu()) {
    AITUNE_RETURN_IF_ERROR(frontend::StartLibTorchCuda(device));
    at::globalContext().setAllowTF32CuBLAS(options.compile.tf32Matmul);
    at::globalContext().setAllowTF32CuDNN(options.compile.tf32Convolution);
  }
  SetThreadCount(options.compile.threads, CpuQuota());
  MemoryInfo memory;
  memory.before_model = ResidentBytes();
  progress.Update("load", 0, 0);
  frontend::LoadOptions load;
  AITUNE_ASSIGN_OR_RETURN(std::optional<DataType> dtype,
                          ChosenDataType(options.dtype));
  load.dtype = dtype;
  AITUNE_RETURN_IF_ERROR(SubstituteOperators(options));
  AITUNE_ASSIGN_OR_RETURN(frontend::Model model, LoadChanged(options, load));
  AITUNE_RETURN_IF_ERROR(CheckSubstituted(options, model));
  frontend::InputChoice choice;
  choice.specs = options.inputs;
  choice.samples_file = options.inputs_file;
  choice.model_file = options.model;
  choice.dtype = dtype;
  AITUNE_ASSIGN_OR_RETURN(frontend::ModelInputs inputs,
                          frontend::ChooseInputs(model, choice));
  memory.with_model = ResidentBytes();
  Subject subject{std::move(model), std::move(inputs), dtype,   memory,
                  device,           std::nullopt,      nullptr, "--no-cache"};
  if (!options.use_cache) return subject;
  // A cache that can't be opened is no reason not to work.
  absl::StatusOr<std::unique_ptr<Cache>> cache = OpenCache(options);
  if (cache.ok()) {
    subject.cache = *std::move(cache);
  } else {
    subject.no_cache = std::string(cache.status().message());
  }
  return subject;
}

absl::Status LoadPeer(const Options& options, Subject& subject) {
  if (!subject.device.is_gpu()) return absl::OkStatus();
  frontend::LoadOptions load;
  load.dtype = subject.dtype;
  load.device = subject.device;
  AITUNE_ASSIGN_OR_RETURN(subject.on_gpu, LoadChanged(options, load));
  return absl::OkStatus();
}

absl::StatusOr<frontend::ValueList> TypicalCall(const Options& options,
                                                const Subject& subject) {
  absl::StatusOr<frontend::ValueList> arguments =
      frontend::TypicalArguments(subject.inputs, options.seed);
  if (!arguments.ok() || !subject.device.is_gpu()) return arguments;
  return frontend::ToDevice(*arguments, subject.device);
}

absl::StatusOr<std::unique_ptr<Cache>> OpenCache(const Options& options) {
  if (!options.cache_folder.empty()) return Cache::Open(options.cache_folder);
  AITUNE_ASSIGN_OR_RETURN(std::filesystem::path folder, DefaultCacheFolder());
  return Cache::Open(folder);
}

// The database that a build reads and a search adds to; empty: none. The
// default one belongs to the default cache, and only a search makes it.
std::string TuningDatabaseFile(const Options& options) {
  if (!options.compile.tuning.database.empty())
    return options.compile.tuning.database;
  if (!options.use_cache || !options.cache_folder.empty()) return "";
  const absl::StatusOr<std::filesystem::path> file = DefaultTuningDatabase();
  if (!file.ok()) return "";
  std::error_code error;
  if (options.compile.tuning.budgetSeconds > 0) {
    std::filesystem::create_directories(file->parent_path(), error);
  } else if (!std::filesystem::exists(*file, error)) {
    return "";
  }
  return file->string();
}

frontend::BuildOptions MakeBuildOptions(const Options& options,
                                        Progress& progress) {
  frontend::BuildOptions build;
  build.compile = options.compile;
  build.compile.progress = [&progress](const std::string& phase, int done,
                                       int total) {
    progress.Update(phase, done, total);
  };
  TuningOptions& tuning = build.compile.tuning;
  tuning.database = TuningDatabaseFile(options);
  tuning.worker = {"/proc/self/exe", "measure-schedules"};
  for (const std::string& plugin : options.plugins)
    tuning.worker.insert(tuning.worker.end(), {"--plugin", plugin});
  if (tuning.budgetSeconds > 0) tuning.stop = StopOn({SIGINT});
  build.trace.seed = options.seed;
  build.trace.progress = [&progress](int done, int total) {
    // Loops make the expected number a guess that can be too small.
    progress.Update("trace", done, std::max(done, total), "operators");
  };
  return build;
}

absl::StatusOr<std::unique_ptr<frontend::CompiledModel>> BuildSubject(
    const Options& options, Subject& subject, Progress& progress) {
  ResetPeakBytes();
  frontend::BuildOptions build = MakeBuildOptions(options, progress);
  build.cache = subject.cache.get();
  build.all_sizes = true;
  frontend::LogOutputCode(subject.model, subject.inputs, build);
  auto compiled =
      frontend::CompiledModel::Build(subject.model, subject.inputs, build);
  if (compiled.ok())
    frontend::LogBuild((*compiled)->report(),
                       std::filesystem::path(options.model).stem().string());
  subject.memory.peak_compiling = PeakBytes();
  // Eager's own error, of operands of two dtypes.
  if (subject.dtype && absl::IsInvalidArgument(compiled.status())) {
    return absl::Status(
        compiled.status().code(),
        absl::StrCat(compiled.status().message(), ". --dtype ", options.dtype,
                     " converts weights and inputs, not the casts that are "
                     "written in a trace: if it is these that fail, trace the "
                     "model in ",
                     options.dtype));
  }
  return compiled;
}

Report StartReport(const Options& options, const Subject& subject) {
  Report report;
  report.command = CommandName(options.command);
  report.model.file = options.model;
  report.model.signature = subject.model.Signature();
  report.model.weight_bytes = subject.model.WeightBytes();
  report.model.inputs_source = subject.inputs.source;
  report.model.threads = at::get_num_threads();
  report.model.cpu_quota = CpuQuota();
  for (const frontend::InputSpec& spec : subject.inputs.specs) {
    report.model.inputs.push_back(ToString(spec));
  }
  if (subject.inputs.specs.empty() && subject.inputs.samples) {
    report.model.inputs.push_back(subject.inputs.samples->Describe());
  }
  report.memory = subject.memory;
  return report;
}

void AddBuild(absl::Span<const frontend::BuiltVersion> versions,
              const std::string& no_cache, Report& report) {
  if (versions.empty()) return;
  const frontend::BuiltVersion& first = versions.front();
  const frontend::BuildReport& built = first.report;
  report.coverage = built.coverage;
  report.outlined = built.outlined;
  for (const frontend::BuiltVersion& version : versions)
    report.eager_parts += version.eager_parts;
  report.compile = CompileInfo{first.phase_seconds,  built.kernels,
                               built.unique_kernels, built.candidates,
                               built.rejections,     built.notes,
                               first.cache,          compileCounts(),
                               built.tuning,         built.quantized_layers,
                               built.wrong,          built.reference,
                               built.libtorch_wins};
  if (!no_cache.empty()) report.compile->cache.detail = no_cache;
  for (size_t i = 1; i < versions.size(); ++i) {
    for (const std::string& note : versions[i].report.notes)
      report.compile->notes.push_back(absl::StrCat("version ", i, ": ", note));
  }
  if (report.memory) report.memory->executable = first.memory_bytes;
  if (first.device.is_gpu())
    report.gpu = GpuInfo{first.device.gpu(), frontend::GraphReasonOf(versions),
                         first.memory_bytes};
}

Report StartReport(const Options& options, const Subject& subject,
                   const frontend::CompiledModel& compiled) {
  Report report = StartReport(options, subject);
  AddBuild({compiled.Describe()},
           subject.cache == nullptr ? subject.no_cache : "", report);
  return report;
}

absl::Status Publish(const Options& options, const Report& report,
                     const std::string& extra) {
  return PublishText(
      options, SummaryText(report) + extra,
      ToJson(report).dump(1, ' ', false,
                          nlohmann::json::error_handler_t::replace));
}

}  // namespace aitune::cli
