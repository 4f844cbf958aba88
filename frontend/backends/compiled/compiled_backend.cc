// From a configuration to a backend that calls can run: what is done before the
// first call, and undone when the model is let go.
#include "frontend/backends/compiled/compiled_backend.h"

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/backends/compiled/compiled_backend_class.h"
#include "frontend/backends/torch_backend.h"
#include "frontend/compiled_model/compile_trace.h"
#include "frontend/values/gpu.h"
#include "frontend/values/torch_util.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

std::unique_ptr<BackendImplementation> MakeCompiledBackend(
    std::string name, std::string key, TorchInductorBackendConfig config,
    InductorOptions options) {
  return std::make_unique<CompiledBackend>(
      std::move(name), std::move(key), std::move(config), std::move(options));
}

absl::Status CheckCompilesFor(const Device& device) {
  AITUNE_RETURN_IF_ERROR(CheckTraceCompiler());
  return CheckTorchDevice(device);
}

absl::Status CompiledBackend::Prepare(BuildContext* context) {
  is_prepared_ = false;
  if (context != nullptr) {
    settings_ = source()->compile_settings();
    if (settings_ == nullptr)
      settings_ = std::make_shared<const CompileSettings>();
    has_version_ = false;
    *changes_state_ = false;
    if (config_.options.has_value() && options_.cudagraphs &&
        !device().is_gpu())
      return absl::InvalidArgumentError(
          "the option triton.cudagraphs has no effect on a CPU; leave it out, "
          "or use mode='reduce-overhead', which asks for it where there is a "
          "GPU");
    if (!device().is_gpu() &&
        (options_.tf32_matmul || !options_.tf32_convolution))
      return absl::InvalidArgumentError(
          "the options backends.cuda.matmul.allow_tf32 and "
          "backends.cudnn.allow_tf32 have no effect on a CPU; leave them out");
    if (options_.cudagraphs && !device().is_gpu())
      Log(LogChannel::kPerfHints,
          "CUDA graphs are not used: the model runs on a CPU");
    spec_ = context->graph_spec();
    const std::filesystem::path cached = settings_->cache_folder.empty()
                                             ? context->cache_dir()
                                             : settings_->cache_folder;
    if (!cached.empty()) {
      absl::StatusOr<std::unique_ptr<Cache>> cache = Cache::Open(cached);
      if (cache.ok()) {
        cache_ = *std::move(cache);
      } else {
        Log(LogChannel::kWarning,
            absl::StrCat("compiled models are not kept: ",
                         std::string(cache.status().message())));
      }
    }
  }
  if (context != nullptr) {
    // Before the hash: what changes it in between is found.
    AITUNE_ASSIGN_OR_RETURN(state_number_, source()->StateNumber());
  } else {
    AITUNE_ASSIGN_OR_RETURN(const bool is_new, HasNewState());
    std::lock_guard<std::mutex> lock(kept_mutex_);
    if (is_new) kept_.clear();
  }
  model_id_ = model_id();
  const ScopedThreadCount threads = Threads();

  DispatchOptions dispatch;
  dispatch.name = source()->name();
  dispatch.sizes.dynamic = config_.dynamic;
  if (!spec_.inputs.empty()) dispatch.sizes.spec = spec_;
  dispatch.recompile_limit = static_cast<int>(options_.recompile_limit);
  if (!options_.guard_filter_fn.empty())
    dispatch.guard_filter = FindGuardFilter(options_.guard_filter_fn);
  table_ = std::make_unique<Table>(std::move(dispatch));
  if (RunsEagerly()) {
    history_.clear();
    std::lock_guard<std::mutex> lock(kept_mutex_);
    kept_.clear();
    notes_.Clear();
  } else if (context == nullptr) {
    table_->Remember(history_);
    AITUNE_ASSIGN_OR_RETURN(const auto anew, LoadKept());
    for (const std::vector<InputDescription>& wanted : anew) {
      const absl::Status made =
          CatchExceptions(absl::StatusCode::kInternal, "compiling",
                          [&] { return CompileAnew(wanted); });
      if (!made.ok())
        Log(LogChannel::kWarning,
            absl::StrCat(source()->name(), " will be compiled in a call: ",
                         std::string(made.message())));
    }
  } else {
    history_.clear();
    kept_.clear();
    notes_.Clear();
    const absl::Status typical = CompileForTypicalCall();
    // The model may refuse the largest sizes, and take those of a sample.
    if (!absl::IsInvalidArgument(typical) || !AskedForAny(context->samples()))
      AITUNE_RETURN_IF_ERROR(typical);
    for (const Sample& sample : context->samples()) {
      AITUNE_RETURN_IF_ERROR(Find(Values(sample), OnMiss::kCompile).status());
    }
  }
  reset_ = std::make_unique<ResetRegistration>([this] {
    if (!HasTraceCompiler()) return;  // Nothing could be made again.
    table_->Reset([this] {
      std::lock_guard<std::mutex> lock(kept_mutex_);
      kept_.clear();
    });
  });
  background_ = std::make_unique<BackgroundBuilds>(
      source()->name(),
      [this](const Sample& sample) -> absl::Status {
        const ScopedThreadCount threads = Threads();
        AITUNE_ASSIGN_OR_RETURN(ValueList arguments,
                                source()->Unflatten(Values(sample)));
        if (device().is_gpu()) arguments = ToDevice(arguments, device());
        AITUNE_ASSIGN_OR_RETURN(const Sample call,
                                source()->Flatten(arguments));
        return Find(Values(call), OnMiss::kCompile).status();
      },
      background_counts_);
  is_prepared_ = true;
  return absl::OkStatus();
}

void CompiledBackend::Release() {
  background_ = nullptr;
  reset_ = nullptr;
  if (table_ != nullptr) history_ = table_->history();
  table_ = nullptr;
}

}  // namespace aitune::frontend
