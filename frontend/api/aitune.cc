#include "frontend/api/aitune.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>

#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/module.h"
#include "frontend/api/module_options.h"
#include "frontend/torchscript/substitution.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/control/control.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

struct ait_module {
  std::unique_ptr<ait::Module> module;
};

struct ait_options {
  ait::ModuleOptions options;
};

struct ait_result {
  std::vector<at::Tensor> tensors;
  std::vector<std::vector<int64_t>> sizes;
};

struct ait_error {
  int code;
  std::string message;
};

namespace {

using aitune::DataType;
using aitune::frontend::ValueList;

ait_error* Error(const absl::Status& status) {
  if (status.ok()) return nullptr;
  return new ait_error{static_cast<int>(status.code()),
                       std::string(status.message())};
}

// Runs `body`; nothing that is thrown leaves the library.
ait_error* Guarded(const std::function<absl::Status()>& body) {
  try {
    return Error(body());
  } catch (const std::bad_alloc&) {
    return Error(absl::ResourceExhaustedError("out of memory"));
  } catch (const std::exception& exception) {
    return Error(absl::InternalError(exception.what()));
  } catch (...) {
    return Error(absl::InternalError(
        "an object that is not a std::exception was thrown"));
  }
}

absl::Status Need(const void* pointer, const char* what) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is NULL"));
}

absl::StatusOr<ValueList> Inputs(const ait_tensor* inputs, size_t count) {
  if (count > 0) AITUNE_RETURN_IF_ERROR(Need(inputs, "inputs"));
  std::vector<c10::IValue> values;
  for (size_t i = 0; i < count; ++i) {
    const ait_tensor& input = inputs[i];
    if (input.dtype < AIT_FLOAT32 || input.dtype > AIT_BOOL || input.rank < 0 ||
        (input.rank > 0 && input.sizes == nullptr))
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " has the dtype ", input.dtype,
                       " and the rank ", input.rank, ", which there are not"));
    aitune::TensorView view;
    view.dtype = static_cast<DataType>(input.dtype);
    view.sizes.assign(input.sizes, input.sizes + input.rank);
    view.data = input.data;
    AITUNE_ASSIGN_OR_RETURN(const int64_t bytes,
                            aitune::TensorBytes(view.dtype, view.sizes));
    if (bytes > 0 && input.data == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " has no data"));
    values.emplace_back(aitune::frontend::TensorOn(view));
  }
  return ValueList(std::move(values));
}

absl::Status Give(const std::string& text, char** out) {
  *out = strdup(text.c_str());
  if (*out != nullptr) return absl::OkStatus();
  return absl::ResourceExhaustedError("out of memory");
}

}  // namespace

int ait_api_version(void) { return AIT_API_VERSION; }

int ait_error_code(const ait_error* error) { return error->code; }
const char* ait_error_message(const ait_error* error) {
  return error->message.c_str();
}
void ait_error_free(ait_error* error) { delete error; }

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
  ait_options with;
  if (cache_dir != nullptr) with.options.cache_dir = cache_dir;
  if (device != nullptr) with.options.device = device;
  return ait_module_load_with(&with, path, changes, count, module);
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
    AITUNE_RETURN_IF_ERROR(Need(options, "options"));
    AITUNE_RETURN_IF_ERROR(Need(path, "path"));
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    if (count > 0) AITUNE_RETURN_IF_ERROR(Need(changes, "changes"));
    ait::ModuleOptions with = options->options;
    for (size_t i = 0; i < count; ++i) {
      AITUNE_RETURN_IF_ERROR(
          Need(changes[i].submodule, "a change's submodule"));
      if (changes[i].source == nullptr)
        with.disabled.push_back(changes[i].submodule);
      else
        with.substitutes[changes[i].submodule] = changes[i].source;
    }
    AITUNE_ASSIGN_OR_RETURN(auto loaded,
                            ait::Module::Load(path, std::move(with)));
    *module = new ait_module{std::move(loaded)};
    return absl::OkStatus();
  });
}

ait_error* ait_substitute_in_graph(const char* op, const char* source) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(op, "op"));
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
    AITUNE_ASSIGN_OR_RETURN(
        auto loaded,
        ait::Module::LoadCheckpoint(path, digest == nullptr ? "" : digest,
                                    device == nullptr ? "" : device));
    *module = new ait_module{std::move(loaded)};
    return absl::OkStatus();
  });
}

ait_error* ait_module_record(ait_module* module, const ait_tensor* inputs,
                             size_t count, int64_t batch) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_ASSIGN_OR_RETURN(const ValueList given, Inputs(inputs, count));
    std::vector<c10::IValue> copies;
    for (const c10::IValue& value : given.values())
      copies.emplace_back(value.toTensor().clone());
    return module->module->Record(ValueList(std::move(copies)), batch);
  });
}

ait_error* ait_module_tune(ait_module* module, const char* strategy,
                           double milliseconds) {
  return ait_module_tune_within(module, strategy, milliseconds, -1);
}

ait_error* ait_module_tune_within(ait_module* module, const char* strategy,
                                  double milliseconds, double tolerance) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(strategy, "strategy"));
    AITUNE_ASSIGN_OR_RETURN(auto chosen,
                            aitune::StrategyByName(strategy, milliseconds));
    ait::TuneOptions options;
    if (!(tolerance < 0)) options.tolerance = tolerance;
    if (chosen->name() == "OneBackend")
      options.backends = {{"TorchInductorBackend", {{"mode", "max-autotune"}}}};
    return module->module->Tune(*chosen, options);
  });
}

ait_error* ait_module_run(const ait_module* module, const ait_tensor* inputs,
                          size_t count, ait_result** result) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(result, "result"));
    AITUNE_ASSIGN_OR_RETURN(const ValueList arguments, Inputs(inputs, count));
    AITUNE_ASSIGN_OR_RETURN(const c10::IValue value,
                            module->module->Run(arguments));
    auto made = std::make_unique<ait_result>();
    // The copy to the CPU waits for the GPU, which may find a failed check.
    const c10::IValue on_cpu = aitune::frontend::ToCpu(value);
    AITUNE_RETURN_IF_ERROR(module->module->TakeFailedCheck());
    for (const at::Tensor& tensor : aitune::frontend::TensorLeaves(on_cpu)) {
      if (!aitune::frontend::IsPlainTensor(tensor))
        return absl::UnimplementedError(absl::StrCat(
            "an output is ", aitune::frontend::Describe(c10::IValue(tensor)),
            ", which this interface can't give"));
      made->tensors.push_back(tensor.contiguous());
      made->sizes.push_back(tensor.sizes().vec());
    }
    *result = made.release();
    return absl::OkStatus();
  });
}

size_t ait_result_count(const ait_result* result) {
  return result == nullptr ? 0 : result->tensors.size();
}

ait_tensor ait_result_tensor(const ait_result* result, size_t index) {
  if (index >= ait_result_count(result)) return {0, -1, nullptr, nullptr};
  const at::Tensor& tensor = result->tensors[index];
  return {static_cast<int32_t>(
              *aitune::frontend::FromScalarType(tensor.scalar_type())),
          static_cast<int32_t>(tensor.dim()), result->sizes[index].data(),
          tensor.data_ptr()};
}

void ait_result_free(ait_result* result) { delete result; }

ait_error* ait_module_describe(const ait_module* module, char** text) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(Need(text, "text"));
    return Give(module->module->Describe(), text);
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
    AITUNE_ASSIGN_OR_RETURN(
        const std::string saved,
        module->module->Save(path, aitune::BundleFormat::kFile));
    if (digest != nullptr) std::memcpy(digest, saved.c_str(), 65);
    return absl::OkStatus();
  });
}

void ait_module_free(ait_module* module) { delete module; }

ait_error* ait_set_stance(const char* name) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(name, "name"));
    AITUNE_ASSIGN_OR_RETURN(const aitune::Stance stance,
                            aitune::ParseStance(name));
    return aitune::SetStance(stance);
  });
}

void ait_set_threads(int threads) {
  if (threads > 0) at::set_num_threads(threads);
}
