#include "compiler/measure/HostTensor.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "llvm/Support/MathExtras.h"

namespace aitune {

HostTensor::HostTensor(TensorView shape, int64_t guardBytes)
    : tensor(std::move(shape)) {
  const int64_t before = llvm::alignTo(guardBytes, AlignedBuffer::kAlignment);
  absl::StatusOr<AlignedBuffer> allocated = AlignedBuffer::Allocate(
      before + llvm::alignTo(bytes() + guardBytes, AlignedBuffer::kAlignment));
  if (!allocated.ok())
    throw std::bad_alloc();
  memory = *std::move(allocated);
  tensor.data = memory.data() + before;
  restoreGuards();
}

void HostTensor::restoreGuards() {
  const int64_t before = static_cast<const char *>(tensor.data) - memory.data();
  const int64_t end = before + bytes();
  std::memset(memory.data(), kGuard, before);
  std::memset(memory.data() + end, kGuard, memory.bytes() - end);
}

void HostTensor::fill(char byte) { std::memset(tensor.data, byte, bytes()); }

void HostTensor::copyFrom(const void *data) {
  // Views without elements may have no data.
  if (bytes() > 0)
    std::memcpy(tensor.data, data, bytes());
}

bool HostTensor::isIntact() const {
  auto holdsGuards = [](const char *from, const char *to) {
    return std::all_of(from, to, [](char byte) { return byte == kGuard; });
  };
  const char *begin = static_cast<const char *>(tensor.data);
  return holdsGuards(memory.data(), begin) &&
         holdsGuards(begin + bytes(), memory.data() + memory.bytes());
}

} // namespace aitune
