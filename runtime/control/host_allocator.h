// An allocator of a program's own, for memory of the host.
#ifndef AITUNE_RUNTIME_CONTROL_HOST_ALLOCATOR_H_
#define AITUNE_RUNTIME_CONTROL_HOST_ALLOCATOR_H_

#include <cstdint>
#include <functional>

namespace aitune {

// Both are called by any thread, and by several at once.
struct HostAllocator {
  // Memory of `bytes` > 0 bytes at a multiple of `alignment` bytes, a power of
  // two; its contents do not matter. Null: there is none.
  std::function<void*(int64_t bytes, int64_t alignment)> allocate;
  // Frees what `allocate` gave for these numbers. Must throw nothing.
  std::function<void(void* memory, int64_t bytes, int64_t alignment)> release;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CONTROL_HOST_ALLOCATOR_H_
