#include "frontend/torchscript/autocast.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/jit/passes/autocast.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "frontend/torchscript/autocast_contexts.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// What LibTorch's pass reads as the state of the program around the model, for
// one kind of devices.
class ScopedAutocast {
 public:
  ScopedAutocast(c10::DeviceType device, c10::ScalarType dtype)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        dtype_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_enabled(device, true);
    at::autocast::set_autocast_dtype(device, dtype);
  }
  ~ScopedAutocast() {
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
  }
  ScopedAutocast(const ScopedAutocast&) = delete;
  ScopedAutocast& operator=(const ScopedAutocast&) = delete;

 private:
  const c10::DeviceType device_;
  const bool enabled_;
  const c10::ScalarType dtype_;
};

}  // namespace

absl::StatusOr<Model> WithAutocast(const Model& model, DataType dtype) {
  if (!IsHalf(dtype))
    return absl::InvalidArgumentError(
        absl::StrCat("autocast can't compute in ", std::string(Name(dtype))));
  std::optional<torch::jit::Module> module;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kUnimplemented, "autocast", [&] {
        // Another program on the same tensors.
        module = model.impl().bare_module.clone(/*inplace=*/true);
        auto graph = module->get_method("forward").graph();
        InlineCalls(*graph);
        const ScopedAutocast on_cpu(at::kCPU, ToScalarType(dtype));
        const ScopedAutocast on_gpu(at::kCUDA, ToScalarType(dtype));
        const bool before = torch::jit::setAutocastMode(true);
        const absl::Cleanup restore = [before] {
          torch::jit::setAutocastMode(before);
        };
        MakeCasts(graph);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return model.WithProgram(*std::move(module));
}

}  // namespace aitune::frontend
