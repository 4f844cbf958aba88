#include "frontend/compiled_model/shared_codes.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "frontend/compiled_model/compiled_model.pb.h"
#include "runtime/bundle/message_bytes.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

absl::StatusOr<CompiledModelProto> Parse(const ArtifactBlobs& artifact) {
  CompiledModelProto proto;
  if (artifact.model.size() > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(artifact.model.data(),
                            static_cast<int>(artifact.model.size())))
    return absl::InvalidArgumentError(
        "a compiled version of the model can't be read; build it again");
  return proto;
}

// The bytes of a constant that the artifact holds itself.
absl::StatusOr<std::string_view> BytesOf(const ConstantProto& constant,
                                         const ArtifactBlobs& artifact) {
  const std::vector<int64_t> sizes(constant.sizes().begin(),
                                   constant.sizes().end());
  const absl::Status damaged = absl::InvalidArgumentError(
      "a compiled version of the model has damaged constants; build it again");
  if (!IsDataType(constant.dtype())) return damaged;
  AITUNE_ASSIGN_OR_RETURN(
      const int64_t bytes,
      TensorBytes(static_cast<DataType>(constant.dtype()), sizes));
  const auto size = static_cast<int64_t>(artifact.constants.size());
  if (constant.position() < 0 || constant.position() > size ||
      bytes > size - constant.position())
    return damaged;
  return std::string_view(artifact.constants)
      .substr(static_cast<size_t>(constant.position()),
              static_cast<size_t>(bytes));
}

}  // namespace

bool IsPartOfWeight(std::string_view constant, std::string* weight) {
  for (const absl::string_view part : {".codes", ".scales", ".sums"}) {
    absl::string_view name(constant.data(), constant.size());
    if (!absl::ConsumeSuffix(&name, part)) continue;
    *weight = std::string(name);
    return true;
  }
  return false;
}

SharedCodes::SharedCodes(const std::vector<ConstantTensor>& known) {
  for (const ConstantTensor& tensor : known)
    tensors_.emplace(tensor.name, tensor);
}

absl::Status SharedCodes::Add(const ArtifactBlobs& artifact) {
  AITUNE_ASSIGN_OR_RETURN(const CompiledModelProto proto, Parse(artifact));
  std::string weight;
  for (const ConstantProto& constant : proto.constants()) {
    if (constant.source() == ConstantProto::MODEL_TENSOR)
      read_.insert(constant.model_tensor());
    if (constant.source() != ConstantProto::DATA ||
        !IsPartOfWeight(constant.name(), &weight) ||
        tensors_.count(constant.name()) > 0)
      continue;
    AITUNE_ASSIGN_OR_RETURN(const std::string_view bytes,
                            BytesOf(constant, artifact));
    const auto owner = std::make_shared<std::string>(bytes);
    ConstantTensor& tensor = tensors_[constant.name()];
    tensor.name = constant.name();
    tensor.view = {owner->data(),
                   static_cast<DataType>(constant.dtype()),
                   {constant.sizes().begin(), constant.sizes().end()}};
    tensor.owner = owner;
  }
  return absl::OkStatus();
}

absl::Status SharedCodes::Share(std::string_view model_sha256,
                                ArtifactBlobs* artifact) const {
  AITUNE_ASSIGN_OR_RETURN(CompiledModelProto proto, Parse(*artifact));
  std::string kept;  // the constants that are the artifact's own
  for (ConstantProto& constant : *proto.mutable_constants()) {
    if (constant.source() != ConstantProto::DATA) continue;
    AITUNE_ASSIGN_OR_RETURN(const std::string_view bytes,
                            BytesOf(constant, *artifact));
    const auto shared = tensors_.find(constant.name());
    if (shared != tensors_.end() &&
        static_cast<int32_t>(shared->second.view.dtype) == constant.dtype() &&
        shared->second.view.sizes ==
            std::vector<int64_t>(constant.sizes().begin(),
                                 constant.sizes().end()) &&
        std::memcmp(shared->second.view.data, bytes.data(), bytes.size()) ==
            0) {
      constant.set_source(ConstantProto::MODEL_TENSOR);
      constant.set_model_tensor(constant.name());
      constant.clear_position();
      continue;
    }
    constant.set_position(static_cast<int64_t>(kept.size()));
    kept.append(bytes);
    kept.resize((kept.size() + kConstantAlignment - 1) &
                ~(kConstantAlignment - 1));
  }
  proto.set_model_sha256(std::string(model_sha256));
  AITUNE_ASSIGN_OR_RETURN(artifact->model, MessageBytes(proto));
  artifact->constants = std::move(kept);
  return absl::OkStatus();
}

}  // namespace aitune::frontend
