#include "frontend/torchscript/model_state.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frontend/torchscript/live_state.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/state_copy.h"
#include "frontend/torchscript/state_writes.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// Numbers of restores, by module.
class Restores {
 public:
  static Restores& Instance() {
    static auto* const restores = new Restores;
    return *restores;
  }
  void Add(const c10::ivalue::Object& module) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_[&module];
  }
  int64_t Get(const c10::ivalue::Object& module) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = counts_.find(&module);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  std::mutex mutex_;
  // A module at the place of one that is gone goes on with its number.
  std::unordered_map<const c10::ivalue::Object*, int64_t> counts_;
};

struct SavedTensor {
  at::Tensor tensor;
  at::Tensor place;  // its memory, with the sizes it had
  at::Tensor content;
};
struct SavedObject {
  c10::intrusive_ptr<c10::ivalue::Object> object;
  std::vector<c10::IValue> slots;
};
struct SavedList {
  c10::impl::GenericList list;
  std::vector<c10::IValue> elements;
};
struct SavedDict {
  c10::impl::GenericDict dict;
  std::vector<std::pair<c10::IValue, c10::IValue>> entries;
};

bool SamePlace(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset() &&
         a.storage().is_alias_of(b.storage());
}

}  // namespace

struct ModelState::Impl {
  explicit Impl(const Model& model)
      : module(model.impl().bare_module),
        writes(module),
        live(LiveState::Of(module, writes)) {}

  void Save(const c10::IValue& value) {
    if (value.isTensor()) {
      Save(value.toTensor());
    } else if (value.isTuple()) {
      for (const c10::IValue& element : value.toTupleRef().elements())
        Save(element);
    } else if (value.isList()) {
      const c10::impl::GenericList list = value.toList();
      if (!seen.insert(value.internalToPointer()).second) return;
      std::vector<c10::IValue> elements = list.vec();
      for (const c10::IValue& element : elements) Save(element);
      lists.push_back({list, std::move(elements)});
    } else if (value.isGenericDict()) {
      const c10::impl::GenericDict dict = value.toGenericDict();
      if (!seen.insert(value.internalToPointer()).second) return;
      std::vector<std::pair<c10::IValue, c10::IValue>> entries;
      for (const auto& entry : dict)
        entries.emplace_back(entry.key(), entry.value());
      for (const auto& [key, element] : entries) Save(element);
      dicts.push_back({dict, std::move(entries)});
    } else if (value.isObject()) {
      c10::intrusive_ptr<c10::ivalue::Object> object = value.toObject();
      if (!seen.insert(object.get()).second) return;
      std::vector<c10::IValue> slots = object->slots();
      for (const c10::IValue& slot : slots) Save(slot);
      objects.push_back({std::move(object), std::move(slots)});
    }
  }

  void Save(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage() || !writes.Has(tensor) ||
        !seen.insert(tensor.unsafeGetTensorImpl()).second)
      return;
    tensors.push_back({tensor, tensor.detach(), tensor.clone()});
  }

  const torch::jit::Module module;
  const StateWrites writes;
  const absl::StatusOr<LiveState> live;
  std::unordered_set<const void*> seen;
  std::vector<SavedTensor> tensors;
  std::vector<SavedObject> objects;
  std::vector<SavedList> lists;
  std::vector<SavedDict> dicts;
};

ModelState::ModelState(const Model& model)
    : impl_(std::make_unique<Impl>(model)) {}
ModelState::~ModelState() = default;

bool ModelState::exists() const { return impl_->writes.any(); }

const LiveState* ModelState::live() const {
  return impl_->live.ok() ? &*impl_->live : nullptr;
}

std::string ModelState::WhyNotLive() const {
  return std::string(impl_->live.status().message());
}

void ModelState::Save() {
  if (!exists()) return;
  const c10::InferenceMode inference;
  impl_->seen.clear();
  impl_->tensors.clear();
  impl_->objects.clear();
  impl_->lists.clear();
  impl_->dicts.clear();
  impl_->Save(impl_->module._ivalue());
  for (const at::Tensor& constant : impl_->writes.constants())
    impl_->Save(constant);
}

bool ModelState::HasChanged() const {
  const c10::InferenceMode inference;
  for (const SavedObject& saved : impl_->objects) {
    for (size_t i = 0; i < saved.slots.size(); ++i) {
      if (!saved.object->getSlot(i).is(saved.slots[i])) return true;
    }
  }
  for (const SavedList& saved : impl_->lists) {
    if (saved.list.size() != saved.elements.size()) return true;
    for (size_t i = 0; i < saved.elements.size(); ++i) {
      if (!saved.list.get(i).is(saved.elements[i])) return true;
    }
  }
  for (const SavedDict& saved : impl_->dicts) {
    if (saved.dict.size() != saved.entries.size()) return true;
    for (const auto& [key, value] : saved.entries) {
      const auto found = saved.dict.find(key);
      if (found == saved.dict.end() || !found->value().is(value)) return true;
    }
  }
  return std::any_of(impl_->tensors.begin(), impl_->tensors.end(),
                     [](const SavedTensor& saved) {
                       return !SamePlace(saved.tensor, saved.place) ||
                              !SameBytes(saved.place, saved.content);
                     });
}

int64_t CountRestores(const c10::ivalue::Object& module) {
  return Restores::Instance().Get(module);
}

void AddRestore(const c10::ivalue::Object& module) {
  Restores::Instance().Add(module);
}

void ModelState::Restore() const {
  if (!exists()) return;
  AddRestore(*impl_->module._ivalue());
  // Runs are in inference mode; tensors that they made can only be written in
  // that mode.
  const c10::InferenceMode inference;
  for (const SavedObject& saved : impl_->objects) {
    for (size_t i = 0; i < saved.slots.size(); ++i)
      saved.object->setSlot(i, saved.slots[i]);
  }
  for (const SavedList& saved : impl_->lists) {
    c10::impl::GenericList list = saved.list;
    list.clear();
    for (const c10::IValue& element : saved.elements) list.push_back(element);
  }
  for (const SavedDict& saved : impl_->dicts) {
    c10::impl::GenericDict dict = saved.dict;
    dict.clear();
    for (const auto& [key, value] : saved.entries) dict.insert(key, value);
  }
  for (const SavedTensor& saved : impl_->tensors) {
    // The memory first: a tensor may have been pointed to another since.
    at::Tensor place = saved.place;
    // What was not written keeps its version: others see that it is the same.
    // On a GPU looking would take longer than writing.
    if (!place.is_cpu() || !SameBytes(place, saved.content))
      place.copy_(saved.content);
    at::Tensor tensor = saved.tensor;
    if (!SamePlace(tensor, place)) tensor.set_(place);
  }
}

void ModelState::CopyTo(const Model& copy,
                        const std::optional<Device>& device) const {
  if (!exists()) return;
  const c10::InferenceMode inference;
  const torch::jit::Module& there = copy.impl().bare_module;
  StateCopy state(impl_->writes, device ? std::optional(DeviceOf(*device))
                                        : std::optional<c10::Device>());
  state.Copy(*impl_->module._ivalue(), *there._ivalue());
  state.CopyConstants(StateWrites(there).constants());
  AddRestore(*there._ivalue());
}

absl::StatusOr<std::function<absl::Status()>> SaveStates(
    absl::Span<const Model* const> models) {
  auto states = std::make_shared<std::vector<std::unique_ptr<ModelState>>>();
  const absl::Status saved =
      CatchExceptions(absl::StatusCode::kInternal, "saving the state", [&] {
        for (const Model* model : models) {
          auto state = std::make_unique<ModelState>(*model);
          if (!state->exists()) continue;
          state->Save();
          states->push_back(std::move(state));
        }
        return absl::OkStatus();
      });
  if (!saved.ok()) return saved;
  if (states->empty()) return std::function<absl::Status()>();
  return std::function<absl::Status()>([states] {
    return CatchExceptions(absl::StatusCode::kInternal,
                           "putting back the state", [&] {
                             for (const auto& state : *states) state->Restore();
                             return absl::OkStatus();
                           });
  });
}

}  // namespace aitune::frontend
