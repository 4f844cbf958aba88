#include "frontend/compiled_model/artifact.h"

#include <torch/version.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/compiled_model/compiled_model.pb.h"
#include "frontend/compiled_model/report_proto.h"
#include "frontend/torchscript/model_tensors.h"
#include "frontend/trace/structure_proto.h"
#include "runtime/bundle/message_bytes.h"
#include "runtime/cpu/onednn_library.h"
#include "runtime/cuda/gpu_target.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"
#include "runtime/target/host_target.h"

namespace aitune::frontend {
namespace {

absl::Status Damaged(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the stored model is damaged: ", what));
}

std::set<int32_t> UsedConstants(const ExecutablePlan& plan) {
  std::set<int32_t> used;
  for (const ValueProto& value : plan.values()) {
    if (value.storage() == ValueProto::CONSTANT) used.insert(value.index());
  }
  return used;
}

// The model's attributes by memory and type. Names stay when a model is saved
// and loaded again; the order of a graph's constants need not.
class TensorIndex {
 public:
  explicit TensorIndex(const std::vector<ConstantTensor>& tensors) {
    for (const ConstantTensor& tensor : tensors) {
      if (tensor.owner != nullptr && tensor.view.data != nullptr)
        names_.emplace(KeyOf(tensor.view), tensor.name);
    }
  }
  // Empty when the model has no such tensor.
  std::string Find(const TensorView& view) const {
    const auto found = names_.find(KeyOf(view));
    return found == names_.end() ? "" : found->second;
  }

 private:
  using Key = std::tuple<const void*, DataType, std::vector<int64_t>>;
  static Key KeyOf(const TensorView& view) {
    return {view.data, view.dtype, view.sizes};
  }
  std::map<Key, std::string> names_;
};

// Appends `bytes` and what is missing to the alignment of what follows.
void Append(std::string_view bytes, std::string& constants) {
  constants.append(bytes);
  constants.resize((constants.size() + kConstantAlignment - 1) &
                   ~(kConstantAlignment - 1));
}

absl::StatusOr<OutlinedParts> ReadOutlined(OutlinedProto& proto,
                                           const std::string& constants) {
  OutlinedParts parts;
  parts.program = proto.program();
  parts.sha256 = proto.sha256();
  for (OutlinedProto::Version& version : *proto.mutable_versions()) {
    const auto total = static_cast<int64_t>(constants.size());
    if (version.position() < 0 || version.position() > total ||
        version.size() < 0 || version.size() > total - version.position())
      return Damaged("a part of control flow beyond the end of the data");
    parts.versions.push_back(std::make_shared<const ArtifactBlobs>(
        ArtifactBlobs{std::move(*version.mutable_model()),
                      constants.substr(version.position(), version.size())}));
  }
  return parts;
}

using TensorsByName = std::map<std::string, ConstantTensor>;

TensorsByName ByName(std::vector<ConstantTensor> tensors) {
  TensorsByName by_name;
  for (ConstantTensor& tensor : tensors) {
    std::string name = tensor.name;
    by_name.emplace(std::move(name), std::move(tensor));
  }
  return by_name;
}

// Whether kernels read a weight that may not be made yet.
bool NeedsUnmade(const CompiledModelProto& proto,
                 const TensorsByName& tensors) {
  return std::any_of(proto.constants().begin(), proto.constants().end(),
                     [&](const ConstantProto& constant) {
                       if (constant.source() != ConstantProto::MODEL_TENSOR)
                         return false;
                       const auto found = tensors.find(constant.model_tensor());
                       return found != tensors.end() &&
                              found->second.owner == nullptr;
                     });
}

absl::StatusOr<ConstantTensor> ReadConstant(
    const ConstantProto& proto, const TensorsByName& tensors,
    const std::shared_ptr<std::string>& data) {
  ConstantTensor constant;
  constant.name = proto.name();
  if (proto.source() == ConstantProto::UNUSED) return constant;
  if (!IsDataType(proto.dtype()))
    return Damaged("a constant of an unknown dtype");
  constant.view.dtype = static_cast<DataType>(proto.dtype());
  constant.view.sizes.assign(proto.sizes().begin(), proto.sizes().end());
  AITUNE_ASSIGN_OR_RETURN(
      const int64_t bytes,
      TensorBytes(constant.view.dtype, constant.view.sizes));
  if (proto.source() == ConstantProto::MODEL_TENSOR) {
    const auto found = tensors.find(proto.model_tensor());
    if (found == tensors.end() || found->second.owner == nullptr ||
        found->second.view.dtype != constant.view.dtype ||
        found->second.view.sizes != constant.view.sizes)
      return Damaged(absl::StrCat("the model has no such tensor as ",
                                  proto.model_tensor()));
    constant.view.data = found->second.view.data;
    constant.owner = found->second.owner;
    return constant;
  }
  const int64_t position = proto.position();
  const auto size = static_cast<int64_t>(data->size());
  if (position < 0 || position > size || bytes > size - position ||
      position % static_cast<int64_t>(kConstantAlignment) != 0)
    return Damaged("a constant beyond the end of the data");
  if (bytes > 0) constant.view.data = data->data() + position;
  constant.owner = data;
  return constant;
}

absl::Status CheckFits(const CompiledModelProto& proto,
                       std::string_view model_sha256, std::string_view gpu) {
  if (proto.version() != kArtifactVersion)
    return absl::FailedPreconditionError(
        absl::StrCat("the stored model is of version ", proto.version(),
                     ", this library reads version ", kArtifactVersion));
  if (proto.model_sha256() != model_sha256)
    return absl::FailedPreconditionError(
        "the stored model was compiled from another model: the program or the "
        "weights differ; compile this model again");
  const auto described = [](std::string_view target) {
    return target.empty() ? std::string("the CPU") : std::string(target);
  };
  if (proto.gpu() != gpu)
    return absl::FailedPreconditionError(
        absl::StrCat("the stored model was made for ", described(proto.gpu()),
                     ", not for ", described(gpu)));
  std::vector<std::string> differences;
  if (proto.target() != HostTarget())
    differences.push_back(TargetDifference(proto.target(), HostTarget()));
  const std::map<std::string, std::string> here = LibraryVersions();
  for (const auto& [name, version] : proto.versions()) {
    const auto found = here.find(name);
    const std::string ours = found == here.end() ? "missing" : found->second;
    if (ours != version)
      differences.push_back(
          absl::StrCat(name, " is ", ours, ", not ", version));
  }
  if (differences.empty()) return absl::OkStatus();
  std::sort(differences.begin(), differences.end());
  return absl::FailedPreconditionError(
      absl::StrCat("the stored model was made for another machine: ",
                   absl::StrJoin(differences, "; ")));
}

}  // namespace

std::map<std::string, std::string> LibraryVersions() {
  return {{"libtorch", TORCH_VERSION}, {"onednn", OnednnVersion()}};
}

absl::StatusOr<std::string> GpuOfArtifact(const Device& device) {
  if (!device.is_gpu()) return std::string();
  return cuda::DescribeGpu(device.gpu());
}

absl::StatusOr<ArtifactBlobs> WriteArtifact(const CompiledParts& parts,
                                            const Model& model,
                                            std::string_view model_sha256) {
  CompiledModelProto proto;
  proto.set_version(kArtifactVersion);
  proto.set_model_sha256(std::string(model_sha256));
  proto.set_target(HostTarget());
  for (const auto& [name, version] : LibraryVersions())
    (*proto.mutable_versions())[name] = version;
  proto.set_gpu(parts.gpu);
  *proto.mutable_plan() = parts.plan;
  for (const std::string& object : parts.objects) proto.add_objects(object);
  AITUNE_ASSIGN_OR_RETURN(*proto.mutable_input_structure(),
                          ToProto(parts.input_structure));
  AITUNE_ASSIGN_OR_RETURN(*proto.mutable_output_structure(),
                          ToProto(parts.output_structure));
  for (const RegionDefinition& region : parts.regions) {
    RegionProto& stored = *proto.add_regions();
    stored.mutable_ops()->Add(region.ops.begin(), region.ops.end());
    stored.mutable_inputs()->Add(region.inputs.begin(), region.inputs.end());
    stored.mutable_outputs()->Add(region.outputs.begin(), region.outputs.end());
  }
  ArtifactBlobs blobs;
  for (const OutlinedParts& outlined : parts.outlined) {
    OutlinedProto& stored = *proto.add_outlined();
    stored.set_program(outlined.program);
    stored.set_sha256(outlined.sha256);
    for (const std::shared_ptr<const ArtifactBlobs>& version :
         outlined.versions) {
      OutlinedProto::Version& inner = *stored.add_versions();
      inner.set_model(version->model);
      inner.set_position(static_cast<int64_t>(blobs.constants.size()));
      inner.set_size(static_cast<int64_t>(version->constants.size()));
      Append(version->constants, blobs.constants);
    }
  }
  proto.set_trace_sha256(parts.trace_sha256);
  for (const std::string& spec : parts.input_specs) proto.add_input_specs(spec);
  proto.mutable_trace_anchor()->Assign(parts.trace_anchor.begin(),
                                       parts.trace_anchor.end());
  proto.set_rolled_loops(parts.rolled_loops);
  *proto.mutable_report() = ToProto(parts.report);

  const TensorIndex index(ModelTensors(model));
  const std::set<int32_t> used = UsedConstants(parts.plan);
  for (size_t i = 0; i < parts.constants.size(); ++i) {
    ConstantProto& stored = *proto.add_constants();
    if (used.count(static_cast<int32_t>(i)) == 0) continue;
    const ConstantTensor& constant = parts.constants[i];
    stored.set_name(constant.name);
    stored.set_dtype(static_cast<int32_t>(constant.view.dtype));
    stored.mutable_sizes()->Add(constant.view.sizes.begin(),
                                constant.view.sizes.end());
    if (std::string name = index.Find(constant.view); !name.empty()) {
      stored.set_source(ConstantProto::MODEL_TENSOR);
      stored.set_model_tensor(std::move(name));
      continue;
    }
    AITUNE_ASSIGN_OR_RETURN(
        const int64_t bytes,
        TensorBytes(constant.view.dtype, constant.view.sizes));
    stored.set_source(ConstantProto::DATA);
    stored.set_position(static_cast<int64_t>(blobs.constants.size()));
    Append({static_cast<const char*>(constant.view.data),
            static_cast<size_t>(bytes)},
           blobs.constants);
  }
  AITUNE_ASSIGN_OR_RETURN(blobs.model, MessageBytes(proto));
  return blobs;
}

absl::StatusOr<CompiledParts> ReadArtifact(std::string_view model_blob,
                                           std::string constants,
                                           const Model& model,
                                           std::string_view model_sha256,
                                           std::string_view gpu) {
  CompiledModelProto proto;
  if (model_blob.size() > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(model_blob.data(),
                            static_cast<int>(model_blob.size())))
    return Damaged("its description can't be read");
  AITUNE_RETURN_IF_ERROR(CheckFits(proto, model_sha256, gpu));
  CompiledParts parts;
  parts.plan = std::move(*proto.mutable_plan());
  for (std::string& object : *proto.mutable_objects())
    parts.objects.push_back(std::move(object));
  AITUNE_ASSIGN_OR_RETURN(parts.input_structure,
                          FromProto(proto.input_structure()));
  AITUNE_ASSIGN_OR_RETURN(parts.output_structure,
                          FromProto(proto.output_structure()));
  for (const RegionProto& region : proto.regions()) {
    parts.regions.push_back(
        {{region.ops().begin(), region.ops().end()},
         {region.inputs().begin(), region.inputs().end()},
         {region.outputs().begin(), region.outputs().end()}});
  }
  for (OutlinedProto& stored : *proto.mutable_outlined()) {
    AITUNE_ASSIGN_OR_RETURN(OutlinedParts outlined,
                            ReadOutlined(stored, constants));
    parts.outlined.push_back(std::move(outlined));
  }
  parts.gpu = proto.gpu();
  parts.trace_sha256 = proto.trace_sha256();
  parts.input_specs.assign(proto.input_specs().begin(),
                           proto.input_specs().end());
  parts.trace_anchor.assign(proto.trace_anchor().begin(),
                            proto.trace_anchor().end());
  parts.rolled_loops = proto.rolled_loops();
  parts.report = FromProto(proto.report());
  TensorsByName tensors = ByName(ModelTensors(model));
  if (NeedsUnmade(proto, tensors)) {
    AITUNE_RETURN_IF_ERROR(model.MakeWeights());
    tensors = ByName(ModelTensors(model));
  }
  const auto data = std::make_shared<std::string>(std::move(constants));
  for (const ConstantProto& stored : proto.constants()) {
    AITUNE_ASSIGN_OR_RETURN(ConstantTensor constant,
                            ReadConstant(stored, tensors, data));
    parts.constants.push_back(std::move(constant));
  }
  return parts;
}

}  // namespace aitune::frontend
