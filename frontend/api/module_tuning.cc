// Module's samples, and the choice between backends by them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/backend_checker.h"
#include "frontend/api/module.h"
#include "frontend/api/module_builds.h"
#include "frontend/api/module_calls.h"
#include "frontend/api/module_options.h"
#include "frontend/backends/compile_settings.h"
#include "frontend/backends/torchao/torchao_config.h"
#include "frontend/check/check.h"
#include "frontend/check/run_guard.h"
#include "frontend/torchscript/accepted_sizes.h"
#include "frontend/values/gpu.h"
#include "frontend/values/missing_kernel.h"
#include "frontend/values/spinning_threads.h"
#include "frontend/values/torch_util.h"
#include "quant/options.h"
#include "runtime/backend/registry.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/control.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

using aitune::frontend::CompiledModel;
using aitune::frontend::ValueList;

constexpr char kEager[] = "TorchEagerBackend";
constexpr char kOneBackend[] = "OneBackend";  // a strategy

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

std::string TextOf(const aitune::frontend::ModelInputs& inputs) {
  return absl::StrJoin(
      inputs.specs, ", ", [](std::string* text, const auto& spec) {
        absl::StrAppend(text, aitune::frontend::ToString(spec));
      });
}

// LibTorch's error for these arguments, which stay as they are, and so does the
// model's state.
absl::Status CheckEagerRuns(aitune::frontend::TorchScriptSource& source,
                            const ValueList& arguments) {
  AITUNE_ASSIGN_OR_RETURN(const aitune::Sample sample,
                          source.Flatten(arguments));
  const std::vector<aitune::RegionValue> inputs = aitune::Values(sample);
  AITUNE_ASSIGN_OR_RETURN(const std::function<absl::Status()> restore,
                          source.SaveState(inputs));
  // What would end the process is no error that could be caught.
  absl::Status status =
      aitune::frontend::RunGuard(source.model(), aitune::Device())
          .Try(arguments, aitune::frontend::CheckOptions().seconds_of_loops);
  if (restore) status.Update(restore());
  if (!status.ok()) return status;
  status = source.Infer(inputs).status();
  if (restore) status.Update(restore());
  return status;
}

// The axes of samples. Numbers and strings have none.
absl::StatusOr<aitune::GraphSpec> SpecOf(
    std::vector<aitune::BatchedSample> samples) {
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

}  // namespace

absl::Status Module::Record(const ValueList& arguments, int64_t batch) {
  if (batch < 1)
    return absl::InvalidArgumentError(absl::StrCat(
        "a sample's batch size is ", batch, ", it must be at least 1"));
  // On a CPU, where their elements are read.
  AITUNE_ASSIGN_OR_RETURN(
      aitune::Sample sample,
      source()->Flatten(aitune::frontend::ToCpu(arguments)));
  std::lock_guard<std::mutex> lock(mutex_);
  samples_.push_back({batch, std::move(sample)});
  // What can't be tuned for together would be in the way of all samples.
  const absl::Status together =
      SpecOf({samples_.front(), samples_.back()}).status();
  if (together.ok()) return absl::OkStatus();
  samples_.pop_back();
  return absl::InvalidArgumentError(
      absl::StrCat("the sample does not go with the first one of the module: ",
                   together.message()));
}

absl::StatusOr<std::vector<Module::MadeSample>> Module::MakeSamples(
    const aitune::frontend::ModelInputs& inputs, uint64_t seed) const {
  AITUNE_ASSIGN_OR_RETURN(const aitune::frontend::SymbolAssignment assignment,
                          aitune::frontend::AssignSymbols(inputs.specs));
  AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                          aitune::Device::ParseCpuOrGpu(options_.device));
  // The model's own error. A CPU would take minutes for what some models for a
  // GPU do, and has no code for some dtypes of one.
  const auto refusal = [&](const ValueList& arguments) {
    if (device.is_gpu()) return absl::OkStatus();
    const absl::Status ran = CheckEagerRuns(*source(), arguments);
    return absl::IsInvalidArgument(ran) &&
                   !aitune::frontend::IsMissingKernel(ran.message())
               ? ran
               : absl::OkStatus();
  };
  std::vector<MadeSample> made;
  if (assignment.symbols.empty()) {
    AITUNE_ASSIGN_OR_RETURN(ValueList arguments,
                            aitune::frontend::TypicalArguments(inputs, seed));
    AITUNE_RETURN_IF_ERROR(refusal(arguments));
    made.push_back({std::move(arguments), 1});
    return made;
  }
  // A CPU may have no code for a GPU's dtype.
  const auto runs =
      [&](const std::vector<int64_t>& sizes) -> absl::StatusOr<bool> {
    AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                            aitune::frontend::MakeInputs(inputs, sizes, seed));
    const absl::Status ran = CheckEagerRuns(*source(), arguments);
    return ran.ok() || aitune::frontend::IsMissingKernel(ran.message());
  };
  const auto add = [&](const std::vector<int64_t>& sizes) -> absl::Status {
    AITUNE_ASSIGN_OR_RETURN(ValueList arguments,
                            aitune::frontend::MakeInputs(inputs, sizes, seed));
    made.push_back({std::move(arguments), sizes[0]});
    return absl::OkStatus();
  };
  const std::vector<aitune::frontend::SymbolSpec>& symbols = assignment.symbols;
  const std::vector<int64_t> ends =
      aitune::frontend::SizesNear(symbols, std::numeric_limits<int64_t>::max());
  AITUNE_ASSIGN_OR_RETURN(ValueList largest,
                          aitune::frontend::MakeInputs(inputs, ends, seed));
  const absl::Status refused = refusal(largest);
  if (refused.ok()) {
    // A batch of none tells nothing of the time of others. What is made for the
    // largest sizes, such as indices, may be too large for the smallest.
    AITUNE_ASSIGN_OR_RETURN(const int64_t least,
                            aitune::frontend::LeastAccepted(symbols, runs));
    if (least > 0) {
      AITUNE_RETURN_IF_ERROR(add(aitune::frontend::SizesNear(symbols, least)));
    }
    made.push_back({std::move(largest), ends[0]});
    return made;
  }
  // Such as positions beyond a table: the sizes below are the model's range.
  AITUNE_ASSIGN_OR_RETURN(const auto accepted,
                          aitune::frontend::FindAcceptedSizes(symbols, runs));
  if (!accepted) return refused;
  AITUNE_RETURN_IF_ERROR(add(accepted->least));
  AITUNE_RETURN_IF_ERROR(add(accepted->most));
  return made;
}

absl::Status Module::RecordInputs(const aitune::frontend::ModelInputs& inputs,
                                  uint64_t seed) {
  AITUNE_ASSIGN_OR_RETURN(const std::vector<MadeSample> made,
                          MakeSamples(inputs, seed));
  for (const auto& [arguments, batch] : made)
    AITUNE_RETURN_IF_ERROR(Record(arguments, batch));
  std::lock_guard<std::mutex> lock(mutex_);
  accepted_inputs_ = TextOf(inputs);
  return absl::OkStatus();
}

void Module::ForgetSamples() {
  std::lock_guard<std::mutex> lock(mutex_);
  samples_.clear();
}

std::vector<aitune::BatchedSample> Module::Samples() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return samples_;
}

absl::StatusOr<aitune::GraphSpec> Module::Spec() const {
  return SpecOf(Samples());
}

absl::StatusOr<aitune::Sample> Module::OnDevice(
    const aitune::Sample& sample) const {
  AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                          aitune::Device::ParseCpuOrGpu(options_.device));
  if (!device.is_gpu()) return sample;
  AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                          source()->Unflatten(sample));
  return source()->Flatten(aitune::frontend::ToDevice(arguments, device));
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
  AITUNE_RETURN_IF_ERROR(CheckModuleOptions(options_));
  aitune::TuneRequest request;
  const std::shared_ptr<aitune::frontend::TorchScriptSource> source =
      this->source();
  request.build.model = source;
  AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                          aitune::Device::ParseCpuOrGpu(options_.device));
  request.build.device = device;
  request.build.cache_dir = options_.cache_dir;
  const std::vector<aitune::BatchedSample> samples = Samples();
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
  for (const int64_t batch : options.batches) {
    if (batch < 1)
      return absl::InvalidArgumentError(absl::StrCat(
          "the batch size ", batch, " was given; give numbers from 1 on"));
  }
  auto builds = std::make_shared<Builds>();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    report_.inputs = options.inputs && !options.inputs->specs.empty()
                         ? TextOf(*options.inputs)
                         : request.build.graph_spec.ToString();
  }
  aitune::frontend::CompileSettings settings;
  settings.options = ToCompileOptions(options_);
  settings.inputs = options.inputs;
  settings.seed = options.seed;
  settings.cache_folder = options_.cache_dir;
  settings.built = [builds, inputs = options.inputs, seed = options.seed](
                       const std::string& key,
                       const std::shared_ptr<const CompiledModel>& version,
                       bool repaired) {
    if (repaired)
      builds->Replace(key, *version);
    else
      builds->Add(key, version, inputs, seed);
  };
  source->SetCompileSettings(
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
    if (strategy.name() == kOneBackend) choices.resize(1);
  }
  for (const auto& [kind, config] : choices) {
    AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<aitune::Backend> backend,
                            aitune::CreateBackend(kind, config));
    request.backends.push_back(std::move(backend));
  }
  CheckSubject subject{source,         device,       options.tolerance,
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
  if (request.timing.settle_milliseconds == 0)
    request.timing.settle_milliseconds =
        aitune::frontend::SettleMilliseconds(device);
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
  absl::StatusOr<aitune::TuneResult> result = absl::InternalError("no result");
  const absl::Status raised = aitune::frontend::CatchExceptions(
      absl::StatusCode::kInternal, "tuning", [&] {
        result = strategy.Tune(std::move(request));
        return absl::OkStatus();
      });
  if (!raised.ok()) result = raised;
  for (const auto& [key, check] : checker.reports())
    details.push_back({key, builds->Versions(key), check});
  if (result.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    builds_ = std::move(builds);
  }
  return result;
}

void Module::CancelTune() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (tuning_ != nullptr) tuning_->Cancel();
}

absl::Status Module::Tune(const aitune::Strategy& strategy,
                          const TuneOptions& options) {
  std::lock_guard<std::mutex> tuning(tune_mutex_);
  const ThreadsOfModule threads(threads_);
  // What is checked and timed must be compiled.
  std::optional<aitune::ScopedStance> stance;
  if (aitune::CurrentStance() == aitune::Stance::kEagerWhileCompiling)
    stance.emplace(aitune::Stance::kDefault);
  // Those that are made here of inputs which then turn out wrong must not be in
  // the way of others.
  bool made_samples = false;
  if (options.inputs.has_value()) {
    std::unique_lock<std::mutex> lock(mutex_);
    const bool has_samples = !samples_.empty(),
               are_new = TextOf(*options.inputs) != accepted_inputs_;
    lock.unlock();
    if (!has_samples) {
      const absl::Status recorded = RecordInputs(*options.inputs, options.seed);
      if (!recorded.ok()) {
        ForgetSamples();
        return recorded;
      }
      made_samples = true;
    } else if (are_new) {
      AITUNE_RETURN_IF_ERROR(
          MakeSamples(*options.inputs, options.seed).status());
    }
  }
  const auto limit = std::make_shared<aitune::CallLimit>();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    tuning_ = limit;
  }
  std::vector<BackendDetails> details;
  absl::StatusOr<aitune::TuneResult> result = [&] {
    const aitune::ScopedCallLimit scope(limit.get());
    return Choose(strategy, options, details);
  }();
  if (!result.ok() && !limit->Check().ok())
    result = absl::CancelledError("the tuning was cancelled");
  if (!result.ok() && made_samples) ForgetSamples();
  std::lock_guard<std::mutex> lock(mutex_);
  tuning_ = nullptr;
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
  if (backend_ != nullptr) SetMemoryOf(*backend_);
  in_tuning_ = backend_ == nullptr ? aitune::BackendUsage() : backend_->Usage();
  eager_calls_ = 0;
  eager_ = nullptr;
  return absl::OkStatus();
}

}  // namespace ait
