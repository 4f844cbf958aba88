#include "frontend/values/borrowed_memory.h"

#include <ATen/Functions.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
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

void ShareStorages(std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor*> sorted;
  for (at::Tensor& tensor : tensors) {
    if (tensor.nbytes() > 0) sorted.push_back(&tensor);
  }
  const auto begin_of = [](const at::Tensor* tensor) {
    return static_cast<char*>(tensor->data_ptr());
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const at::Tensor* a, const at::Tensor* b) {
              return begin_of(a) < begin_of(b);
            });
  for (size_t first = 0, next; first < sorted.size(); first = next) {
    char* const begin = begin_of(sorted[first]);
    char* end = begin + sorted[first]->nbytes();
    for (next = first + 1; next < sorted.size() && begin_of(sorted[next]) < end;
         ++next)
      end = std::max(end, begin_of(sorted[next]) + sorted[next]->nbytes());
    if (next == first + 1) continue;
    const at::Storage storage =
        at::from_blob(begin, {end - begin}, at::kByte).storage();
    for (size_t i = first; i < next; ++i) {
      const int64_t offset = begin_of(sorted[i]) - begin,
                    size = static_cast<int64_t>(sorted[i]->itemsize());
      if (offset % size != 0) continue;  // no place in it has that address
      *sorted[i] = at::empty({0}, sorted[i]->options())
                       .set_(storage, offset / size, sorted[i]->sizes(),
                             sorted[i]->strides());
    }
  }
}

}  // namespace aitune::frontend
