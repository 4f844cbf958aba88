// What a module may take of the machine, in C: memory and threads.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "frontend/api/c_handles.h"
#include "runtime/control/host_allocator.h"
#include "runtime/executable/memory_use.h"
#include "runtime/status/status_macros.h"

ait_error* ait_module_memory(const ait_module* module, ait_memory* memory) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(ait::Need(memory, "memory"));
    AITUNE_RETURN_IF_ERROR(ait::CheckStruct(*memory, "memory"));
    const aitune::MemoryUse use = module->module->Memory();
    memory->model_bytes = use.model;
    memory->weight_bytes = use.weights;
    memory->arena_bytes = use.arenas;
    memory->result_bytes = use.results;
    memory->graph_bytes = use.graphs;
    memory->limit_bytes = module->module->memory_limit();
    return absl::OkStatus();
  });
}

ait_error* ait_module_set_memory_limit(ait_module* module, int64_t bytes) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    return module->module->SetMemoryLimit(bytes);
  });
}

ait_error* ait_module_free_kept_memory(const ait_module* module) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    module->module->FreeKeptMemory();
    return absl::OkStatus();
  });
}

ait_error* ait_module_set_allocator(
    ait_module* module,
    void* (*allocate)(void* user, size_t bytes, size_t alignment),
    void (*release)(void* user, void* memory, size_t bytes, size_t alignment),
    void* user) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    aitune::HostAllocator allocator;
    if (allocate != nullptr)
      allocator.allocate = [=](int64_t bytes, int64_t alignment) {
        return allocate(user, static_cast<size_t>(bytes),
                        static_cast<size_t>(alignment));
      };
    if (release != nullptr)
      allocator.release = [=](void* memory, int64_t bytes, int64_t alignment) {
        release(user, memory, static_cast<size_t>(bytes),
                static_cast<size_t>(alignment));
      };
    return module->module->SetAllocator(std::move(allocator));
  });
}

ait_error* ait_module_set_threads(ait_module* module, int threads) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    return module->module->SetThreads(threads);
  });
}
