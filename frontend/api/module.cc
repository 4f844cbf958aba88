#include "frontend/api/module.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "frontend/api/call_queue.h"
#include "frontend/api/module_builds.h"
#include "frontend/api/module_calls.h"
#include "frontend/api/module_options.h"
#include "frontend/backends/own_results.h"
#include "frontend/checkpoint/checkpoint.h"
#include "frontend/torchscript/argument_types.h"
#include "frontend/torchscript/keyword_arguments.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/values/gpu.h"
#include "runtime/control/control.h"
#include "runtime/control/end_at_exit.h"
#include "runtime/cpu/cpu_quota.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

using aitune::frontend::TorchScriptSource;
using aitune::frontend::ValueList;

// The device, with LibTorch ready for it.
absl::StatusOr<aitune::Device> StartDevice(std::string_view device) {
  AITUNE_ASSIGN_OR_RETURN(aitune::Device parsed,
                          aitune::Device::ParseCpuOrGpu(device));
  if (parsed.is_gpu())
    AITUNE_RETURN_IF_ERROR(aitune::frontend::StartLibTorchCuda(parsed));
  return parsed;
}

}  // namespace

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
    : options_(std::move(options)),
      source_(std::move(source)),
      queue_(std::make_unique<CallQueue>()) {
  aitune::EndAtExit::WatchMainThread();
  report_.module = options_.name;
  report_.error = "it was not tuned";
}

Module::~Module() = default;

absl::StatusOr<std::unique_ptr<Module>> Module::Load(
    const std::filesystem::path& path, ModuleOptions options) {
  AITUNE_RETURN_IF_ERROR(StartDevice(options.device).status());
  AITUNE_RETURN_IF_ERROR(CheckModuleOptions(options));
  aitune::frontend::LoadOptions load;
  load.dtype = options.dtype;
  if (options.name.empty()) options.name = path.stem().string();
  return OfModel(aitune::frontend::Model::Load(path.string(), load),
                 std::move(options));
}

absl::StatusOr<std::unique_ptr<Module>> Module::LoadBytes(
    std::string_view bytes, ModuleOptions options) {
  AITUNE_RETURN_IF_ERROR(StartDevice(options.device).status());
  AITUNE_RETURN_IF_ERROR(CheckModuleOptions(options));
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
    const std::filesystem::path& path, std::optional<std::string_view> digest,
    std::string_view device) {
  std::optional<aitune::Device> where;
  if (!device.empty()) {
    AITUNE_ASSIGN_OR_RETURN(where, StartDevice(device));
  }
  return OfCheckpoint(aitune::frontend::LoadCheckpoint(path, digest),
                      std::move(where));
}

absl::StatusOr<std::unique_ptr<Module>> Module::LoadCheckpointBytes(
    std::string_view bytes, std::optional<std::string_view> digest,
    std::string_view device) {
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

std::shared_ptr<TorchScriptSource> Module::source() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return source_;
}

std::shared_ptr<aitune::Backend> Module::backend() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return disabled_ ? nullptr : backend_;
}

absl::StatusOr<std::shared_ptr<const aitune::frontend::Model>> Module::Eager(
    const aitune::Device& device) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!device.is_gpu()) return source_->shared_model();
  if (eager_ == nullptr) {
    AITUNE_ASSIGN_OR_RETURN(eager_, source_->ModelOn(device));
  }
  return eager_;
}

absl::Status Module::SetThreads(int threads) {
  if (threads < 0 || threads > aitune::kMostThreads)
    return absl::InvalidArgumentError(absl::StrCat(
        threads, " threads were asked for; give 1 to ", aitune::kMostThreads,
        ", or 0 for as many as the calling thread "
        "has"));
  threads_ = threads;
  return absl::OkStatus();
}

absl::StatusOr<aitune::frontend::ModelInputs> Module::Inputs(
    const aitune::frontend::InputChoice& choice) const {
  const std::shared_ptr<TorchScriptSource> source = this->source();
  return aitune::frontend::ChooseInputs(source->model(), choice);
}

absl::StatusOr<ValueList> Module::Arguments(const ValueList& positional,
                                            absl::Span<const std::string> names,
                                            const ValueList& named) const {
  const std::shared_ptr<TorchScriptSource> source = this->source();
  AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                          aitune::frontend::WithKeywordArguments(
                              source->model(), positional, names, named));
  return aitune::frontend::WithParameterTypes(source->model(), arguments);
}

absl::StatusOr<c10::IValue> Module::Run(const ValueList& arguments) const {
  return RunNow(arguments, /*compile_now=*/false);
}

absl::StatusOr<c10::IValue> Module::RunOwned(const ValueList& arguments) const {
  const aitune::frontend::ScopedOwnResults own;
  return Run(arguments);
}

absl::StatusOr<c10::IValue> Module::RunNow(const ValueList& arguments,
                                           bool compile_now) const {
  const ThreadsOfModule threads(threads_);
  const std::shared_ptr<aitune::Backend> backend = this->backend();
  if (backend == nullptr) {
    ++eager_calls_;
    AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                            aitune::Device::ParseCpuOrGpu(options_.device));
    AITUNE_ASSIGN_OR_RETURN(
        const std::shared_ptr<const aitune::frontend::Model> model,
        Eager(device));
    // Calls that change the model's state run one after another.
    const std::shared_ptr<TorchScriptSource> source = this->source();
    const auto held = source->HoldState();
    AITUNE_RETURN_IF_ERROR(source->UseState(model, device));
    absl::StatusOr<c10::IValue> result;
    if (device.is_gpu()) {
      const TorchScriptSource::ArgumentsThere there =
          source->ArgumentsOn(device, arguments);
      result = model->RunEager(there.values);
      AITUNE_RETURN_IF_ERROR(there.bring_back());
    } else {
      result = model->RunEager(arguments);
    }
    if (source->HasState() && result.ok())
      result = aitune::frontend::OwnResult(*std::move(result));
    return result;
  }
  std::optional<aitune::ScopedStance> stance;
  if (options_.compile_in_background && !compile_now &&
      aitune::CurrentStance() == aitune::Stance::kDefault)
    stance.emplace(aitune::Stance::kEagerWhileCompiling);
  // The failure may be of another version, which this call would not ask.
  AITUNE_RETURN_IF_ERROR(backend->TakeFailedCheck());
  const std::shared_ptr<TorchScriptSource> source = this->source();
  AITUNE_ASSIGN_OR_RETURN(const aitune::Sample inputs,
                          source->FlattenCall(arguments));
  AITUNE_ASSIGN_OR_RETURN(const std::vector<aitune::OwnedValue> outputs,
                          backend->Infer(Values(inputs)));
  return source->UnflattenResult(outputs);
}

absl::Status Module::TakeFailedCheck() const {
  std::shared_ptr<aitune::Backend> backend;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    backend = backend_;
  }
  return backend == nullptr ? absl::OkStatus() : backend->TakeFailedCheck();
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

aitune::BackendUsage Module::Usage() const {
  std::shared_ptr<aitune::Backend> backend;
  aitune::BackendUsage before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    backend = backend_;
    before = in_tuning_;
  }
  aitune::BackendUsage usage;
  if (backend != nullptr) usage = backend->Usage();
  const int64_t eager_calls = eager_calls_;
  usage.calls += eager_calls - before.calls;
  usage.eager_calls += eager_calls - before.eager_calls;
  usage.recompilations -= before.recompilations;
  usage.background_builds -= before.background_builds;
  usage.background_failures -= before.background_failures;
  return usage;
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
  std::shared_ptr<aitune::Backend> backend;
  std::shared_ptr<TorchScriptSource> source;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!disabled_) backend = backend_;
    source = source_;
  }
  if (backend == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat(name(), " is not tuned; there is nothing to save"));
  return aitune::frontend::SaveCheckpoint(*backend, *source, path, format);
}

}  // namespace ait
