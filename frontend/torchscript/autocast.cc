#include "frontend/torchscript/autocast.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/jit/passes/autocast.h>
#include <torch/csrc/jit/passes/inliner.h>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// What LibTorch's pass reads as the state of the program around the model.
class ScopedAutocast {
 public:
  explicit ScopedAutocast(c10::ScalarType dtype)
      : enabled_(at::autocast::is_autocast_enabled(at::kCPU)),
        dtype_(at::autocast::get_autocast_dtype(at::kCPU)),
        pass_(torch::jit::setAutocastMode(true)) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, dtype);
  }
  ~ScopedAutocast() {
    at::autocast::set_autocast_enabled(at::kCPU, enabled_);
    at::autocast::set_autocast_dtype(at::kCPU, dtype_);
    torch::jit::setAutocastMode(pass_);
  }
  ScopedAutocast(const ScopedAutocast&) = delete;
  ScopedAutocast& operator=(const ScopedAutocast&) = delete;

 private:
  const bool enabled_;
  const c10::ScalarType dtype_;
  const bool pass_;
};

}  // namespace

absl::StatusOr<Model> WithAutocast(const Model& model, DataType dtype) {
  if (dtype != DataType::kFloat16 && dtype != DataType::kBFloat16)
    return absl::InvalidArgumentError(
        absl::StrCat("autocast can't compute in ", std::string(Name(dtype))));
  std::optional<torch::jit::Module> module;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kUnimplemented, "autocast", [&] {
        // Another program on the same tensors.
        module = model.impl().module.clone(/*inplace=*/true);
        auto graph = module->get_method("forward").graph();
        torch::jit::Inline(*graph);
        const ScopedAutocast autocast(ToScalarType(dtype));
        torch::jit::Autocast(graph);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return Model::FromModule(*std::move(module));
}

}  // namespace aitune::frontend
