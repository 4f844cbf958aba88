// Tensors and other arguments between C and LibTorch.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/c_handles.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

using aitune::frontend::ValueList;

// The fields of before devices were added.
constexpr size_t kFirstSize = offsetof(ait_tensor, device_type);

// Fields of later versions need less: what is larger was not set.
constexpr size_t kMostSize = 4096;

absl::Status CheckSize(const ait_tensor& tensor, const std::string& what) {
  if (tensor.struct_size >= kFirstSize && tensor.struct_size <= kMostSize &&
      tensor.struct_size % alignof(ait_tensor) == 0)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has the struct_size ", tensor.struct_size,
                   "; set it to sizeof, which is ", sizeof(ait_tensor)));
}

// The same for element `index` of an array, whose elements are of one size.
absl::Status CheckSizeIn(const ait_tensor* array, size_t index,
                         const std::string& what) {
  AITUNE_RETURN_IF_ERROR(CheckSize(array[0], what));
  const size_t size = Element(array, index).struct_size;
  if (size == array->struct_size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has the struct_size ", size, ", but the first one ",
                   array->struct_size, "; set all to sizeof, which is ",
                   sizeof(ait_tensor)));
}

absl::StatusOr<aitune::Device> DeviceOf(const ait_tensor& tensor,
                                        const std::string& what,
                                        const aitune::Device& module) {
  if (!HasField(tensor, &ait_tensor::device_index) ||
      tensor.device_type == AIT_CPU)
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

const char* NameOf(const ait_tensor& tensor) {
  return HasField(tensor, &ait_tensor::name) ? tensor.name : nullptr;
}

int32_t KindOf(const ait_tensor& tensor) {
  return HasField(tensor, &ait_tensor::kind) ? tensor.kind : AIT_TENSOR;
}

// Calls `each` with the tensors among `values`.
template <typename Each>
void ForTensors(const ValueList& values, const Each& each) {
  for (const c10::IValue& value : values.values()) {
    if (value.isTensor()) {
      each(value.toTensor());
      continue;
    }
    for (const at::Tensor& tensor : aitune::frontend::TensorLeaves(value))
      each(tensor);
  }
}

// Whether `tensor` lies in the memory of an argument, or is a view of one.
bool IsGiven(const at::Tensor& tensor, const ValueList& arguments) {
  bool is_given = false;
  ForTensors(arguments, [&](const at::Tensor& argument) {
    is_given |= argument.defined() && tensor.storage().data() != nullptr &&
                tensor.storage().data() == argument.storage().data();
  });
  return is_given;
}

absl::StatusOr<at::Tensor> TensorOf(const ait_tensor& tensor,
                                    const std::string& name,
                                    const aitune::Device& home) {
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
  return aitune::frontend::TensorOn(view, device);
}

absl::StatusOr<c10::IValue> NumberOf(const ait_tensor& number,
                                     const std::string& name) {
  if (number.rank != 0 || number.data == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is a number of the rank ", number.rank,
                     number.data == nullptr ? " without data" : "",
                     "; give rank 0, and data that points to the number"));
  switch (number.dtype) {
    case AIT_INT64:
      return c10::IValue(*static_cast<const int64_t*>(number.data));
    case AIT_FLOAT64:
      return c10::IValue(*static_cast<const double*>(number.data));
    case AIT_BOOL:
      return c10::IValue(*static_cast<const uint8_t*>(number.data) != 0);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is a number of the dtype ", number.dtype,
                       "; give AIT_INT64, AIT_FLOAT64 or AIT_BOOL"));
  }
}

// Lists within each other, of which a call has a few; an array that has itself
// as an element has more.
constexpr int kMostNested = 16;

// `depth` is the number of lists that the argument is in. Its size is checked.
absl::StatusOr<c10::IValue> ValueOf(const ait_tensor& argument,
                                    const std::string& name,
                                    const aitune::Device& home, int depth);

absl::StatusOr<std::vector<c10::IValue>> ElementsOf(const ait_tensor& list,
                                                    const std::string& name,
                                                    const aitune::Device& home,
                                                    int depth) {
  if (list.rank != 1 || list.sizes == nullptr || list.sizes[0] < 0 ||
      (list.sizes[0] > 0 && list.data == nullptr))
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        " is a list without a number of elements; give rank 1, that number as "
        "the only size, and data that points to the elements"));
  if (depth >= kMostNested)
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has more than ", kMostNested, " lists within each other"));
  const auto* const array = static_cast<const ait_tensor*>(list.data);
  std::vector<c10::IValue> elements;
  for (int64_t i = 0; i < list.sizes[0]; ++i) {
    const std::string what = absl::StrCat(name, "[", i, "]");
    AITUNE_RETURN_IF_ERROR(CheckSizeIn(array, i, what));
    AITUNE_ASSIGN_OR_RETURN(c10::IValue element,
                            ValueOf(Element(array, i), what, home, depth + 1));
    elements.push_back(std::move(element));
  }
  return elements;
}

absl::StatusOr<c10::IValue> ValueOf(const ait_tensor& argument,
                                    const std::string& name,
                                    const aitune::Device& home, int depth) {
  switch (KindOf(argument)) {
    case AIT_TENSOR: {
      AITUNE_ASSIGN_OR_RETURN(at::Tensor tensor,
                              TensorOf(argument, name, home));
      return c10::IValue(std::move(tensor));
    }
    case AIT_NUMBER:
      return NumberOf(argument, name);
    case AIT_TEXT:
      if (argument.data == nullptr)
        return absl::InvalidArgumentError(
            absl::StrCat(name, " is a text without data"));
      return c10::IValue(std::string(static_cast<const char*>(argument.data)));
    case AIT_NONE:
      return c10::IValue();
    case AIT_LIST: {
      AITUNE_ASSIGN_OR_RETURN(std::vector<c10::IValue> elements,
                              ElementsOf(argument, name, home, depth));
      // The parameter says of which type they are.
      c10::impl::GenericList list(c10::AnyType::get());
      for (c10::IValue& element : elements) list.push_back(std::move(element));
      return c10::IValue(std::move(list));
    }
    case AIT_DICT: {
      AITUNE_ASSIGN_OR_RETURN(std::vector<c10::IValue> elements,
                              ElementsOf(argument, name, home, depth));
      const auto* const array = static_cast<const ait_tensor*>(argument.data);
      c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
      for (size_t i = 0; i < elements.size(); ++i) {
        const char* const key = NameOf(Element(array, i));
        if (key == nullptr)
          return absl::InvalidArgumentError(absl::StrCat(
              name, "[", i, "] has no name, which is its key in a dict"));
        if (!dict.insert(std::string(key), std::move(elements[i])).second)
          return absl::InvalidArgumentError(absl::StrCat(
              name, " has the key '", key, "' twice; give each key once"));
      }
      return c10::IValue(std::move(dict));
    }
    case AIT_TUPLE: {
      AITUNE_ASSIGN_OR_RETURN(std::vector<c10::IValue> elements,
                              ElementsOf(argument, name, home, depth));
      return c10::IValue(c10::ivalue::Tuple::create(std::move(elements)));
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(name, " has the kind ", argument.kind,
                       ", which there is not; give an ait_kind"));
  }
}

// A leaf of a result, without its path; the kind of what no ait_kind describes
// is AIT_TENSOR, as that of tensors.
ait_result::Value PlainValueOf(const c10::IValue& leaf) {
  ait_result::Value value;
  if (leaf.isInt()) {
    value.kind = AIT_NUMBER;
    value.integer = leaf.toInt();
  } else if (leaf.isDouble()) {
    value.kind = AIT_NUMBER;
    value.dtype = AIT_FLOAT64;
    value.number = leaf.toDouble();
  } else if (leaf.isBool()) {
    value.kind = AIT_NUMBER;
    value.dtype = AIT_BOOL;
    value.truth = leaf.toBool() ? 1 : 0;
  } else if (leaf.isString()) {
    value.kind = AIT_TEXT;
    value.text = leaf.toStringRef();
  } else if (!leaf.isNone()) {
    value.kind = AIT_TENSOR;
  }
  return value;
}

}  // namespace

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
    AITUNE_RETURN_IF_ERROR(CheckSizeIn(array, i, name));
    const ait_tensor& tensor = Element(array, i);
    if (KindOf(tensor) != AIT_TENSOR || NameOf(tensor) != nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must be a tensor without a name"));
    AITUNE_ASSIGN_OR_RETURN(at::Tensor made, TensorOf(tensor, name, home));
    tensors.push_back(std::move(made));
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

absl::StatusOr<aitune::frontend::ValueList> ArgumentsOf(
    const ait_module& module, const ait_tensor* array, size_t count) {
  if (count > 0) AITUNE_RETURN_IF_ERROR(Need(array, "inputs"));
  AITUNE_ASSIGN_OR_RETURN(
      const aitune::Device home,
      aitune::Device::ParseCpuOrGpu(module.module->device()));
  std::vector<c10::IValue> positional, named;
  std::vector<std::string> names;
  bool only_tensors = true;
  for (size_t i = 0; i < count; ++i) {
    const std::string what = absl::StrCat("input ", i);
    AITUNE_RETURN_IF_ERROR(CheckSizeIn(array, i, what));
    const ait_tensor& argument = Element(array, i);
    AITUNE_ASSIGN_OR_RETURN(c10::IValue value,
                            ValueOf(argument, what, home, /*depth=*/0));
    only_tensors &= value.isTensor();
    const char* const name = NameOf(argument);
    if (name == nullptr && !names.empty())
      return absl::InvalidArgumentError(
          absl::StrCat(what, " has no name and comes after '", names.back(),
                       "', which has one; give arguments with names last"));
    if (name != nullptr) names.push_back(name);
    (name == nullptr ? positional : named).push_back(std::move(value));
  }
  ValueList in_order(std::move(positional));
  // The usual call needs no look at the model.
  if (only_tensors && names.empty()) return in_order;
  return module.module->Arguments(in_order, names, ValueList(std::move(named)));
}

void AddTo(aitune::frontend::BorrowedMemory& borrowed,
           const ValueList& arguments) {
  ForTensors(arguments, [&](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.is_cpu()) borrowed.Add(tensor);
  });
}

absl::StatusOr<std::unique_ptr<ait_result>> ResultOf(
    const c10::IValue& value, const aitune::frontend::ValueList& arguments) {
  const c10::IValue on_cpu = aitune::frontend::ToCpu(value);
  auto result = std::make_unique<ait_result>();
  for (const aitune::frontend::Leaf& leaf : aitune::frontend::Leaves(on_cpu)) {
    ait_result::Value found = PlainValueOf(*leaf.value);
    found.path = leaf.path;
    if (!leaf.value->isTensor()) {
      if (found.kind != AIT_TENSOR) result->values.push_back(std::move(found));
      continue;
    }
    at::Tensor tensor = leaf.value->toTensor();
    if (tensor.layout() == at::kStrided) tensor = tensor.resolve_neg();
    if (!aitune::frontend::IsPlainTensor(tensor))
      return absl::UnimplementedError(absl::StrCat(
          "an output is ", aitune::frontend::Describe(c10::IValue(tensor)),
          tensor.layout() == at::kStrided
              ? std::string()
              : absl::StrCat(" of the layout ", c10::str(tensor.layout())),
          ", which this interface can't give"));
    found.tensor = result->tensors.size();
    result->values.push_back(std::move(found));
    const bool is_shared =
        IsGiven(tensor, arguments) || aitune::frontend::SharesMemory(tensor);
    at::Tensor own = is_shared ? tensor.clone(at::MemoryFormat::Contiguous)
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
  if (HasField(*tensor, &ait_tensor::device_index)) {
    tensor->device_type = AIT_CPU;
    tensor->device_index = 0;
  }
  if (HasField(*tensor, &ait_tensor::kind)) {
    tensor->name = nullptr;
    tensor->kind = AIT_TENSOR;
  }
  return absl::OkStatus();
}

absl::Status GiveValue(const ait_result& result, size_t index,
                       ait_tensor* value) {
  AITUNE_RETURN_IF_ERROR(CheckFields(*value, &ait_tensor::kind, "value"));
  if (index >= result.values.size())
    return absl::OutOfRangeError(absl::StrCat(
        "there is no value ", index, " in a result of ", result.values.size()));
  const ait_result::Value& from = result.values[index];
  if (from.kind == AIT_TENSOR) {
    AITUNE_RETURN_IF_ERROR(GiveTensor(result, from.tensor, value));
  } else {
    value->dtype = from.kind == AIT_NUMBER ? from.dtype : 0;
    value->rank = 0;
    value->sizes = nullptr;
    const void* data = nullptr;
    if (from.kind == AIT_TEXT)
      data = from.text.c_str();
    else if (from.kind == AIT_NUMBER)
      data = from.dtype == AIT_FLOAT64 ? static_cast<const void*>(&from.number)
             : from.dtype == AIT_BOOL  ? static_cast<const void*>(&from.truth)
                                       : &from.integer;
    value->data = const_cast<void*>(data);
    value->device_type = AIT_CPU;
    value->device_index = 0;
  }
  value->name = from.path.c_str();
  value->kind = from.kind;
  return absl::OkStatus();
}

}  // namespace ait
