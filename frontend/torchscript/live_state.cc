#include "frontend/torchscript/live_state.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
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

absl::StatusOr<LiveState> LiveState::Of(const torch::jit::Module& module,
                                        const StateWrites& writes) {
  if (!writes.any()) return absl::UnimplementedError("");
  if (const std::string why = writes.WhyUnknown(); !why.empty())
    return absl::UnimplementedError(why);
  const Tensors tensors(module._ivalue());
  LiveState live;
  for (const at::Tensor& tensor : tensors.all()) {
    if (!writes.Has(tensor)) continue;
    const bool is_alone = std::none_of(
        tensors.all().begin(), tensors.all().end(),
        [&](const at::Tensor& other) {
          return !other.is_same(tensor) && SharesStorage(other, tensor);
        });
    const auto refuse = [&](const char* why) {
      return absl::UnimplementedError(absl::StrCat(
          "a tensor that it writes, ", Describe(tensor), ", ", why));
    };
    if (!is_alone) return refuse("shares memory with another of its own");
    if (!IsPlainTensor(tensor))
      return refuse("has a dtype or layout that compiled code has not");
    if (!tensor.is_non_overlapping_and_dense())
      return refuse("is not dense in its memory");
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
