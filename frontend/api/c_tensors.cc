// Tensors between C and LibTorch.
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "frontend/api/c_handles.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

// The fields of before devices were added.
constexpr size_t kFirstSize = offsetof(ait_tensor, device_type);

absl::Status CheckSize(const ait_tensor& tensor, const std::string& what) {
  if (tensor.struct_size >= kFirstSize) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has the struct_size ", tensor.struct_size,
                   "; set it to sizeof, which is ", sizeof(ait_tensor)));
}

absl::StatusOr<aitune::Device> DeviceOf(const ait_tensor& tensor,
                                        const std::string& what,
                                        const aitune::Device& module) {
  if (!HasDevice(tensor) || tensor.device_type == AIT_CPU)
    return aitune::Device();
  if (tensor.device_type != AIT_CUDA || tensor.device_index < 0)
    return absl::InvalidArgumentError(absl::StrCat(
        what, " has the device_type ", tensor.device_type,
        " and the device_index ", tensor.device_index,
        ", which there are not; give AIT_CPU, or AIT_CUDA and 0 or more"));
  const aitune::Device device = aitune::Device::Gpu(tensor.device_index);
  if (module.is_gpu() && device.gpu() == module.gpu()) return device;
  return absl::InvalidArgumentError(absl::StrCat(
      what, " is on ", device.ToString(), ", but the module is on ",
      module.ToString(), "; give memory there or of the CPU"));
}

// Whether LibTorch can count the strides of a dense tensor of these sizes, also
// where it has no elements.
bool HasStrides(absl::Span<const int64_t> sizes) {
  int64_t stride = 1;
  for (size_t axis = sizes.size(); axis-- > 1;) {
    if (__builtin_mul_overflow(stride, std::max<int64_t>(sizes[axis], 1),
                               &stride))
      return false;
  }
  return true;
}

// LibTorch's operators take tensors of up to 64 axes
// (at::TensorIteratorBase); a rank of more was not set by the caller.
constexpr int kMostAxes = 64;

// Whether `tensor` lies in the memory of an argument, or is a view of one.
bool IsGiven(const at::Tensor& tensor,
             const aitune::frontend::ValueList& arguments) {
  for (const c10::IValue& argument : arguments.values()) {
    if (tensor.storage().data() != nullptr &&
        tensor.storage().data() == argument.toTensor().storage().data())
      return true;
  }
  return false;
}

}  // namespace

bool HasDevice(const ait_tensor& tensor) {
  return tensor.struct_size >= sizeof(ait_tensor);
}

absl::StatusOr<std::vector<at::Tensor>> TensorsOf(const ait_module& module,
                                                  const ait_tensor* array,
                                                  size_t count,
                                                  const std::string& what) {
  if (count > 0) AITUNE_RETURN_IF_ERROR(Need(array, (what + "s").c_str()));
  AITUNE_ASSIGN_OR_RETURN(
      const aitune::Device home,
      aitune::Device::ParseCpuOrGpu(module.module->device()));
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = absl::StrCat(what, " ", i);
    const ait_tensor& tensor = Element(array, i);
    AITUNE_RETURN_IF_ERROR(CheckSize(tensor, name));
    if (tensor.dtype < AIT_FLOAT32 || tensor.dtype > AIT_BOOL ||
        tensor.rank < 0 || tensor.rank > kMostAxes ||
        (tensor.rank > 0 && tensor.sizes == nullptr))
      return absl::InvalidArgumentError(absl::StrCat(
          name, " has the dtype ", tensor.dtype, " and the rank ", tensor.rank,
          tensor.rank > 0 && tensor.sizes == nullptr ? " without sizes" : "",
          ", which there are not"));
    AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                            DeviceOf(tensor, name, home));
    aitune::TensorView view;
    view.dtype = static_cast<aitune::DataType>(tensor.dtype);
    if (tensor.rank > 0)
      view.sizes.assign(tensor.sizes, tensor.sizes + tensor.rank);
    view.data = tensor.data;
    const absl::StatusOr<int64_t> bytes =
        aitune::TensorBytes(view.dtype, view.sizes);
    if (!bytes.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": ", bytes.status().message()));
    if (!HasStrides(view.sizes))
      return absl::InvalidArgumentError(
          absl::StrCat(name, " has sizes whose strides are more than 2^63"));
    if (*bytes > 0 && tensor.data == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(name, " has no data"));
    tensors.push_back(aitune::frontend::TensorOn(view, device));
  }
  return tensors;
}

absl::StatusOr<aitune::frontend::ValueList> ValuesOf(const ait_module& module,
                                                     const ait_tensor* array,
                                                     size_t count,
                                                     const std::string& what) {
  AITUNE_ASSIGN_OR_RETURN(const std::vector<at::Tensor> tensors,
                          TensorsOf(module, array, count, what));
  return aitune::frontend::ValueList(
      std::vector<c10::IValue>(tensors.begin(), tensors.end()));
}

absl::StatusOr<std::unique_ptr<ait_result>> ResultOf(
    const c10::IValue& value, const aitune::frontend::ValueList& arguments) {
  const c10::IValue on_cpu = aitune::frontend::ToCpu(value);
  auto result = std::make_unique<ait_result>();
  for (const at::Tensor& tensor : aitune::frontend::TensorLeaves(on_cpu)) {
    if (!aitune::frontend::IsPlainTensor(tensor))
      return absl::UnimplementedError(absl::StrCat(
          "an output is ", aitune::frontend::Describe(c10::IValue(tensor)),
          ", which this interface can't give"));
    at::Tensor own = IsGiven(tensor, arguments)
                         ? tensor.clone(at::MemoryFormat::Contiguous)
                         : tensor.contiguous();
    result->sizes.push_back(own.sizes().vec());
    result->tensors.push_back(std::move(own));
  }
  return result;
}

absl::Status GiveTensor(const ait_result& result, size_t index,
                        ait_tensor* tensor) {
  AITUNE_RETURN_IF_ERROR(CheckSize(*tensor, "tensor"));
  if (index >= result.tensors.size())
    return absl::OutOfRangeError(absl::StrCat("there is no tensor ", index,
                                              " in a result of ",
                                              result.tensors.size()));
  const at::Tensor& from = result.tensors[index];
  tensor->dtype = static_cast<int32_t>(
      *aitune::frontend::FromScalarType(from.scalar_type()));
  tensor->rank = static_cast<int32_t>(from.dim());
  tensor->sizes = result.sizes[index].data();
  tensor->data = from.data_ptr();
  if (HasDevice(*tensor)) {
    tensor->device_type = AIT_CPU;
    tensor->device_index = 0;
  }
  return absl::OkStatus();
}

}  // namespace ait
