#include "frontend/torchscript/model_state.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frontend/torchscript/model_internal.h"
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

// Of equal sizes and dtypes. NaN equals itself.
bool SameBytes(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor here = a.cpu().contiguous();
  const at::Tensor there = b.cpu().contiguous();
  return here.nbytes() == 0 ||
         std::memcmp(here.data_ptr(), there.data_ptr(), here.nbytes()) == 0;
}

// Whether two values have the same nesting and the same content, on whatever
// devices.
bool SameContent(const c10::IValue& a, const c10::IValue& b) {
  const std::vector<Leaf> of_a = Leaves(a), of_b = Leaves(b);
  return std::equal(
      of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
      [](const Leaf& x, const Leaf& y) {
        if (x.path != y.path || x.value->tagKind() != y.value->tagKind())
          return false;
        if (!x.value->isTensor()) return *x.value == *y.value;
        const at::Tensor &s = x.value->toTensor(), &t = y.value->toTensor();
        if (!s.defined() || !t.defined()) return s.defined() == t.defined();
        return s.sizes() == t.sizes() && s.scalar_type() == t.scalar_type() &&
               SameBytes(s, t);
      });
}

// Copies the state of one tree of modules to another.
class StateCopy {
 public:
  // `device`: of the other tree, if it is another.
  StateCopy(const StateWrites& writes, std::optional<c10::Device> device)
      : writes_(writes), device_(device) {}

  void Copy(const c10::ivalue::Object& from, c10::ivalue::Object& to) {
    if (&from == &to || !seen_.insert(&from).second) return;
    for (size_t i = 0; i < from.slots().size(); ++i) {
      const std::string& name = from.type()->getAttributeName(i);
      const std::optional<size_t> slot = to.type()->findAttributeSlot(name);
      if (!slot) continue;
      const c10::IValue& value = from.getSlot(i);
      const c10::IValue there = to.getSlot(*slot);
      if (value.isObject() && there.isObject()) {
        Copy(value.toObjectRef(), *there.toObject());
      } else if (writes_.Sets(name) || value.isList() ||
                 value.isGenericDict() || value.isTuple()) {
        if (!device_ || !SameContent(value, there))
          to.setSlot(*slot, There(value));
      } else if (value.isTensor() && there.isTensor()) {
        Write(value.toTensor(), there.toTensor());
      }
    }
  }

  // `to` are those of the other program.
  void CopyConstants(const std::vector<at::Tensor>& to) const {
    const std::vector<at::Tensor>& from = writes_.constants();
    for (size_t i = 0; i < std::min(to.size(), from.size()); ++i)
      Write(from[i], to[i]);
  }

 private:
  // Does to `there` what in-place operators did to `value`. Programs on the
  // same modules have the same tensor.
  void Write(const at::Tensor& value, at::Tensor there) const {
    if (!device_ || !value.defined() || !there.defined() || !writes_.Has(value))
      return;
    if (value.sizes() == there.sizes())
      there.copy_(value);
    else
      there.set_(CopyOf(value));
  }

  at::Tensor CopyOf(const at::Tensor& tensor) const {
    return tensor.to(*device_, tensor.scalar_type(), /*non_blocking=*/false,
                     /*copy=*/true);
  }

  // One tensor stays one.
  c10::IValue There(const c10::IValue& value) {
    if (!device_) return value;
    return MapTensors(value, [&](const at::Tensor& tensor, int /*index*/) {
      if (!tensor.defined()) return tensor;
      at::Tensor& there = there_[tensor.unsafeGetTensorImpl()];
      if (!there.defined()) there = CopyOf(tensor);
      return there;
    });
  }

  const StateWrites& writes_;
  const std::optional<c10::Device> device_;
  std::unordered_set<const c10::ivalue::Object*> seen_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> there_;
};

}  // namespace

struct ModelState::Impl {
  explicit Impl(const Model& model)
      : module(model.impl().module), writes(module) {}

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

void ModelState::Restore() const {
  if (!exists()) return;
  Restores::Instance().Add(*impl_->module._ivalue());
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
    place.copy_(saved.content);
    at::Tensor tensor = saved.tensor;
    if (!SamePlace(tensor, place)) tensor.set_(place);
  }
}

void ModelState::CopyTo(const Model& copy,
                        const std::optional<Device>& device) const {
  if (!exists()) return;
  const c10::InferenceMode inference;
  const torch::jit::Module& there = copy.impl().module;
  StateCopy state(impl_->writes, device ? std::optional(DeviceOf(*device))
                                        : std::optional<c10::Device>());
  state.Copy(*impl_->module._ivalue(), *there._ivalue());
  state.CopyConstants(StateWrites(there).constants());
  Restores::Instance().Add(*there._ivalue());
}

}  // namespace aitune::frontend
