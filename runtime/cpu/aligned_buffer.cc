#include "runtime/cpu/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace aitune {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

// Null where it has none, or throws.
void* AllocateBy(const HostAllocator& allocator, int64_t bytes) {
  try {
    return allocator.allocate(bytes, AlignedBuffer::kAlignment);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

void AlignedBuffer::Free::operator()(char* data) const {
  if (allocator == nullptr)
    std::free(data);
  else
    allocator->release(data, bytes, kAlignment);
}

absl::StatusOr<AlignedBuffer> AlignedBuffer::Allocate(
    int64_t bytes, std::shared_ptr<const HostAllocator> allocator) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  const bool is_systems = allocator == nullptr;
  const int64_t alignment =
      is_systems && bytes >= kHugePage ? kHugePage : kAlignment;
  // The end of a smaller block is not worth a huge page of its own.
  const int64_t unit = bytes >= 2 * kHugePage ? alignment : kAlignment;
  void* data = nullptr;
  if (bytes > 0 && bytes <= std::numeric_limits<int64_t>::max() - alignment) {
    const int64_t rounded = (bytes + unit - 1) / unit * unit;
    if (!is_systems) {
      data = AllocateBy(*allocator, rounded);
      buffer.data_ = {static_cast<char*>(data), Free{allocator, rounded}};
    } else {
      // aligned_alloc takes whole multiples of the alignment alone.
      if (posix_memalign(&data, alignment, rounded) != 0) data = nullptr;
      buffer.data_.reset(static_cast<char*>(data));
    }
    // Advice only: without huge pages everything works as well.
    if (data != nullptr && alignment == kHugePage) {
      madvise(data, rounded, MADV_HUGEPAGE);
    }
  }
  if (data == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(is_systems ? "cannot allocate "
                                : "the program's allocator gave no memory for ",
                     bytes, is_systems ? " bytes of memory" : " bytes"));
  }
  if (reinterpret_cast<uintptr_t>(data) % kAlignment != 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "the program's allocator gave memory that is not aligned to the ",
        kAlignment, " bytes that it was asked for"));
  buffer.bytes_ = bytes;
  return buffer;
}

}  // namespace aitune
