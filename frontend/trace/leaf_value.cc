#include "frontend/trace/leaf_value.h"

#include <ATen/Functions.h>

#include <cmath>
#include <utility>
#include <variant>

#include "frontend/values/torch_util.h"

namespace aitune::frontend {

namespace {

// A tensor on the view's memory, which `owner` keeps unless it is null.
at::Tensor OwnedTensor(const TensorView& view,
                       std::shared_ptr<const void> owner,
                       const Device& device) {
  if (owner == nullptr || view.data == nullptr) return TensorOn(view, device);
  const auto options = at::TensorOptions()
                           .dtype(ToScalarType(view.dtype))
                           .device(DeviceOf(device));
  // Not a deleter with the owner in it, for which LibTorch allocates where an
  // exception ends the process.
  auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
  return at::for_blob(view.data, view.sizes)
      .context(kept.release(),
               [](void* owner) {
                 delete static_cast<std::shared_ptr<const void>*>(owner);
               })
      .options(options)
      .target_device(options.device())
      .make_tensor();
}

}  // namespace

OwnedValue ToOwned(const c10::IValue& leaf) {
  if (leaf.isTensor() && IsPlainTensor(leaf.toTensor())) {
    auto tensor = std::make_shared<at::Tensor>(leaf.toTensor().contiguous());
    TensorView view = ViewOf(*tensor);
    return {std::move(view), std::move(tensor)};
  }
  return {OpaqueValue(std::make_shared<c10::IValue>(leaf)), nullptr};
}

c10::IValue ToIValue(const RegionValue& leaf, std::shared_ptr<const void> owner,
                     const Device& device) {
  if (const auto* opaque = std::get_if<OpaqueValue>(&leaf)) {
    return *opaque == nullptr ? c10::IValue()
                              : *static_cast<const c10::IValue*>(opaque->get());
  }
  return OwnedTensor(std::get<TensorView>(leaf), std::move(owner), device);
}

bool IsContainer(const c10::IValue& value) {
  return value.isTuple() || value.isList() || value.isGenericDict();
}

bool SameNumber(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) ||
         (std::isnan(a) && std::isnan(b));
}

bool HoldsContainer(const OwnedValue& leaf) {
  const auto* opaque = std::get_if<OpaqueValue>(&leaf.value);
  return opaque != nullptr && *opaque != nullptr &&
         IsContainer(*static_cast<const c10::IValue*>(opaque->get()));
}

}  // namespace aitune::frontend
