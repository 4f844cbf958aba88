// Model::WithWeights and WithOwnWeights.

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torchscript/copy_modules.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// A tensor that is an attribute of the module or of one of its submodules.
struct Attribute {
  std::string name;  // as state_dict gives it
  c10::intrusive_ptr<c10::ivalue::Object> owner;
  size_t slot = 0;  // in the owner
};

// A list, dict or tuple that is an attribute and holds tensors.
struct Container {
  std::string name;
  c10::intrusive_ptr<c10::ivalue::Object> owner;
  size_t slot = 0;
};

// What may hold a model's tensors.
struct Holders {
  std::vector<Attribute> attributes;
  std::vector<Container> containers;
};

void FindTensors(const c10::intrusive_ptr<c10::ivalue::Object>& object,
                 const std::string& prefix, Holders& found) {
  const c10::ClassTypePtr type = object->type();
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const std::string name = absl::StrCat(prefix, type->getAttributeName(i));
    const c10::IValue& value = object->getSlot(i);
    if (type->getAttribute(i)->is_module())
      FindTensors(value.toObject(), name + ".", found);
    else if (value.isTensor() && value.toTensor().defined())
      found.attributes.push_back({name, object, i});
    else if (!value.isTensor() && !TensorLeaves(value).empty())
      found.containers.push_back({name, object, i});
  }
}

const at::Tensor& TensorOf(const Attribute& attribute) {
  return attribute.owner->getSlot(attribute.slot).toTensor();
}

bool SameMemory(const at::Tensor& a, const at::Tensor& b) {
  return a.storage().unsafeGetStorageImpl() ==
         b.storage().unsafeGetStorageImpl();
}

bool SameElements(const at::Tensor& a, const at::Tensor& b) {
  return SameMemory(a, b) && a.storage_offset() == b.storage_offset() &&
         a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.scalar_type() == b.scalar_type();
}

// Such as "float32[64,3,7,7]".
std::string DescribeType(const at::Tensor& tensor) {
  const std::optional<DataType> dtype = FromScalarType(tensor.scalar_type());
  return absl::StrCat(
      dtype ? std::string(Name(*dtype)) : c10::toString(tensor.scalar_type()),
      "[", absl::StrJoin(tensor.sizes(), ","), "]");
}

absl::Status CheckFits(const std::string& name, const at::Tensor& old,
                       const TensorView& given) {
  if (old.layout() != at::kStrided || !old.is_cpu())
    return absl::InvalidArgumentError(
        absl::StrCat("weight '", name,
                     "' can't be replaced: it is no dense "
                     "tensor on the CPU"));
  const std::optional<DataType> dtype = FromScalarType(old.scalar_type());
  const std::vector<int64_t> sizes = old.sizes().vec();
  if (!dtype || *dtype != given.dtype || sizes != given.sizes)
    return absl::InvalidArgumentError(
        absl::StrCat("weight '", name, "' is ", DescribeType(old), ", but ",
                     DescribeType(TensorOn(given)),
                     " was given; a weight keeps its dtype and sizes"));
  if (given.data == nullptr && ElementCount(sizes) > 0)
    return absl::InvalidArgumentError(
        absl::StrCat("weight '", name, "' has no data"));
  return absl::OkStatus();
}

// A weight that was replaced.
struct Replacement {
  std::string name;
  at::Tensor old, made;
};

// Puts the tensors that were made also where lists, dicts and tuples hold the
// old ones, as the weights of a recurrent network are. One list of two names
// stays one.
absl::Status ReplaceHeld(const std::vector<Container>& containers,
                         const std::vector<Replacement>& replacements) {
  std::map<const void*, c10::IValue> made;
  for (const Container& container : containers) {
    const c10::IValue value = container.owner->getSlot(container.slot);
    bool holds = false;
    for (const at::Tensor& tensor : TensorLeaves(value)) {
      for (const Replacement& one : replacements) {
        if (!tensor.defined() || !SameMemory(tensor, one.old)) continue;
        holds = true;
        if (!SameElements(tensor, one.old))
          return absl::InvalidArgumentError(absl::StrCat(
              "weight '", one.name, "' can't be replaced: '", container.name,
              "' holds another view of its memory"));
      }
    }
    if (!holds) continue;
    c10::IValue& changed = made[value.internalToPointer()];
    if (changed.isNone()) {
      changed = MapTensors(value, [&](const at::Tensor& tensor, int /*index*/) {
        for (const Replacement& one : replacements) {
          if (tensor.defined() && SameMemory(tensor, one.old)) return one.made;
        }
        return tensor;
      });
    }
    container.owner->setSlot(container.slot, changed);
  }
  return absl::OkStatus();
}

absl::Status Replace(const Holders& holders,
                     const std::map<std::string, TensorView>& weights) {
  const std::vector<Attribute>& attributes = holders.attributes;
  std::vector<Replacement> replacements;
  std::vector<at::Tensor> old;
  for (const Attribute& attribute : attributes)
    old.push_back(TensorOf(attribute));
  // By attribute: the weight that it gets, null for none.
  std::vector<const std::pair<const std::string, TensorView>*> gets(
      attributes.size());
  for (const auto& weight : weights) {
    size_t i = 0;
    while (i < attributes.size() && attributes[i].name != weight.first) ++i;
    if (i == attributes.size())
      return absl::NotFoundError(absl::StrCat(
          "the model has no weight '", weight.first,
          "'; names are those of the parameters and buffers in state_dict"));
    AITUNE_RETURN_IF_ERROR(CheckFits(weight.first, old[i], weight.second));
    const size_t bytes = old[i].nbytes();
    std::optional<at::Tensor> made;
    for (size_t j = 0; j < attributes.size(); ++j) {
      if (!SameMemory(old[i], old[j])) continue;
      if (!SameElements(old[i], old[j]))
        return absl::InvalidArgumentError(absl::StrCat(
            "weight '", weight.first, "' can't be replaced: '",
            attributes[j].name, "' is another view of its memory"));
      if (gets[j] != nullptr && bytes > 0 &&
          std::memcmp(gets[j]->second.data, weight.second.data, bytes) != 0)
        return absl::InvalidArgumentError(absl::StrCat(
            "the weights '", gets[j]->first, "' and '", weight.first,
            "' are one tensor of the model, but were given different "
            "elements"));
      gets[j] = &weight;
      if (!made)
        made = TensorOn(weight.second).clone(at::MemoryFormat::Contiguous);
      attributes[j].owner->setSlot(attributes[j].slot, *made);
    }
    replacements.push_back({weight.first, old[i], *made});
  }
  return ReplaceHeld(holders.containers, replacements);
}

}  // namespace

absl::StatusOr<Model> Model::WithWeights(
    const std::map<std::string, TensorView>& weights) const {
  std::optional<torch::jit::Module> module;
  AITUNE_RETURN_IF_ERROR(CatchExceptions(
      absl::StatusCode::kUnimplemented, "replacing weights", [&] {
        const auto object = CopyObjects(impl_->bare_module);
        Holders holders;
        FindTensors(object, "", holders);
        AITUNE_RETURN_IF_ERROR(Replace(holders, weights));
        module = torch::jit::Module(object);
        return absl::OkStatus();
      }));
  AITUNE_ASSIGN_OR_RETURN(Model changed, WithProgram(*std::move(module)));
  changed.impl_->recorded = impl_->recorded;
  changed.impl_->changes = impl_->changes;
  // The codes of what was replaced are those of the weights before.
  auto& beside = changed.impl_->beside;
  beside.erase(std::remove_if(beside.begin(), beside.end(),
                              [&](const ConstantTensor& tensor) {
                                return weights.count(tensor.name.substr(
                                           0, tensor.name.rfind('.'))) > 0;
                              }),
               beside.end());
  return changed;
}

absl::StatusOr<Model> Model::WithOwnWeights() const {
  AITUNE_ASSIGN_OR_RETURN(Model model, WithWeights({}));
  if (impl_->coded == nullptr) return model;
  AITUNE_RETURN_IF_ERROR(CatchExceptions(
      absl::StatusCode::kInternal, "making the weights of their codes", [&] {
        const c10::NoGradGuard no_grad;
        Holders holders;
        FindTensors(model.impl_->bare_module._ivalue(), "", holders);
        for (const Attribute& attribute : holders.attributes)
          attribute.owner->setSlot(attribute.slot,
                                   impl_->coded->MadeFor(TensorOf(attribute)));
        return absl::OkStatus();
      }));
  model.impl_->coded = nullptr;
  return model;
}

}  // namespace aitune::frontend
