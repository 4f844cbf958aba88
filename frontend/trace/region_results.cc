#include "frontend/trace/region_results.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/values/pytree.h"
#include "frontend/values/tensor_memory.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

class Detacher {
 public:
  explicit Detacher(const std::vector<at::Tensor>& borrowed)
      : borrowed_(borrowed) {}

  c10::IValue Map(const c10::IValue& value) {
    return MapLeaves(value, [&](const c10::IValue& leaf) -> c10::IValue {
      if (leaf.isObject()) Detach(*leaf.toObject());
      if (!leaf.isTensor() || !IsBorrowed(leaf.toTensor())) return leaf;
      return CopyOf(leaf.toTensor());
    });
  }

 private:
  bool IsBorrowed(const at::Tensor& tensor) const {
    return std::any_of(
        borrowed_.begin(), borrowed_.end(),
        [&](const at::Tensor& other) { return ShareMemory(other, tensor); });
  }

  // In place, as others may refer to the object. What modules hold is state.
  void Detach(c10::ivalue::Object& object) {
    if (object.type()->is_module() || !seen_.insert(&object).second) return;
    for (size_t i = 0; i < object.slots().size(); ++i) {
      const c10::IValue held = object.getSlot(i);
      bool is_borrowed = false;
      for (const Leaf& leaf : Leaves(held)) {
        if (leaf.value->isObject()) Detach(*leaf.value->toObject());
        is_borrowed |=
            leaf.value->isTensor() && IsBorrowed(leaf.value->toTensor());
      }
      if (is_borrowed) object.setSlot(i, Map(held));
    }
  }

  const std::vector<at::Tensor>& borrowed_;
  std::set<const void*> seen_;  // objects
};

}  // namespace

absl::Status CheckTensor(const c10::IValue& value, DataType dtype,
                         const std::vector<int64_t>& sizes,
                         const Device& device) {
  if (!value.isTensor() || !IsPlainTensor(value.toTensor(), device)) {
    return absl::InternalError(absl::StrCat(
        "gave ", Describe(value), " where the plan expects a tensor"));
  }
  const at::Tensor& tensor = value.toTensor();
  if (FromScalarType(tensor.scalar_type()) == dtype &&
      tensor.sizes() == at::IntArrayRef(sizes))
    return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "gave ", Describe(value), ", the plan expects ", std::string(Name(dtype)),
      "[", absl::StrJoin(sizes, ","), "]"));
}

void CopyTo(const TensorView& view, const at::Tensor& tensor,
            const Device& device) {
  if (tensor.numel() == 0) return;
  const void* const data = tensor.data_ptr();
  const bool is_dense = tensor.is_contiguous();
  if (is_dense && data == view.data) return;
  // What LibTorch copies on one thread it copies no faster. A tensor of zeros
  // may have no memory.
  constexpr int64_t kFew = 32768;  // elements
  if (is_dense && data != nullptr && !device.is_gpu() &&
      tensor.numel() <= kFew) {
    std::memmove(view.data, data, tensor.nbytes());
    return;
  }
  TensorOn(view, device).copy_(tensor);
}

c10::IValue Detached(const c10::IValue& value,
                     const std::vector<at::Tensor>& borrowed) {
  return Detacher(borrowed).Map(value);
}

}  // namespace aitune::frontend
