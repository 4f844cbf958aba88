#include "runtime/cpu/aligned_buffer.h"

#include <sys/mman.h>

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace aitune {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace

absl::StatusOr<AlignedBuffer> AlignedBuffer::Allocate(int64_t bytes) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  const int64_t alignment = bytes >= 2 * kHugePage ? kHugePage : kCacheLine;
  void* data = nullptr;
  if (bytes > 0 && bytes <= std::numeric_limits<int64_t>::max() - alignment) {
    const int64_t rounded = (bytes + alignment - 1) / alignment * alignment;
    data = std::aligned_alloc(alignment, rounded);
    // Advice only: without huge pages everything works as well.
    if (data != nullptr && alignment == kHugePage) {
      madvise(data, rounded, MADV_HUGEPAGE);
    }
  }
  if (data == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", bytes, " bytes of memory"));
  }
  buffer.data_.reset(static_cast<char*>(data));
  buffer.bytes_ = bytes;
  return buffer;
}

}  // namespace aitune
