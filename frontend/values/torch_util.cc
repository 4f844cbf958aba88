#include "frontend/values/torch_util.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace aitune::frontend {
namespace {

std::string DescribeAll(c10::ArrayRef<c10::IValue> values) {
  return absl::StrJoin(values, ", ",
                       [](std::string* out, const c10::IValue& value) {
                         absl::StrAppend(out, Describe(value));
                       });
}

}  // namespace

std::optional<DataType> FromScalarType(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return DataType::kFloat32;
    case c10::ScalarType::Double:
      return DataType::kFloat64;
    case c10::ScalarType::Half:
      return DataType::kFloat16;
    case c10::ScalarType::BFloat16:
      return DataType::kBFloat16;
    case c10::ScalarType::Long:
      return DataType::kInt64;
    case c10::ScalarType::Int:
      return DataType::kInt32;
    case c10::ScalarType::Short:
      return DataType::kInt16;
    case c10::ScalarType::Char:
      return DataType::kInt8;
    case c10::ScalarType::Byte:
      return DataType::kUInt8;
    case c10::ScalarType::Bool:
      return DataType::kBool;
    case c10::ScalarType::Float8_e4m3fn:
      return DataType::kFloat8E4M3Fn;
    default:
      return std::nullopt;
  }
}

c10::ScalarType ToScalarType(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat32:
      return c10::ScalarType::Float;
    case DataType::kFloat64:
      return c10::ScalarType::Double;
    case DataType::kFloat16:
      return c10::ScalarType::Half;
    case DataType::kBFloat16:
      return c10::ScalarType::BFloat16;
    case DataType::kInt64:
      return c10::ScalarType::Long;
    case DataType::kInt32:
      return c10::ScalarType::Int;
    case DataType::kInt16:
      return c10::ScalarType::Short;
    case DataType::kInt8:
      return c10::ScalarType::Char;
    case DataType::kUInt8:
      return c10::ScalarType::Byte;
    case DataType::kBool:
      return c10::ScalarType::Bool;
    case DataType::kFloat8E4M3Fn:
      return c10::ScalarType::Float8_e4m3fn;
  }
  return c10::ScalarType::Undefined;
}

c10::Device DeviceOf(const Device& device) {
  return device.is_gpu()
             ? c10::Device(c10::DeviceType::CUDA,
                           static_cast<c10::DeviceIndex>(device.gpu()))
             : c10::Device(c10::DeviceType::CPU);
}

bool IsPlainTensor(const at::Tensor& tensor, const Device& device) {
  return tensor.defined() && tensor.layout() == c10::kStrided &&
         tensor.device() == DeviceOf(device) && !tensor.is_quantized() &&
         !tensor.is_conj() && !tensor.is_neg() &&
         FromScalarType(tensor.scalar_type()).has_value() &&
         tensor.scalar_type() != c10::ScalarType::Float8_e4m3fn;
}

void LetResize(const at::Tensor& tensor) {
  if (!tensor.has_storage() || !tensor.is_cpu()) return;
  c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  storage.set_allocator(c10::GetAllocator(c10::DeviceType::CPU));
  storage.set_resizable(true);
}

bool SharesMemory(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() &&
         tensor.storage().use_count() > 1;
}

TensorView ViewOf(const at::Tensor& tensor) {
  return {tensor.numel() == 0 ? nullptr : tensor.data_ptr(),
          *FromScalarType(tensor.scalar_type()), tensor.sizes().vec()};
}

at::Tensor TensorOn(const TensorView& view, const Device& device) {
  const auto options = at::TensorOptions()
                           .dtype(ToScalarType(view.dtype))
                           .device(DeviceOf(device));
  if (view.data == nullptr) return at::empty(view.sizes, options);
  return at::for_blob(view.data, view.sizes)
      .options(options)
      .target_device(options.device())
      .make_tensor();
}

std::string Describe(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return "None";
    const std::optional<DataType> dtype = FromScalarType(tensor.scalar_type());
    return absl::StrCat(dtype
                            ? std::string(Name(*dtype))
                            : std::string(c10::toString(tensor.scalar_type())),
                        "[", absl::StrJoin(tensor.sizes(), ","), "]");
  }
  if (value.isInt()) return absl::StrCat("int64=", value.toInt());
  if (value.isDouble()) return absl::StrCat("float64=", value.toDouble());
  if (value.isBool()) return value.toBool() ? "bool=true" : "bool=false";
  if (value.isString()) return absl::StrCat("str=", value.toStringRef());
  if (value.isNone()) return "None";
  if (value.isTuple())
    return absl::StrCat("(", DescribeAll(value.toTupleRef().elements()), ")");
  if (value.isList())
    return absl::StrCat("[", DescribeAll(value.toListRef()), "]");
  if (value.isGenericDict()) {
    std::vector<std::string> items;
    for (const auto& entry : value.toGenericDict()) {
      items.push_back(
          absl::StrCat(Describe(entry.key()), ": ", Describe(entry.value())));
    }
    return absl::StrCat("{", absl::StrJoin(items, ", "), "}");
  }
  return value.tagKind();
}

std::string BriefMessage(std::string_view what) {
  const std::vector<std::string> lines =
      absl::StrSplit(absl::string_view(what.data(), what.size()), '\n',
                     absl::SkipWhitespace());
  if (lines.empty()) return "LibTorch gave no reason";
  // After a traceback the error comes last, as "RuntimeError: text"; its own
  // further lines follow it.
  bool traceback = false;
  for (const std::string& line : lines)
    traceback |= absl::StrContains(line, "Traceback of TorchScript");
  size_t chosen = 0;
  if (traceback) {
    chosen = lines.size() - 1;
    for (size_t i = 0; i < lines.size(); ++i) {
      const size_t colon = lines[i].find("Error: ");
      const bool starts =
          colon != std::string::npos && lines[i].find(' ') >= colon;
      if (starts) chosen = i;
    }
  }
  std::string line(absl::StripAsciiWhitespace(lines[chosen]));
  // "RuntimeError: text": the class says nothing.
  line = std::string(absl::StripPrefix(line, "RuntimeError: "));
  const size_t origin = line.find(" (Triggered internally at");
  if (origin != std::string::npos) line.resize(origin);
  constexpr size_t kLongest = 400;
  if (line.size() > kLongest) line = line.substr(0, kLongest) + "...";
  return line;
}

const char* TextOf(const std::exception& error) {
  const auto* const torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error != nullptr ? torch_error->what_without_backtrace()
                                : error.what();
}

std::string BriefMessage(const std::exception& error) {
  return BriefMessage(TextOf(error));
}

bool IsOutOfMemory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr)
    return true;
  // What LibTorch's allocator of the CPU, its archives and its interpreter
  // throw has no type of its own.
  const std::string_view what = TextOf(error);
  for (const std::string_view text :
       {"DefaultCPUAllocator: can't allocate memory", ": allocation failed",
        "std::bad_alloc", "Cannot allocate memory"}) {
    if (what.find(text) != std::string_view::npos) return true;
  }
  return false;
}

// What ThrowStatus has thrown last on the thread, until it was caught.
static thread_local absl::Status thrown;

void ThrowStatus(const absl::Status& status) {
  thrown = status;
  throw std::runtime_error(std::string(status.message()));
}

absl::Status StatusOf(const std::exception& error, absl::StatusCode code,
                      std::string_view context) {
  const absl::string_view prefix(context.data(), context.size());
  const char* const colon = prefix.empty() ? "" : ": ";
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return absl::ResourceExhaustedError(
        absl::StrCat(prefix, colon, "out of memory"));
  if (IsOutOfMemory(error))
    code = absl::StatusCode::kResourceExhausted;
  else if (!thrown.message().empty() &&
           absl::StrContains(TextOf(error), thrown.message()))
    code = std::exchange(thrown, absl::OkStatus()).code();
  return absl::Status(code, absl::StrCat(prefix, colon, BriefMessage(error)));
}

absl::Status CatchExceptions(absl::StatusCode code, std::string_view context,
                             const std::function<absl::Status()>& body) {
  const absl::string_view prefix(context.data(), context.size());
  try {
    return body();
  } catch (const std::exception& error) {
    return StatusOf(error, code, context);
  } catch (...) {
    return absl::Status(code, absl::StrCat(prefix, prefix.empty() ? "" : ": ",
                                           "an unknown C++ exception"));
  }
}

bool SameContent(const at::Tensor& a, const at::Tensor& b) {
  if (a.is_same(b)) return true;
  if (!IsPlainTensor(a) || !IsPlainTensor(b) ||
      a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) {
    return false;
  }
  const at::Tensor dense_a = a.contiguous(), dense_b = b.contiguous();
  return dense_a.numel() == 0 ||
         std::memcmp(dense_a.data_ptr(), dense_b.data_ptr(),
                     dense_a.nbytes()) == 0;
}

}  // namespace aitune::frontend
