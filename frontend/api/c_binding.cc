// Bound calls and figures of a module, in C.
#include <ATen/core/ivalue.h>

#include <memory>
#include <utility>

#include "frontend/api/c_handles.h"
#include "runtime/backend/bound_call.h"
#include "runtime/status/status_macros.h"

struct ait_binding {
  std::unique_ptr<aitune::BoundCall> call;
};

ait_error* ait_module_bind(const ait_module* module, const ait_tensor* inputs,
                           size_t count, const ait_tensor* outputs,
                           size_t output_count, ait_binding** binding) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(ait::Need(binding, "binding"));
    AITUNE_ASSIGN_OR_RETURN(const auto arguments,
                            ait::ArgumentsOf(*module, inputs, count));
    AITUNE_ASSIGN_OR_RETURN(
        const auto results,
        ait::ValuesOf(*module, outputs, output_count, "output"));
    AITUNE_ASSIGN_OR_RETURN(auto call,
                            module->module->Bind(arguments, results));
    *binding = new ait_binding{std::move(call)};
    return absl::OkStatus();
  });
}

ait_error* ait_binding_run(ait_binding* binding, void* stream) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(binding, "binding"));
    return binding->call->Run(stream);
  });
}

int ait_binding_copies_nothing(const ait_binding* binding) {
  return binding != nullptr && binding->call->copies_nothing() ? 1 : 0;
}

void ait_binding_free(ait_binding* binding) { delete binding; }

ait_error* ait_module_take_failed_check(const ait_module* module) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    return module->module->TakeFailedCheck();
  });
}

ait_error* ait_module_usage(const ait_module* module, ait_usage* usage) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(ait::Need(usage, "usage"));
    AITUNE_RETURN_IF_ERROR(
        ait::CheckFields(*usage, &ait_usage::memory_bytes, "usage"));
    const aitune::BackendUsage now = module->module->Usage();
    usage->calls = now.calls;
    usage->eager_calls = now.eager_calls;
    usage->versions = now.versions;
    usage->cache_hits = now.cache_hits;
    usage->recompilations = now.recompilations;
    usage->memory_bytes = now.memory_bytes;
    if (ait::HasField(*usage, &ait_usage::background_builds))
      usage->background_builds = now.background_builds;
    if (ait::HasField(*usage, &ait_usage::background_failures))
      usage->background_failures = now.background_failures;
    if (ait::HasField(*usage, &ait_usage::background_pending))
      usage->background_pending = now.background_pending;
    if (ait::HasField(*usage, &ait_usage::eager_parts))
      usage->eager_parts = now.eager_parts;
    return absl::OkStatus();
  });
}
