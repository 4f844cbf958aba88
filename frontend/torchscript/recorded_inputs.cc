#include "frontend/torchscript/recorded_inputs.h"

#include <ATen/core/Dict.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import_read.h>

#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// Never touches elements: the archive keeps sizes and dtypes but no data, so
// that these tensors have no memory behind them.
std::optional<InputSpec> SpecOf(const c10::IValue& value) {
  InputSpec spec;
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!IsPlainTensor(tensor)) return std::nullopt;
    spec.dtype = *FromScalarType(tensor.scalar_type());
    for (const int64_t size : tensor.sizes())
      spec.axes.push_back({size, size, ""});
    return spec;
  }
  if (!value.isTuple() && !value.isList()) return std::nullopt;
  spec.kind =
      value.isTuple() ? InputSpec::Kind::kTuple : InputSpec::Kind::kList;
  const std::vector<c10::IValue> elements =
      value.isTuple() ? value.toTupleRef().elements().vec()
                      : value.toListRef().vec();
  for (const c10::IValue& element : elements) {
    std::optional<InputSpec> child = SpecOf(element);
    if (!child) return std::nullopt;
    spec.children.push_back(*std::move(child));
  }
  return spec;
}

}  // namespace

std::optional<std::vector<InputSpec>> ReadRecordedInputs(
    const std::string& path) {
  std::vector<InputSpec> specs;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        caffe2::serialize::PyTorchStreamReader reader(path);
        if (!reader.hasRecord("traced_inputs.pkl"))
          return absl::NotFoundError("");
        const c10::IValue recorded = torch::jit::readArchiveAndTensors(
            "traced_inputs", "", "traced_inputs/", std::nullopt, std::nullopt,
            c10::Device(c10::kCPU), reader);
        for (const auto& entry : recorded.toGenericDict()) {
          if (!entry.key().isString() || entry.key().toStringRef() != "forward")
            continue;
          for (const c10::IValue& input : entry.value().toListRef()) {
            if (input.isObject()) continue;  // self
            std::optional<InputSpec> spec = SpecOf(input);
            if (!spec) return absl::InvalidArgumentError("");
            specs.push_back(*std::move(spec));
          }
        }
        return absl::OkStatus();
      });
  if (!status.ok() || specs.empty()) return std::nullopt;
  return specs;
}

}  // namespace aitune::frontend
