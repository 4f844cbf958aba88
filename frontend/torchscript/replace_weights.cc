// Model::WithWeights.

#include <ATen/core/Tensor.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using ObjectMap = std::map<const c10::ivalue::Object*,
                           c10::intrusive_ptr<c10::ivalue::Object>>;

// A tensor that is an attribute of the module or of one of its submodules.
struct Attribute {
  std::string name;  // as state_dict gives it
  c10::intrusive_ptr<c10::ivalue::Object> owner;
  size_t slot = 0;  // in the owner
};

// The module with objects of its own, which hold the same tensors. `copies` are
// the submodules that were copied before: one of two names stays one.
c10::intrusive_ptr<c10::ivalue::Object> CopyObjects(
    const c10::intrusive_ptr<c10::ivalue::Object>& object, ObjectMap& copies) {
  c10::intrusive_ptr<c10::ivalue::Object>& copy = copies[object.get()];
  if (copy != nullptr) return copy;
  const auto made = object->copy();
  copy = made;
  const c10::ClassTypePtr type = object->type();
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    if (type->getAttribute(i)->is_module())
      made->setSlot(i, CopyObjects(object->getSlot(i).toObject(), copies));
  }
  return made;
}

void FindTensors(const c10::intrusive_ptr<c10::ivalue::Object>& object,
                 const std::string& prefix, std::vector<Attribute>& found) {
  const c10::ClassTypePtr type = object->type();
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const std::string name = absl::StrCat(prefix, type->getAttributeName(i));
    const c10::IValue& value = object->getSlot(i);
    if (type->getAttribute(i)->is_module())
      FindTensors(value.toObject(), name + ".", found);
    else if (value.isTensor() && value.toTensor().defined())
      found.push_back({name, object, i});
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

absl::Status Replace(const std::vector<Attribute>& attributes,
                     const std::map<std::string, TensorView>& weights) {
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
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Model> Model::WithWeights(
    const std::map<std::string, TensorView>& weights) const {
  std::optional<torch::jit::Module> module;
  AITUNE_RETURN_IF_ERROR(CatchExceptions(
      absl::StatusCode::kUnimplemented, "replacing weights", [&] {
        ObjectMap copies;
        const auto object = CopyObjects(impl_->module._ivalue(), copies);
        std::vector<Attribute> attributes;
        FindTensors(object, "", attributes);
        AITUNE_RETURN_IF_ERROR(Replace(attributes, weights));
        module = torch::jit::Module(object);
        return absl::OkStatus();
      }));
  AITUNE_ASSIGN_OR_RETURN(Model changed, FromModule(*std::move(module)));
  changed.impl_->recorded = impl_->recorded;
  changed.impl_->changes = impl_->changes;
  return changed;
}

}  // namespace aitune::frontend
