// Between LibTorch's types and ours. Internal: includes LibTorch.
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
#include "runtime/tensor/data_type.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// Nothing for dtypes that compiled code does not know (complex, quantised).
std::optional<DataType> FromScalarType(c10::ScalarType type);
c10::ScalarType ToScalarType(DataType dtype);

// Whether compiled code can hold this tensor: a defined dense tensor, on the
// CPU or, with `gpu` >= 0, on that GPU, of a known dtype and without conjugate
// or negative bits. Not of float8_e4m3fn: it is for the codes of quantised
// tensors, and a model's own tensors of it are opaque to compiled code.
bool IsPlainTensor(const at::Tensor& tensor, int gpu = -1);

// Two plain tensors of one dtype and sizes with the same bits as elements: NaNs
// equal themselves. On the CPU.
bool SameContent(const at::Tensor& a, const at::Tensor& b);

// Precondition: plain and contiguous. The view refers to the tensor's memory.
TensorView ViewOf(const at::Tensor& tensor);
// A tensor on the view's memory, which is the GPU's with `gpu` >= 0.
at::Tensor TensorOn(const TensorView& view, int gpu = -1);

// The CPU for -1, else that GPU.
c10::Device DeviceOf(int gpu);

// "float32[1,3,224,224]", "int64=5", "(float32[2], None)", ...
std::string Describe(const c10::IValue& value);

// The one line of LibTorch's error text that says what went wrong: no
// backtrace, no TorchScript traceback.
std::string BriefMessage(std::string_view what);
std::string BriefMessage(const std::exception& error);

// Runs `body`; any exception becomes an error of this code, `context`: brief
// message.
absl::Status CatchExceptions(absl::StatusCode code, std::string_view context,
                             const std::function<absl::Status()>& body);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_TORCH_UTIL_H_
