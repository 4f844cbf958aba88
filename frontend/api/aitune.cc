#include "frontend/api/aitune.h"

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/api/c_handles.h"
#include "frontend/api/module.h"
#include "frontend/api/module_calls.h"
#include "frontend/api/module_options.h"
#include "frontend/torchscript/substitution.h"
#include "frontend/values/gpu.h"
#include "frontend/values/torch_util.h"
#include "runtime/bundle/bundle_signature.h"
#include "runtime/control/control.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/status/status_macros.h"

namespace {

using ait::CheckStruct;
using ait::Element;
using ait::Guarded;
using ait::Need;
using aitune::frontend::ValueList;

// The options of loading, with the changes of submodules.
absl::StatusOr<ait::ModuleOptions> WithChanges(
    const ait_options* options, const ait_submodule_change* changes,
    size_t count) {
  AITUNE_RETURN_IF_ERROR(Need(options, "options"));
  if (count > 0) AITUNE_RETURN_IF_ERROR(Need(changes, "changes"));
  ait::ModuleOptions with = options->options;
  for (size_t i = 0; i < count; ++i) {
    const ait_submodule_change& change = Element(changes, i);
    AITUNE_RETURN_IF_ERROR(CheckStruct(change, absl::StrCat("change ", i)));
    AITUNE_RETURN_IF_ERROR(Need(change.submodule, "a change's submodule"));
    if (change.source == nullptr)
      with.disabled.push_back(change.submodule);
    else
      with.substitutes[change.submodule] = change.source;
  }
  return with;
}

absl::Status Give(const std::string& text, char** out) {
  *out = strdup(text.c_str());
  if (*out != nullptr) return absl::OkStatus();
  return absl::ResourceExhaustedError("out of memory");
}

// Nothing for NULL; a text that is empty is one.
std::optional<std::string_view> IfGiven(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string_view>(text);
}

}  // namespace

int ait_api_version(void) { return AIT_API_VERSION; }

ait_error* ait_module_load(const char* path, const char* cache_dir,
                           ait_module** module) {
  return ait_module_load_changed(path, cache_dir, nullptr, 0, module);
}

ait_error* ait_module_load_changed(const char* path, const char* cache_dir,
                                   const ait_submodule_change* changes,
                                   size_t count, ait_module** module) {
  return ait_module_load_on(nullptr, path, cache_dir, changes, count, module);
}

ait_error* ait_module_load_on(const char* device, const char* path,
                              const char* cache_dir,
                              const ait_submodule_change* changes, size_t count,
                              ait_module** module) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(path, "path"));
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    ait_options with;
    if (cache_dir != nullptr) with.options.cache_dir = cache_dir;
    if (device != nullptr) with.options.device = device;
    AITUNE_ASSIGN_OR_RETURN(ait::ModuleOptions options,
                            WithChanges(&with, changes, count));
    AITUNE_ASSIGN_OR_RETURN(auto loaded,
                            ait::Module::Load(path, std::move(options)));
    *module = new ait_module{std::move(loaded)};
    return absl::OkStatus();
  });
}

ait_options* ait_options_new(void) { return new (std::nothrow) ait_options; }

ait_error* ait_options_set(ait_options* options, const char* name,
                           const char* value) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(options, "options"));
    AITUNE_RETURN_IF_ERROR(Need(name, "name"));
    AITUNE_RETURN_IF_ERROR(Need(value, "value"));
    return ait::SetOption(name, value, options->options);
  });
}

void ait_options_free(ait_options* options) { delete options; }

ait_error* ait_module_load_with(const ait_options* options, const char* path,
                                const ait_submodule_change* changes,
                                size_t count, ait_module** module) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(path, "path"));
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_ASSIGN_OR_RETURN(ait::ModuleOptions with,
                            WithChanges(options, changes, count));
    AITUNE_ASSIGN_OR_RETURN(auto loaded,
                            ait::Module::Load(path, std::move(with)));
    *module = new ait_module{std::move(loaded)};
    return absl::OkStatus();
  });
}

ait_error* ait_module_load_bytes(const ait_options* options, const void* bytes,
                                 size_t size, const char* name,
                                 const ait_submodule_change* changes,
                                 size_t count, ait_module** module) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(bytes, "bytes"));
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_ASSIGN_OR_RETURN(ait::ModuleOptions with,
                            WithChanges(options, changes, count));
    if (name != nullptr) with.name = name;
    AITUNE_ASSIGN_OR_RETURN(
        auto loaded,
        ait::Module::LoadBytes({static_cast<const char*>(bytes), size},
                               std::move(with)));
    *module = new ait_module{std::move(loaded)};
    return absl::OkStatus();
  });
}

ait_error* ait_substitute_in_graph(const char* op, const char* source) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(op, "op"));
    if (source != nullptr && *source == '\0')
      return absl::InvalidArgumentError(
          "source is empty; give NULL to remove the replacement");
    return aitune::frontend::SubstituteInGraph(op,
                                               source == nullptr ? "" : source);
  });
}

ait_error* ait_module_load_checkpoint(const char* path, const char* digest,
                                      ait_module** module) {
  return ait_module_load_checkpoint_on(nullptr, path, digest, module);
}

ait_error* ait_module_load_checkpoint_on(const char* device, const char* path,
                                         const char* digest,
                                         ait_module** module) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(path, "path"));
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_ASSIGN_OR_RETURN(auto loaded, ait::Module::LoadCheckpoint(
                                             path, IfGiven(digest),
                                             device == nullptr ? "" : device));
    *module = new ait_module{std::move(loaded)};
    return absl::OkStatus();
  });
}

ait_error* ait_module_load_checkpoint_verified(const char* device,
                                               const char* path,
                                               const char* key,
                                               ait_module** module) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(path, "path"));
    AITUNE_RETURN_IF_ERROR(Need(key, "key"));
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_ASSIGN_OR_RETURN(const std::string digest,
                            aitune::VerifiedDigest(path, key));
    AITUNE_ASSIGN_OR_RETURN(auto loaded,
                            ait::Module::LoadCheckpoint(
                                path, digest, device == nullptr ? "" : device));
    *module = new ait_module{std::move(loaded)};
    return absl::OkStatus();
  });
}

ait_error* ait_module_load_checkpoint_bytes(const char* device,
                                            const void* bytes, size_t size,
                                            const char* digest,
                                            ait_module** module) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(bytes, "bytes"));
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_ASSIGN_OR_RETURN(
        auto loaded, ait::Module::LoadCheckpointBytes(
                         {static_cast<const char*>(bytes), size},
                         IfGiven(digest), device == nullptr ? "" : device));
    *module = new ait_module{std::move(loaded)};
    return absl::OkStatus();
  });
}

ait_error* ait_module_record(ait_module* module, const ait_tensor* inputs,
                             size_t count, int64_t batch) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_ASSIGN_OR_RETURN(const ValueList given,
                            ait::ArgumentsOf(*module, inputs, count));
    return module->module->Record(given.Clone(), batch);
  });
}

ait_error* ait_module_run(const ait_module* module, const ait_tensor* inputs,
                          size_t count, ait_result** result) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(result, "result"));
    AITUNE_ASSIGN_OR_RETURN(ValueList arguments,
                            ait::ArgumentsOf(*module, inputs, count));
    const auto run = [&](const ValueList& given)
        -> absl::StatusOr<std::unique_ptr<ait_result>> {
      AITUNE_ASSIGN_OR_RETURN(const c10::IValue value,
                              module->module->RunOwned(given));
      return ait::ResultOf(value, given);
    };
    AITUNE_ASSIGN_OR_RETURN(auto made,
                            ait::OnBorrowed(std::move(arguments), run));
    // The copy to the CPU waited for the GPU, which may find a failed check.
    AITUNE_RETURN_IF_ERROR(module->module->TakeFailedCheck());
    *result = made.release();
    return absl::OkStatus();
  });
}

ait_error* ait_module_run_into(const ait_module* module,
                               const ait_tensor* inputs, size_t count,
                               const ait_tensor* outputs, size_t output_count) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_ASSIGN_OR_RETURN(ValueList arguments,
                            ait::ArgumentsOf(*module, inputs, count));
    AITUNE_ASSIGN_OR_RETURN(
        const ValueList into,
        ait::ValuesOf(*module, outputs, output_count, "output"));
    const auto run = [&](const ValueList& given) -> absl::Status {
      AITUNE_ASSIGN_OR_RETURN(const c10::IValue result,
                              module->module->RunOwned(given));
      return ait::CopyResult(result, into);
    };
    AITUNE_RETURN_IF_ERROR(ait::OnBorrowed(std::move(arguments), run));
    AITUNE_ASSIGN_OR_RETURN(
        const aitune::Device device,
        aitune::Device::ParseCpuOrGpu(module->module->device()));
    if (device.is_gpu()) aitune::frontend::WaitForStream(device);
    return module->module->TakeFailedCheck();
  });
}

size_t ait_result_count(const ait_result* result) {
  return result == nullptr ? 0 : result->tensors.size();
}

ait_error* ait_result_tensor(const ait_result* result, size_t index,
                             ait_tensor* tensor) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(result, "result"));
    AITUNE_RETURN_IF_ERROR(Need(tensor, "tensor"));
    return ait::GiveTensor(*result, index, tensor);
  });
}

size_t ait_result_values(const ait_result* result) {
  return result == nullptr ? 0 : result->values.size();
}

ait_error* ait_result_value(const ait_result* result, size_t index,
                            ait_tensor* value) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(result, "result"));
    AITUNE_RETURN_IF_ERROR(Need(value, "value"));
    return ait::GiveValue(*result, index, value);
  });
}

void ait_result_free(ait_result* result) { delete result; }

ait_error* ait_module_describe(const ait_module* module, char** text) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(text, "text"));
    return Give(module->module->Describe(), text);
  });
}

int ait_module_is_tuned(const ait_module* module) {
  return module != nullptr && module->module->is_tuned() ? 1 : 0;
}

ait_error* ait_module_set_disabled(ait_module* module, int disabled) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    module->module->SetDisabled(disabled != 0);
    return absl::OkStatus();
  });
}

ait_error* ait_module_spec(const ait_module* module, char** text) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(text, "text"));
    AITUNE_ASSIGN_OR_RETURN(const aitune::GraphSpec spec,
                            module->module->Spec());
    return Give(spec.ToString(), text);
  });
}

ait_error* ait_module_inspect(ait_module* module, int repeats) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    return module->module->Inspect(repeats).status();
  });
}

ait_error* ait_module_report(const ait_module* module, const char* format,
                             char** text) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(format, "format"));
    AITUNE_RETURN_IF_ERROR(Need(text, "text"));
    const std::string wanted = format;
    if (wanted == "json")
      return Give(ait::ReportJson(module->module->report()), text);
    if (wanted == "html")
      return Give(ait::ReportHtml(module->module->report()), text);
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no report as '", wanted, "'; there are json and html"));
  });
}

void ait_text_free(char* text) { free(text); }

ait_error* ait_module_save(const ait_module* module, const char* path,
                           char digest[65]) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(path, "path"));
    const bool is_folder = absl::EndsWith(path, "/");
    AITUNE_ASSIGN_OR_RETURN(
        const std::string saved,
        module->module->Save(path, is_folder ? aitune::BundleFormat::kFolder
                                             : aitune::BundleFormat::kFile));
    if (digest != nullptr) std::memcpy(digest, saved.c_str(), 65);
    return absl::OkStatus();
  });
}

ait_error* ait_sign_checkpoint(const char* path, const char* digest,
                               const char* key) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(path, "path"));
    AITUNE_RETURN_IF_ERROR(Need(digest, "digest"));
    AITUNE_RETURN_IF_ERROR(Need(key, "key"));
    return aitune::SignBundle(path, digest, key);
  });
}

void ait_module_free(ait_module* module) { delete module; }

ait_error* ait_set_thread_stance(const char* name) {
  return Guarded([&]() -> absl::Status {
    if (name == nullptr) return aitune::SetThreadStance(std::nullopt);
    AITUNE_ASSIGN_OR_RETURN(const aitune::Stance stance,
                            aitune::ParseStance(name));
    return aitune::SetThreadStance(stance);
  });
}

ait_error* ait_set_stance(const char* name) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(name, "name"));
    AITUNE_ASSIGN_OR_RETURN(const aitune::Stance stance,
                            aitune::ParseStance(name));
    return aitune::SetStance(stance);
  });
}

void ait_set_threads(int threads) {
  if (threads > 0) at::set_num_threads(aitune::AllowedThreads(threads));
}
