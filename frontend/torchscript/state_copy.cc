#include "frontend/torchscript/state_copy.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

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
        return s.sizes() == t.sizes() && s.scalar_type() == t.scalar_type() &&
               SameBytes(s, t);
      });
}

}  // namespace

bool SameBytes(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor here = a.cpu().contiguous();
  const at::Tensor there = b.cpu().contiguous();
  return here.nbytes() == 0 ||
         std::memcmp(here.data_ptr(), there.data_ptr(), here.nbytes()) == 0;
}

void StateCopy::Copy(const c10::ivalue::Object& from, c10::ivalue::Object& to) {
  if (&from == &to || !seen_.insert(&from).second) return;
  for (size_t i = 0; i < from.slots().size(); ++i) {
    const std::string& name = from.type()->getAttributeName(i);
    const std::optional<size_t> slot = to.type()->findAttributeSlot(name);
    if (!slot) continue;
    const c10::IValue& value = from.getSlot(i);
    const c10::IValue there = to.getSlot(*slot);
    if (value.isObject() && there.isObject()) {
      Copy(value.toObjectRef(), *there.toObject());
    } else if (writes_.Sets(name) || value.isList() || value.isGenericDict() ||
               value.isTuple()) {
      if (!device_ || !SameContent(value, there))
        to.setSlot(*slot, There(value));
    } else if (value.isTensor() && there.isTensor()) {
      Write(value.toTensor(), there.toTensor());
    }
  }
}

void StateCopy::CopyConstants(const std::vector<at::Tensor>& to) const {
  const std::vector<at::Tensor>& from = writes_.constants();
  for (size_t i = 0; i < std::min(to.size(), from.size()); ++i)
    Write(from[i], to[i]);
}

void StateCopy::Write(const at::Tensor& value, at::Tensor there) const {
  if (!device_ || !value.defined() || !there.defined() || !writes_.Has(value))
    return;
  if (value.sizes() == there.sizes())
    there.copy_(value);
  else
    there.set_(CopyOf(value));
}

at::Tensor StateCopy::CopyOf(const at::Tensor& tensor) const {
  return tensor.to(*device_, tensor.scalar_type(), /*non_blocking=*/false,
                   /*copy=*/true);
}

c10::IValue StateCopy::There(const c10::IValue& value) {
  if (!device_) return value;
  return MapTensors(value, [&](const at::Tensor& tensor, int /*index*/) {
    at::Tensor& there = there_[tensor.unsafeGetTensorImpl()];
    if (!there.defined()) there = CopyOf(tensor);
    return there;
  });
}

}  // namespace aitune::frontend
