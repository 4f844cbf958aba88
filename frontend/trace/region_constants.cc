#include "frontend/trace/region_constants.h"

#include <c10/core/InferenceMode.h>

#include <utility>

#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {

RegionConstants::RegionConstants(const RecordedTrace& trace,
                                 const RegionSteps& steps, Device device)
    : trace_(trace), steps_(steps), device_(device) {
  constants_.resize(steps_.constants.size());
  if (device_.is_gpu()) return;  // copied to it when they are first read
  const c10::InferenceMode inference;
  for (size_t i = 0; i < constants_.size(); ++i)
    constants_[i] = NewConstant(static_cast<int>(i));
}

// The mutex is held on a GPU.
at::Tensor RegionConstants::NewConstant(int number) const {
  const RegionConstant& constant =
      steps_.constants[static_cast<size_t>(number)];
  const ConstantTensor& own =
      trace_.constants[static_cast<size_t>(constant.index)];
  at::Tensor tensor;
  if (device_.is_gpu()) {
    copies_.push_back(CopyOfConstant(own, DeviceOf(device_)));
    tensor = copies_.back()->tensor.alias();
  } else {
    tensor = TensorOn(own.view);
  }
  if (constant.is_number)
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

at::Tensor RegionConstants::Constant(const RegionArgument& argument) const {
  if (!device_.is_gpu()) {
    return argument.is_made_anew
               ? NewConstant(argument.constant)
               : constants_[static_cast<size_t>(argument.constant)];
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  at::Tensor& copy = constants_[static_cast<size_t>(argument.constant)];
  if (!copy.defined()) copy = NewConstant(argument.constant);
  return copy;
}

c10::IValue RegionConstants::Fixed(const RegionArgument& argument) const {
  if (!device_.is_gpu()) return argument.fixed;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = fixed_.find(&argument);
  if (found != fixed_.end()) return found->second;
  return fixed_
      .emplace(&argument, MapLeaves(argument.fixed,
                                    [this](const c10::IValue& leaf) {
                                      return OnDevice(leaf);
                                    }))
      .first->second;
}

c10::IValue RegionConstants::OnDevice(c10::IValue value) const {
  if (value.isDevice()) return DeviceOf(device_);
  if (value.isTensor() && value.toTensor().defined() &&
      value.toTensor().device().is_cpu() && value.toTensor().dim() > 0) {
    return value.toTensor().to(DeviceOf(device_));
  }
  return value;
}

int64_t RegionConstants::BytesOnDevice() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t bytes = 0;
  for (const auto& copy : copies_) bytes += PartOf(copy);
  return bytes;
}

}  // namespace aitune::frontend
