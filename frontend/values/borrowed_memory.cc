#include "frontend/values/borrowed_memory.h"

#include <c10/core/CPUAllocator.h>

#include <cstring>

namespace aitune::frontend {

void BorrowedMemory::Release() {
  for (at::Storage& storage : storages_) {
    if (storage.use_count() == 1 || storage.nbytes() == 0) continue;
    at::DataPtr copy = c10::GetCPUAllocator()->allocate(storage.nbytes());
    std::memcpy(copy.get(), storage.data(), storage.nbytes());
    storage.set_data_ptr_noswap(std::move(copy));
  }
  storages_.clear();
}

}  // namespace aitune::frontend
