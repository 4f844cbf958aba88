// Conversions between LibTorch's types and the project's. Internal: includes
// LibTorch.
#ifndef AITUNE_FRONTEND_VALUES_TORCH_UTIL_H_
#define AITUNE_FRONTEND_VALUES_TORCH_UTIL_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/device/device.h"
#include "runtime/tensor/data_type.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// The DataType for LibTorch's; not set for those that compiled code does not
// support (complex, LibTorch's quantised types).
std::optional<DataType> FromScalarType(c10::ScalarType type);
c10::ScalarType ToScalarType(DataType dtype);

// Whether compiled code for `device` can use this tensor: a defined dense
// tensor there, of a known dtype and without conjugate or negative bits.
// float8_e4m3fn does not count as known: the compiler uses it for the codes of
// quantised tensors, and a model's own tensors of that dtype are opaque to it.
bool IsPlainTensor(const at::Tensor& tensor, const Device& device = Device());

// Lets programs make the tensor larger, in memory of LibTorch's, as they may
// with those that LibTorch allocated. Not for tensors elsewhere than on the
// CPU.
void LetResize(const at::Tensor& tensor);

// Whether another tensor lies in the memory of this one, which is dense: the
// argument or the weight that it is a view of, for example.
bool SharesMemory(const at::Tensor& tensor);

// Whether two plain tensors on the CPU have the same dtype, the same sizes and
// elements with the same bits (so that a NaN equals itself).
bool SameContent(const at::Tensor& a, const at::Tensor& b);

// Precondition: plain and contiguous. The view refers to the tensor's memory.
TensorView ViewOf(const at::Tensor& tensor);
// A tensor on the view's memory, which is that of `device`.
at::Tensor TensorOn(const TensorView& view, const Device& device = Device());

// The same device as LibTorch names it: the CPU or a GPU.
c10::Device DeviceOf(const Device& device);

// "float32[1,3,224,224]", "int64=5", "(float32[2], None)", ...
std::string Describe(const c10::IValue& value);

// An exception's text. That of LibTorch's own is without the backtrace, which
// takes milliseconds to make.
const char* TextOf(const std::exception& error);

// The one line of LibTorch's error text that says what went wrong: no
// backtrace, no TorchScript traceback.
std::string BriefMessage(std::string_view what);
std::string BriefMessage(const std::exception& error);

// Whether there was no memory, of the CPU or of a GPU.
bool IsOutOfMemory(const std::exception& error);

// Throws an error through LibTorch's interpreter, which makes an exception of
// its own of it: StatusOf, on the same thread, knows its text and gives its
// code.
[[noreturn]] void ThrowStatus(const absl::Status& status);

// An exception as an error: this code and "CONTEXT: BriefMessage", but
// kResourceExhausted where IsOutOfMemory, or the code of what ThrowStatus
// threw. There is no colon without a context.
absl::Status StatusOf(const std::exception& error, absl::StatusCode code,
                      std::string_view context);

// Runs `body`. An exception becomes StatusOf it.
absl::Status CatchExceptions(absl::StatusCode code, std::string_view context,
                             const std::function<absl::Status()>& body);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_TORCH_UTIL_H_
