// The signature of a module, in C.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/c_handles.h"
#include "runtime/backend/signature.h"
#include "runtime/status/status_macros.h"

namespace {

struct Tensor {
  std::string name;
  int32_t dtype = 0;
  std::vector<int64_t> min_sizes, max_sizes;  // of each axis, in elements
};

Tensor TensorOf(const aitune::TensorSignature& from) {
  Tensor tensor;
  tensor.name = from.name;
  tensor.dtype = from.dtype ? static_cast<int32_t>(*from.dtype) : 0;
  for (const aitune::SizeRange& axis : from.axes) {
    tensor.min_sizes.push_back(axis.min);
    tensor.max_sizes.push_back(axis.max);
  }
  return tensor;
}

std::vector<Tensor> TensorsOf(
    const std::vector<aitune::TensorSignature>& signature) {
  std::vector<Tensor> tensors;
  for (const aitune::TensorSignature& from : signature)
    tensors.push_back(TensorOf(from));
  return tensors;
}

}  // namespace

struct ait_signature {
  struct Version {
    std::vector<Tensor> inputs, outputs;
  };
  struct Parameter {
    std::string name, type;
    bool has_default = false;
    bool has_axes = false;
    Tensor tensor;
  };
  std::vector<Version> versions;
  std::vector<Parameter> parameters;
};

ait_error* ait_module_signature(const ait_module* module,
                                ait_signature** signature) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(ait::Need(signature, "signature"));
    auto made = std::make_unique<ait_signature>();
    for (const aitune::Signature& version : module->module->Signatures())
      made->versions.push_back(
          {TensorsOf(version.inputs), TensorsOf(version.outputs)});
    for (const ait::ParameterSignature& from : module->module->Parameters()) {
      made->parameters.push_back(
          {from.name, from.type, from.has_default, from.axes.has_value(),
           TensorOf({from.name, from.dtype,
                     from.axes.value_or(std::vector<aitune::SizeRange>())})});
    }
    *signature = made.release();
    return absl::OkStatus();
  });
}

size_t ait_signature_versions(const ait_signature* signature) {
  return signature == nullptr ? 0 : signature->versions.size();
}

ait_error* ait_signature_tensor(const ait_signature* signature, size_t version,
                                ait_direction direction, size_t index,
                                ait_tensor_signature* tensor) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(signature, "signature"));
    AITUNE_RETURN_IF_ERROR(ait::Need(tensor, "tensor"));
    AITUNE_RETURN_IF_ERROR(ait::CheckStruct(*tensor, "tensor"));
    if (version >= signature->versions.size())
      return absl::OutOfRangeError(absl::StrCat("there is no version ", version,
                                                " in a signature of ",
                                                signature->versions.size()));
    if (direction != AIT_INPUT && direction != AIT_OUTPUT)
      return absl::InvalidArgumentError(
          absl::StrCat("the direction ", static_cast<int>(direction),
                       " is neither AIT_INPUT nor AIT_OUTPUT"));
    const ait_signature::Version& from = signature->versions[version];
    const std::vector<Tensor>& tensors =
        direction == AIT_INPUT ? from.inputs : from.outputs;
    if (index >= tensors.size())
      return absl::OutOfRangeError(absl::StrCat(
          "there is no ", direction == AIT_INPUT ? "input " : "output ", index,
          "; version ", version, " has ", tensors.size()));
    const Tensor& found = tensors[index];
    tensor->name = found.name.c_str();
    tensor->dtype = found.dtype;
    tensor->rank = static_cast<int32_t>(found.min_sizes.size());
    tensor->min_sizes = found.min_sizes.data();
    tensor->max_sizes = found.max_sizes.data();
    return absl::OkStatus();
  });
}

size_t ait_signature_parameters(const ait_signature* signature) {
  return signature == nullptr ? 0 : signature->parameters.size();
}

ait_error* ait_signature_parameter(const ait_signature* signature, size_t index,
                                   ait_parameter* parameter) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(signature, "signature"));
    AITUNE_RETURN_IF_ERROR(ait::Need(parameter, "parameter"));
    AITUNE_RETURN_IF_ERROR(
        ait::CheckFields(*parameter, &ait_parameter::max_sizes, "parameter"));
    if (index >= signature->parameters.size())
      return absl::OutOfRangeError(absl::StrCat("there is no parameter ", index,
                                                "; the model has ",
                                                signature->parameters.size()));
    const ait_signature::Parameter& from = signature->parameters[index];
    parameter->name = from.name.c_str();
    parameter->type = from.type.c_str();
    parameter->has_default = from.has_default ? 1 : 0;
    parameter->dtype = from.tensor.dtype;
    parameter->rank =
        from.has_axes ? static_cast<int32_t>(from.tensor.min_sizes.size()) : -1;
    parameter->min_sizes = from.tensor.min_sizes.data();
    parameter->max_sizes = from.tensor.max_sizes.data();
    return absl::OkStatus();
  });
}

void ait_signature_free(ait_signature* signature) { delete signature; }
