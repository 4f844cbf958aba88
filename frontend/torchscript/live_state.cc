#include "frontend/torchscript/live_state.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// The tensors in `value`, in modules and containers too, each once.
class Tensors {
 public:
  explicit Tensors(const c10::IValue& value) { Add(value); }

  const std::vector<at::Tensor>& all() const { return tensors_; }

 private:
  void Add(const c10::IValue& value) {
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      if (tensor.defined() && seen_.insert(tensor.unsafeGetTensorImpl()).second)
        tensors_.push_back(tensor);
      return;
    }
    if (value.isTuple()) {
      for (const c10::IValue& element : value.toTupleRef().elements())
        Add(element);
      return;
    }
    if (!value.isList() && !value.isGenericDict() && !value.isObject()) return;
    if (!seen_.insert(value.internalToPointer()).second) return;
    if (value.isList()) {
      for (const c10::IValue& element : value.toList().vec()) Add(element);
    } else if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict()) Add(entry.value());
    } else {
      for (const c10::IValue& slot : value.toObjectRef().slots()) Add(slot);
    }
  }

  std::vector<at::Tensor> tensors_;
  std::unordered_set<const void*> seen_;
};

bool SharesStorage(const at::Tensor& a, const at::Tensor& b) {
  return a.has_storage() && b.has_storage() &&
         a.storage().is_alias_of(b.storage());
}

}  // namespace

std::optional<LiveState> LiveState::Of(const torch::jit::Module& module,
                                       const StateWrites& writes) {
  if (!writes.any() || !writes.only_known_tensors()) return std::nullopt;
  const Tensors tensors(module._ivalue());
  LiveState live;
  for (const at::Tensor& tensor : tensors.all()) {
    if (!writes.Has(tensor)) continue;
    const bool is_alone = std::none_of(
        tensors.all().begin(), tensors.all().end(),
        [&](const at::Tensor& other) {
          return !other.is_same(tensor) && SharesStorage(other, tensor);
        });
    if (!is_alone || !IsPlainTensor(tensor) || !tensor.is_contiguous())
      return std::nullopt;
    live.tensors_.push_back(tensor);
  }
  return live;
}

const at::Tensor* LiveState::Find(const at::Tensor& tensor) const {
  for (const at::Tensor& own : tensors_) {
    if (own.is_same(tensor) ||
        (SharesStorage(own, tensor) && own.sizes() == tensor.sizes() &&
         own.strides() == tensor.strides() &&
         own.storage_offset() == tensor.storage_offset()))
      return &own;
  }
  return nullptr;
}

}  // namespace aitune::frontend
