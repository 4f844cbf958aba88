#include "frontend/api/module.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/api/backend_checker.h"
#include "frontend/backends/compile_settings.h"
#include "frontend/backends/torchao/torchao_config.h"
#include "frontend/checkpoint/checkpoint.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/model_versions.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/values/gpu.h"
#include "quant/options.h"
#include "runtime/backend/registry.h"
#include "runtime/cache/default_folder.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

using aitune::frontend::CompiledModel;
using aitune::frontend::TorchScriptSource;
using aitune::frontend::ValueList;

constexpr char kEager[] = "TorchEagerBackend";

// The default of TuneOptions::backends. If `quantization`
// (CompileOptions::quantization) is not empty, the quantising backend is first.
absl::StatusOr<std::vector<BackendChoice>> DefaultBackends(
    const std::string& quantization) {
  std::vector<BackendChoice> choices;
  if (!quantization.empty()) {
    AITUNE_ASSIGN_OR_RETURN(
        const aitune::quant::QuantizationOptions asked,
        aitune::quant::ParseQuantizationOptions(quantization));
    AITUNE_ASSIGN_OR_RETURN(
        const aitune::frontend::TorchAOBackendConfig config,
        aitune::frontend::TorchAOBackendConfig::FromOptions(asked));
    choices.push_back({"TorchAOBackend", config.ToDict()});
  }
  choices.push_back({"TorchInductorBackend", {{"mode", "max-autotune"}}});
  choices.push_back({"TorchScriptBackend", {}});
  return choices;
}

// The device, with LibTorch ready for it.
absl::StatusOr<aitune::Device> StartDevice(std::string_view device) {
  AITUNE_ASSIGN_OR_RETURN(aitune::Device parsed,
                          aitune::Device::ParseCpuOrGpu(device));
  if (parsed.is_gpu())
    AITUNE_RETURN_IF_ERROR(aitune::frontend::StartLibTorchCuda(parsed));
  return parsed;
}

// kInvalidArgument for options that have no meaning here, or no effect.
absl::Status CheckOptions(const ModuleOptions& options) {
  aitune::CompileOptions compile = options.compile;
  if (compile.device != aitune::CompileOptions().device)
    return absl::InvalidArgumentError(
        absl::StrCat("compile.device is '", compile.device,
                     "'; where a module runs is ModuleOptions::device"));
  if (compile.compileTo != aitune::CompilePhase::Executable)
    return absl::InvalidArgumentError(
        "compile.compileTo stops before there is code to run; a module can't");
  if (compile.tuning.budgetSeconds > 0 && compile.tuning.worker.empty())
    return absl::InvalidArgumentError(
        "compile.tuning.budgetSeconds asks for a search, which needs "
        "compile.tuning.worker, the program that measures: {\"aitune\", "
        "\"measure-schedules\"}");
  compile.device = options.device;
  return aitune::frontend::CheckCompileOptions(compile);
}

// The options, with the user's tuning database if it is wanted.
aitune::CompileOptions OptionsToCompile(const ModuleOptions& options) {
  aitune::CompileOptions compile = options.compile;
  if (!compile.tuning.database.empty() || !options.use_default_tuning_database)
    return compile;
  const absl::StatusOr<std::filesystem::path> usual =
      aitune::DefaultTuningDatabase();
  std::error_code error;
  if (usual.ok() && std::filesystem::exists(*usual, error))
    compile.tuning.database = usual->string();
  return compile;
}

}  // namespace

// The versions that were built of the module, by the backend's key.
// Thread-safe.
class Module::Builds {
 public:
  // With `inputs` the sizes to check on are those of the first version.
  void Add(const std::string& key, const CompiledModel& version,
           const std::optional<aitune::frontend::ModelInputs>& inputs,
           uint64_t seed) {
    std::vector<std::vector<int64_t>> sizes;
    if (inputs.has_value()) {
      auto found = BoundarySizes(version, *inputs, seed);
      if (found.ok()) sizes = *std::move(found);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    Built& built = built_[key];
    if (built.versions.empty()) built.sizes = std::move(sizes);
    built.versions.push_back({&version, version.Describe()});
  }
  // `version`, which was added before, is another one now.
  void Replace(const std::string& key, const CompiledModel& version) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Version>& versions = built_[key].versions;
    // The last at this address is the one that lives.
    const auto found =
        std::find_if(versions.rbegin(), versions.rend(),
                     [&](const Version& one) { return one.model == &version; });
    if (found != versions.rend()) found->description = version.Describe();
  }
  std::vector<aitune::frontend::BuiltVersion> Versions(
      const std::string& key) const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<aitune::frontend::BuiltVersion> versions;
    const auto found = built_.find(key);
    if (found == built_.end()) return versions;
    for (const Version& version : found->second.versions)
      versions.push_back(version.description);
    return versions;
  }
  std::vector<std::vector<int64_t>> SizesToCheck(const std::string& key) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = built_.find(key);
    if (found == built_.end()) return {};
    return found->second.sizes;
  }

 private:
  struct Version {
    const CompiledModel* model = nullptr;  // may be gone
    aitune::frontend::BuiltVersion description;
  };
  struct Built {
    std::vector<Version> versions;
    std::vector<std::vector<int64_t>> sizes;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Built> built_;
};

const BackendDetails* TuneReport::chosen() const {
  for (const aitune::BackendReport& backend : backends) {
    if (!backend.chosen) continue;
    for (const BackendDetails& detail : details) {
      if (detail.key == backend.key) return &detail;
    }
  }
  return nullptr;
}

Module::Module(std::shared_ptr<TorchScriptSource> source, ModuleOptions options)
    : options_(std::move(options)), source_(std::move(source)) {
  report_.module = options_.name;
  report_.error = "it was not tuned";
}

absl::StatusOr<std::unique_ptr<Module>> Module::Load(
    const std::filesystem::path& path, ModuleOptions options) {
  AITUNE_RETURN_IF_ERROR(StartDevice(options.device).status());
  AITUNE_RETURN_IF_ERROR(CheckOptions(options));
  aitune::frontend::LoadOptions load;
  load.dtype = options.dtype;
  if (options.name.empty()) options.name = path.stem().string();
  return OfModel(aitune::frontend::Model::Load(path.string(), load),
                 std::move(options));
}

absl::StatusOr<std::unique_ptr<Module>> Module::LoadBytes(
    std::string_view bytes, ModuleOptions options) {
  AITUNE_RETURN_IF_ERROR(StartDevice(options.device).status());
  AITUNE_RETURN_IF_ERROR(CheckOptions(options));
  aitune::frontend::LoadOptions load;
  load.dtype = options.dtype;
  return OfModel(aitune::frontend::ModelFromBytes(std::string(bytes), load),
                 std::move(options));
}

absl::StatusOr<std::unique_ptr<Module>> Module::OfModel(
    absl::StatusOr<aitune::frontend::Model> model, ModuleOptions options) {
  if (!model.ok()) return model.status();
  for (const std::string& submodule : options.disabled)
    AITUNE_RETURN_IF_ERROR(model->Disable(submodule));
  for (const auto& [submodule, method] : options.substitutes)
    AITUNE_RETURN_IF_ERROR(model->Substitute(submodule, method));
  return Wrap(
      std::make_shared<const aitune::frontend::Model>(*std::move(model)),
      std::move(options));
}

std::unique_ptr<Module> Module::Wrap(
    std::shared_ptr<const aitune::frontend::Model> model,
    ModuleOptions options) {
  if (options.name.empty()) options.name = "module";
  auto source =
      std::make_shared<TorchScriptSource>(std::move(model), options.name);
  return std::unique_ptr<Module>(
      new Module(std::move(source), std::move(options)));
}

absl::StatusOr<std::unique_ptr<Module>> Module::LoadCheckpoint(
    const std::filesystem::path& path, std::string_view digest,
    std::string_view device) {
  std::optional<aitune::Device> where;
  if (!device.empty()) {
    AITUNE_ASSIGN_OR_RETURN(where, StartDevice(device));
  }
  return OfCheckpoint(aitune::frontend::LoadCheckpoint(path, digest),
                      std::move(where));
}

absl::StatusOr<std::unique_ptr<Module>> Module::LoadCheckpointBytes(
    std::string_view bytes, std::string_view digest, std::string_view device) {
  std::optional<aitune::Device> where;
  if (!device.empty()) {
    AITUNE_ASSIGN_OR_RETURN(where, StartDevice(device));
  }
  return OfCheckpoint(aitune::frontend::LoadCheckpointBytes(bytes, digest),
                      std::move(where));
}

absl::StatusOr<std::unique_ptr<Module>> Module::OfCheckpoint(
    absl::StatusOr<aitune::frontend::LoadedCheckpoint> loaded,
    std::optional<aitune::Device> where) {
  if (!loaded.ok()) return loaded.status();
  AITUNE_RETURN_IF_ERROR(loaded->backend->Deploy(std::move(where)));
  ModuleOptions options;
  options.device = loaded->backend->device()->ToString();
  options.name = loaded->source->name();
  std::unique_ptr<Module> module(
      new Module(std::move(loaded->source), std::move(options)));
  module->backend_ = std::move(loaded->backend);
  module->report_.error.clear();
  return module;
}

absl::Status Module::Record(const ValueList& arguments, int64_t batch) {
  // On a CPU, where their elements are read.
  AITUNE_ASSIGN_OR_RETURN(aitune::Sample sample,
                          source_->Flatten(aitune::frontend::ToCpu(arguments)));
  std::lock_guard<std::mutex> lock(mutex_);
  samples_.push_back({batch, std::move(sample)});
  return absl::OkStatus();
}

absl::StatusOr<aitune::GraphSpec> Module::Spec() const {
  std::vector<aitune::BatchedSample> samples;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    samples = samples_;
  }
  // Numbers and strings have no axes.
  for (aitune::BatchedSample& sample : samples) {
    aitune::Sample tensors;
    for (aitune::OwnedValue& input : sample.inputs) {
      if (std::holds_alternative<aitune::TensorView>(input.value))
        tensors.push_back(std::move(input));
    }
    sample.inputs = std::move(tensors);
  }
  return aitune::DetectAxes(samples);
}

absl::StatusOr<aitune::Sample> Module::OnDevice(
    const aitune::Sample& sample) const {
  AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                          aitune::Device::ParseCpuOrGpu(options_.device));
  if (!device.is_gpu()) return sample;
  AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                          source_->Unflatten(Values(sample)));
  return source_->Flatten(aitune::frontend::ToDevice(arguments, device));
}

absl::StatusOr<aitune::TuneResult> Module::Choose(
    const aitune::Strategy& strategy, const TuneOptions& options,
    std::vector<BackendDetails>& details) {
  if (options.tolerance &&
      !(*options.tolerance >= 0 && std::isfinite(*options.tolerance)))
    return absl::InvalidArgumentError(absl::StrCat(
        "the tolerance is ", *options.tolerance,
        "; give a number of 0 or more, or none for what the backend's "
        "configuration promises"));
  AITUNE_RETURN_IF_ERROR(CheckOptions(options_));
  aitune::TuneRequest request;
  request.module_name = name();
  request.build.model = source_;
  AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                          aitune::Device::ParseCpuOrGpu(options_.device));
  request.build.device = device;
  request.build.cache_dir = options_.cache_dir;
  std::vector<aitune::BatchedSample> samples;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    samples = samples_;
  }
  if (samples.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        name(), " can't be tuned without samples; call Record first"));
  for (const aitune::BatchedSample& sample : samples) {
    AITUNE_ASSIGN_OR_RETURN(aitune::Sample there, OnDevice(sample.inputs));
    request.build.samples.push_back(std::move(there));
  }
  AITUNE_ASSIGN_OR_RETURN(request.build.graph_spec, Spec());
  if (!options.batches.empty() && !request.build.graph_spec.has_batch_axis())
    return absl::InvalidArgumentError(absl::StrCat(
        "batch sizes were given, but no axis of the inputs is the batch: ",
        request.build.graph_spec.ToString(),
        "; leave them out, or record samples of two batch sizes"));
  auto builds = std::make_shared<Builds>();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    report_.inputs = request.build.graph_spec.ToString();
  }
  aitune::frontend::CompileSettings settings;
  settings.options = OptionsToCompile(options_);
  settings.inputs = options.inputs;
  settings.seed = options.seed;
  settings.cache_folder = options_.cache_dir;
  settings.built = [builds, inputs = options.inputs, seed = options.seed](
                       const std::string& key, const CompiledModel& version,
                       bool repaired) {
    if (repaired)
      builds->Replace(key, version);
    else
      builds->Add(key, version, inputs, seed);
  };
  source_->SetCompileSettings(
      std::make_shared<const aitune::frontend::CompileSettings>(
          std::move(settings)));
  AITUNE_ASSIGN_OR_RETURN(request.eager, aitune::CreateBackend(kEager));
  const std::string& quantization = options_.compile.quantization;
  std::vector<BackendChoice> choices = options.backends;
  if (!choices.empty() && !quantization.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        "the quantisation ", quantization,
        " of the module's options is for "
        "the default backends, and others were given; leave it out and give "
        "TorchAOBackend its configuration"));
  if (choices.empty()) {
    AITUNE_ASSIGN_OR_RETURN(choices, DefaultBackends(quantization));
  }
  for (const auto& [kind, config] : choices) {
    AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<aitune::Backend> backend,
                            aitune::CreateBackend(kind, config));
    request.backends.push_back(std::move(backend));
  }
  CheckSubject subject{source_,        device,       options.tolerance,
                       options.inputs, options.seed, nullptr};
  if (const auto& progress = options_.compile.progress) {
    subject.progress = [&progress](int done, int total) {
      progress("check against eager", done, total);
    };
  }
  BackendChecker checker(std::move(subject));
  request.check = [&](aitune::Backend& backend, const aitune::Sample& sample) {
    checker.AddSizes(builds->SizesToCheck(backend.Key()));
    return checker.Check(backend, sample);
  };
  request.batches = options.batches;
  request.timing = options.timing;
  std::unique_ptr<aitune::frontend::GpuClock> clock;
  if (device.is_gpu()) {
    AITUNE_ASSIGN_OR_RETURN(clock, aitune::frontend::GpuClock::Create(device));
    request.timing.clock = [&](const std::function<absl::Status()>& call) {
      return clock->Time(call);
    };
    if (request.build.graph_spec.has_batch_axis()) {
      request.make_batch =
          [&, spec = request.build.graph_spec](
              int64_t batch) -> absl::StatusOr<aitune::Sample> {
        AITUNE_ASSIGN_OR_RETURN(
            const aitune::Sample repeated,
            aitune::RepeatToBatch(samples.front().inputs, spec, batch));
        return OnDevice(repeated);
      };
    }
  }
  absl::StatusOr<aitune::TuneResult> result = strategy.Tune(std::move(request));
  for (const auto& [key, check] : checker.reports())
    details.push_back({key, builds->Versions(key), check});
  if (result.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    builds_ = std::move(builds);
  }
  return result;
}

absl::Status Module::Tune(const aitune::Strategy& strategy,
                          const TuneOptions& options) {
  std::lock_guard<std::mutex> tuning(tune_mutex_);
  std::vector<BackendDetails> details;
  absl::StatusOr<aitune::TuneResult> result =
      Choose(strategy, options, details);
  std::lock_guard<std::mutex> lock(mutex_);
  report_.strategy = strategy.name();
  if (!result.ok()) {
    report_.error = std::string(result.status().message());
    aitune::Log(aitune::LogChannel::kWarning,
                absl::StrCat(name(), " is not tuned: ", report_.error));
    return result.status();
  }
  report_.error.clear();
  report_.backends = std::move(result->backends);
  report_.details = std::move(details);
  backend_ = std::move(result->backend);
  eager_ = nullptr;
  return absl::OkStatus();
}

std::shared_ptr<aitune::Backend> Module::backend() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return disabled_ ? nullptr : backend_;
}

absl::StatusOr<std::shared_ptr<const aitune::frontend::Model>> Module::Eager(
    const aitune::Device& device) const {
  if (!device.is_gpu()) return source_->shared_model();
  std::lock_guard<std::mutex> lock(mutex_);
  if (eager_ == nullptr) {
    AITUNE_ASSIGN_OR_RETURN(eager_, source_->ModelOn(device));
  }
  return eager_;
}

absl::StatusOr<c10::IValue> Module::Run(const ValueList& arguments) const {
  const std::shared_ptr<aitune::Backend> backend = this->backend();
  if (backend == nullptr) {
    AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                            aitune::Device::ParseCpuOrGpu(options_.device));
    AITUNE_ASSIGN_OR_RETURN(
        const std::shared_ptr<const aitune::frontend::Model> model,
        Eager(device));
    return model->RunEager(device.is_gpu()
                               ? aitune::frontend::ToDevice(arguments, device)
                               : arguments);
  }
  // The failure may be of another version, which this call would not ask.
  AITUNE_RETURN_IF_ERROR(backend->TakeFailedCheck());
  AITUNE_ASSIGN_OR_RETURN(const aitune::Sample inputs,
                          source_->Flatten(arguments));
  AITUNE_ASSIGN_OR_RETURN(const std::vector<aitune::OwnedValue> outputs,
                          backend->Infer(Values(inputs)));
  return source_->UnflattenResult(outputs);
}

absl::Status Module::TakeFailedCheck() const {
  std::shared_ptr<aitune::Backend> backend;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    backend = backend_;
  }
  return backend == nullptr ? absl::OkStatus() : backend->TakeFailedCheck();
}

absl::StatusOr<std::vector<aitune::frontend::SubmoduleTime>> Module::Inspect(
    int repeats) {
  aitune::Sample sample;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (samples_.empty())
      return absl::FailedPreconditionError(absl::StrCat(
          name(), " can't be inspected without samples; call Record first"));
    sample = samples_.front().inputs;
  }
  AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                          source_->Unflatten(Values(sample)));
  AITUNE_ASSIGN_OR_RETURN(
      std::vector<aitune::frontend::SubmoduleTime> times,
      aitune::frontend::TimeSubmodules(source_->model(), arguments, repeats));
  std::lock_guard<std::mutex> lock(mutex_);
  report_.submodules = times;
  return times;
}

void Module::SetDisabled(bool disabled) {
  std::lock_guard<std::mutex> lock(mutex_);
  disabled_ = disabled;
}

bool Module::is_tuned() const { return backend() != nullptr; }

std::string Module::Describe() const {
  const std::shared_ptr<aitune::Backend> backend = this->backend();
  return backend == nullptr ? "eager" : backend->Describe();
}

std::vector<aitune::Signature> Module::Signatures() const {
  const std::shared_ptr<aitune::Backend> backend = this->backend();
  if (backend == nullptr) return {};
  return backend->Signatures();
}

TuneReport Module::report() const {
  TuneReport report;
  std::shared_ptr<aitune::Backend> backend;
  std::shared_ptr<const Builds> builds;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    report = report_;
    backend = backend_;
    builds = builds_;
  }
  // Include versions that were compiled by calls since the backend was built.
  for (BackendDetails& detail : report.details) {
    if (builds != nullptr) detail.versions = builds->Versions(detail.key);
  }
  for (aitune::BackendReport& entrant : report.backends) {
    if (entrant.chosen && backend != nullptr) entrant.notes = backend->Notes();
  }
  return report;
}

absl::StatusOr<std::string> Module::Save(const std::filesystem::path& path,
                                         aitune::BundleFormat format) const {
  const std::shared_ptr<aitune::Backend> backend = this->backend();
  if (backend == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat(name(), " is not tuned; there is nothing to save"));
  return aitune::frontend::SaveCheckpoint(*backend, *source_, path, format);
}

}  // namespace ait
