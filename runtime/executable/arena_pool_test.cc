// Where the arenas of calls are from, and what happens to those under way when
// that changes.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "runtime/executable/loaded_plan.h"

namespace aitune {
namespace {

std::shared_ptr<const HostAllocator> CountingAllocator(int* live,
                                                       bool* refuses) {
  auto allocator = std::make_shared<HostAllocator>();
  allocator->allocate = [=](int64_t bytes, int64_t alignment) -> void* {
    if (*refuses) return nullptr;
    ++*live;
    return std::aligned_alloc(static_cast<size_t>(alignment),
                              static_cast<size_t>(bytes));
  };
  allocator->release = [=](void* memory, int64_t, int64_t) {
    --*live;
    std::free(memory);
  };
  return allocator;
}

TEST(ArenaPoolTest, ArenasAreTheAllocators) {
  int live = 0;
  bool refuses = false;
  {
    ArenaPool pool;
    AlignedBuffer before = *pool.Acquire(100), busy = *pool.Acquire(200);
    pool.Release(std::move(before));
    EXPECT_EQ(pool.MemoryInBytes(), 300);
    const auto allocator = CountingAllocator(&live, &refuses);
    pool.SetAllocator(allocator);
    EXPECT_EQ(pool.MemoryInBytes(), 200) << "what was free has gone";
    AlignedBuffer arena = *pool.Acquire(100);
    EXPECT_EQ(arena.allocator(), allocator.get());
    EXPECT_EQ(live, 1);
    // That of the system is not kept for later calls.
    pool.Release(std::move(busy));
    EXPECT_EQ(pool.MemoryInBytes(), 100);
    AlignedBuffer second = *pool.Acquire(50);
    EXPECT_EQ(second.allocator(), allocator.get());
    EXPECT_EQ(live, 2);
    pool.Release(std::move(second));
    pool.Release(std::move(arena));
    // Kept, and replaced by a larger one.
    arena = *pool.Acquire(80);
    EXPECT_EQ(live, 2);
    pool.Release(std::move(arena));
    pool.FreeKept();
    EXPECT_EQ(live, 0);
    EXPECT_EQ(pool.MemoryInBytes(), 0);
    // One under way when it is the system's again goes back to the allocator.
    arena = *pool.Acquire(80);
    pool.SetAllocator(nullptr);
    pool.Release(std::move(arena));
    EXPECT_EQ(live, 0);
    EXPECT_EQ(pool.Acquire(80)->allocator(), nullptr);
  }
  EXPECT_EQ(live, 0);
}

TEST(ArenaPoolTest, NoMemoryLeavesThePoolAsItWas) {
  int live = 0;
  bool refuses = true;
  ArenaPool pool;
  pool.SetAllocator(CountingAllocator(&live, &refuses));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(pool.Acquire(100).status().code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(pool.MemoryInBytes(), 0);
  }
  refuses = false;
  AlignedBuffer arena = *pool.Acquire(100);
  EXPECT_EQ(pool.MemoryInBytes(), 100);
  pool.Release(std::move(arena));
}

}  // namespace
}  // namespace aitune
