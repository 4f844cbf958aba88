#include "runtime/executable/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define AITUNE_SANITIZED 1
#endif
#endif

#ifndef AITUNE_SANITIZED
void* operator new(size_t bytes) {
  ++allocations;
  void* data = std::malloc(bytes);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void* data) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
void operator delete[](void* data, size_t) noexcept { std::free(data); }
#endif

namespace aitune {

bool CountsAllocations() {
#ifdef AITUNE_SANITIZED
  return false;
#else
  return true;
#endif
}

int64_t Allocations() { return allocations; }

}  // namespace aitune
