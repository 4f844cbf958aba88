#include "compiler/measure/HostTensor.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "llvm/Support/MathExtras.h"

namespace aitune {
namespace {

/// The alignment of a plan's memory in bytes, a line of the cache.
constexpr int64_t kAlignment = 64;

} // namespace

HostTensor::HostTensor(TensorView shape, int64_t guardBytes)
    : tensor(std::move(shape)) {
  const int64_t before = llvm::alignTo(guardBytes, kAlignment);
  size = before + llvm::alignTo(bytes() + guardBytes, kAlignment);
  memory.reset(static_cast<char *>(std::aligned_alloc(kAlignment, size)));
  if (!memory)
    throw std::bad_alloc();
  tensor.data = memory.get() + before;
  const int64_t end = before + bytes();
  std::memset(memory.get(), kGuard, before);
  std::memset(memory.get() + end, kGuard, size - end);
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
  return holdsGuards(memory.get(), begin) &&
         holdsGuards(begin + bytes(), memory.get() + size);
}

} // namespace aitune
