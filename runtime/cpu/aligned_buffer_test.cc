#include "runtime/cpu/aligned_buffer.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using ::testing::HasSubstr;

// An allocator that counts, and may refuse or give memory at odd places.
class AlignedBufferTest : public testing::Test {
 protected:
  ~AlignedBufferTest() override { EXPECT_TRUE(live_.empty()); }

  std::shared_ptr<const HostAllocator> Allocator() {
    auto allocator = std::make_shared<HostAllocator>();
    allocator->allocate = [this](int64_t bytes, int64_t alignment) -> void* {
      if (throws_) throw std::bad_alloc();
      if (refuses_) return nullptr;
      ++count_;
      asked_ = bytes;
      EXPECT_EQ(alignment, 64);
      char* const block = static_cast<char*>(
          std::aligned_alloc(static_cast<size_t>(alignment),
                             static_cast<size_t>(bytes + alignment)));
      live_[block + shift_] = {block, bytes};
      return block + shift_;
    };
    allocator->release = [this](void* memory, int64_t bytes,
                                int64_t alignment) {
      const auto found = live_.find(memory);
      ASSERT_NE(found, live_.end());
      EXPECT_EQ(found->second.second, bytes);
      EXPECT_EQ(alignment, 64);
      std::free(found->second.first);
      live_.erase(found);
    };
    return allocator;
  }

  bool throws_ = false, refuses_ = false;
  int64_t shift_ = 0, asked_ = 0;
  int count_ = 0;
  std::map<void*, std::pair<void*, int64_t>> live_;
};

TEST_F(AlignedBufferTest, TheSystemsIsAligned) {
  for (const int64_t bytes : {int64_t{1}, int64_t{100}, int64_t{2} << 20,
                              int64_t{3} << 20, int64_t{5} << 20}) {
    const auto buffer = AlignedBuffer::Allocate(bytes);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    // Blocks that hold a huge page begin with one.
    const uintptr_t alignment = bytes >= (2 << 20) ? 2 << 20 : 64;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % alignment, 0u);
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_EQ(buffer->allocator(), nullptr);
    std::memset(buffer->data(), 1, static_cast<size_t>(bytes));
  }
}

TEST_F(AlignedBufferTest, AnAllocatorIsAskedAndGetsItBack) {
  std::weak_ptr<const HostAllocator> weak;
  {
    auto allocator = Allocator();
    weak = allocator;
    auto buffer = AlignedBuffer::Allocate(5 << 20, allocator);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    EXPECT_EQ(buffer->allocator(), allocator.get());
    EXPECT_EQ(live_.count(buffer->data()), 1u);
    allocator.reset();
    EXPECT_FALSE(weak.expired()) << "the buffer keeps it";
    AlignedBuffer moved = *std::move(buffer);
    EXPECT_EQ(live_.size(), 1u);
    moved = AlignedBuffer();
    EXPECT_TRUE(live_.empty());
  }
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(count_, 1);
}

TEST_F(AlignedBufferTest, AsksForWholeLines) {
  const auto buffer = AlignedBuffer::Allocate(65, Allocator());
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_EQ(asked_, 128);
  EXPECT_EQ(buffer->bytes(), 65);
  EXPECT_TRUE(AlignedBuffer::Allocate(0, Allocator()).ok());
  EXPECT_EQ(count_, 1) << "nothing is asked for 0 bytes";
}

TEST_F(AlignedBufferTest, NoMemoryIsAnError) {
  for (bool* const fails : {&refuses_, &throws_}) {
    *fails = true;
    const absl::Status status =
        AlignedBuffer::Allocate(100, Allocator()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(status.message(),
              "the program's allocator gave no memory for 100 bytes");
    *fails = false;
  }
}

TEST_F(AlignedBufferTest, MemoryThatIsNotAlignedIsAnErrorAndGivenBack) {
  shift_ = 8;
  const absl::Status status =
      AlignedBuffer::Allocate(100, Allocator()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("not aligned to the 64 bytes"));
  EXPECT_EQ(count_, 1);
  EXPECT_TRUE(live_.empty());
}

}  // namespace
}  // namespace aitune
