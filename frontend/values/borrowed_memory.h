// Memory of a caller that LibTorch works in during a call, and that tensors may
// refer to after it: results that are views, and what a model keeps in its
// state. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_VALUES_BORROWED_MEMORY_H_
#define AITUNE_FRONTEND_VALUES_BORROWED_MEMORY_H_

#include <ATen/core/TensorBody.h>
#include <c10/core/Storage.h>

#include <vector>

namespace aitune::frontend {

// For one call, on one thread.
class BorrowedMemory {
 public:
  // Adds a tensor on the CPU that does not own its memory.
  void Add(const at::Tensor& tensor) { storages_.push_back(tensor.storage()); }

  // After the call, when the caller of this has let go of the tensors: all
  // tensors that still refer to memory of an added one get a copy of that
  // memory, which they own and share as before.
  void Release();

 private:
  std::vector<at::Storage> storages_;
};

// Gives tensors on the CPU that do not own their memory, and of which parts are
// the same memory, one storage: by that LibTorch sees that a write to one of
// them changes another, which its operators refuse.
void ShareStorages(std::vector<at::Tensor>& tensors);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_BORROWED_MEMORY_H_
