#include "frontend/checkpoint/weight_codes.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/backends/torch_backend_state.pb.h"
#include "frontend/compiled_model/shared_codes.h"
#include "frontend/torchscript/coded_weights.h"
#include "frontend/torchscript/deciding_weights.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/module_objects.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/bundle/message_bytes.h"
#include "runtime/hash/sha256.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

constexpr char kCodes[] = "codes";
constexpr char kCodesData[] = "codes.data";
constexpr size_t kAlignment = 64;  // bytes, of a tensor in kCodesData

// The sum of the squared errors of what `codes` stand for to `weight`; not set
// if they are not the codes of that weight, as some element is farther away
// than the next code. What `codes` stand for and the weight are rounded to 16
// bits, which moves neither by more than 2^-8 of it.
std::optional<double> NoiseOf(const CodedTensor& codes,
                              const at::Tensor& weight) {
  const at::Tensor expected = weight.to(at::kFloat);
  const at::Tensor made =
      Dequantized(codes, weight.scalar_type()).to(at::kFloat);
  at::Tensor scales = TensorOn(codes.scales.view).unsqueeze(1);
  if (codes.transposed) scales = scales.t();
  // Codes of float8_e4m3fn have 3 bits behind the first, and are 2^-9 apart
  // next to 0.
  const at::Tensor apart =
      codes.codes.view.dtype == DataType::kInt8
          ? scales.expand(weight.sizes())
          : at::maximum(expected.abs() * 0.125, scales * 0.001953125);
  const at::Tensor error = (made - expected).abs();
  if (!error.le(apart + expected.abs() * 0.0078125).all().item<bool>())
    return std::nullopt;
  return error.square().sum().item<double>();
}

// The tensors that are attributes, by names, and how often each memory is an
// attribute's, or of what one holds, as the lists of recurrent networks do.
struct Attributes {
  explicit Attributes(const Model& model) {
    VisitAttributes(*model.impl().bare_module._ivalue(),
                    [&](const std::string& name, const c10::IValue& value) {
                      if (value.isModule()) return;
                      if (value.isTensor() && value.toTensor().defined())
                        tensors[name] = value.toTensor();
                      for (const at::Tensor& tensor : TensorLeaves(value)) {
                        if (tensor.defined() && tensor.has_storage())
                          ++holders[tensor.storage().unsafeGetStorageImpl()];
                      }
                    });
  }
  // Whether it is a weight that may have codes in its place: nothing else has
  // its memory.
  bool MayBeTakenOut(const at::Tensor& tensor) const {
    return IsPlainTensor(tensor) && tensor.is_floating_point() &&
           holders.at(tensor.storage().unsafeGetStorageImpl()) == 1;
  }

  std::map<std::string, at::Tensor> tensors;
  std::map<const void*, int> holders;
};

void Replace(const Model& model, const at::Tensor& old, const at::Tensor& by) {
  VisitModules(*model.impl().bare_module._ivalue(),
               [&](c10::ivalue::Object& module) {
                 for (size_t slot = 0; slot < module.slots().size(); ++slot) {
                   const c10::IValue& value = module.getSlot(slot);
                   if (value.isTensor() && value.toTensor().is_same(old))
                     module.setSlot(slot, by);
                 }
               });
}

// What `weight` may have been quantised to, if it was to these tensors.
std::optional<CodedTensor> CodesOf(const Model& model, const at::Tensor& weight,
                                   const ConstantTensor& codes,
                                   const ConstantTensor& scales) {
  std::optional<bool> unmade;
  if (const CodedWeights* coded = model.impl().coded.get(); coded != nullptr)
    unmade = coded->IsTransposed(weight);
  std::optional<CodedTensor> best;
  std::optional<double> least;
  for (const bool transposed : {false, true}) {
    const CodedTensor tried = {codes, scales, transposed};
    if (!Fit(tried, weight.sizes())) continue;
    std::optional<double> noise;
    if (!unmade)
      noise = NoiseOf(tried, weight);
    else if (*unmade == transposed)
      noise = 0;
    if (!noise || (least && *least <= *noise)) continue;
    least = noise;
    best = tried;
  }
  return best;
}

// Finds the weights in `model` that can be taken out, and takes them out.
void TakeOut(const SharedCodes& codes, Model* model, CodesProto* stored) {
  Attributes attributes(*model);
  const std::set<std::string> deciding = DecidingWeights(*model);
  for (const auto& [name, tensor] : codes.tensors()) {
    std::string weight;
    if (!IsPartOfWeight(name, &weight) || name != weight + ".codes") continue;
    const auto scales = codes.tensors().find(weight + ".scales");
    const auto attribute = attributes.tensors.find(weight);
    if (scales == codes.tensors().end() ||
        attribute == attributes.tensors.end() ||
        codes.read().count(weight) > 0 || deciding.count(weight) > 0)
      continue;
    at::Tensor& old = attribute->second;
    if (!attributes.MayBeTakenOut(old)) continue;
    const auto found = CodesOf(*model, old, tensor, scales->second);
    if (!found) continue;
    CodesProto::Weight& taken = *stored->add_weights();
    taken.set_name(weight);
    taken.set_transposed(found->transposed);
    at::Tensor zero = at::zeros({1}, old.options()).expand(old.sizes());
    zero.set_requires_grad(old.requires_grad());
    Replace(*model, old, zero);
    old = zero;
  }
  // Those that are not made need not be, if all have been taken out.
  const CodedWeights* coded = model->impl().coded.get();
  if (coded != nullptr &&
      std::none_of(attributes.tensors.begin(), attributes.tensors.end(),
                   [&](const auto& attribute) {
                     return coded->IsTransposed(attribute.second).has_value();
                   }))
    model->MakeLater(nullptr);
}

absl::StatusOr<std::map<std::string, ConstantTensor>> ReadTensors(
    const CodesProto& stored, std::string data) {
  const auto owner = std::make_shared<const std::string>(std::move(data));
  std::map<std::string, ConstantTensor> tensors;
  for (const CodesProto::Tensor& tensor : stored.tensors()) {
    const absl::Status damaged = absl::InvalidArgumentError(
        absl::StrCat("the codes ", tensor.name(), " are damaged"));
    if (!IsDataType(tensor.dtype())) return damaged;
    ConstantTensor& read = tensors[tensor.name()];
    read.name = tensor.name();
    read.view.dtype = static_cast<DataType>(tensor.dtype());
    read.view.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
    AITUNE_ASSIGN_OR_RETURN(const int64_t bytes,
                            TensorBytes(read.view.dtype, read.view.sizes));
    const auto size = static_cast<int64_t>(owner->size());
    if (tensor.position() < 0 || tensor.position() > size ||
        bytes > size - tensor.position())
      return damaged;
    read.view.data = const_cast<char*>(owner->data()) + tensor.position();
    read.owner = owner;
  }
  return tensors;
}

absl::Status PutBack(Blobs* blobs, Model* model) {
  CodesProto stored;
  const auto data = blobs->find(kCodesData);
  if (!stored.ParseFromString(blobs->find(kCodes)->second) ||
      data == blobs->end())
    return absl::InvalidArgumentError("its codes can't be read");
  AITUNE_ASSIGN_OR_RETURN(const auto tensors,
                          ReadTensors(stored, std::move(data->second)));
  const Attributes attributes(*model);
  auto coded = std::make_shared<CodedWeights>();
  for (const CodesProto::Weight& taken : stored.weights()) {
    const auto codes = tensors.find(taken.name() + ".codes");
    const auto scales = tensors.find(taken.name() + ".scales");
    const auto attribute = attributes.tensors.find(taken.name());
    const absl::Status misfit = absl::InvalidArgumentError(
        absl::StrCat("its codes don't fit the weight '", taken.name(), "'"));
    if (codes == tensors.end() || scales == tensors.end() ||
        attribute == attributes.tensors.end())
      return misfit;
    const at::Tensor& old = attribute->second;
    CodedTensor made_of = {codes->second, scales->second, taken.transposed()};
    if (!attributes.MayBeTakenOut(old) || !Fit(made_of, old.sizes()))
      return misfit;
    const at::Tensor weight = CodedWeights::Unmade(old);
    Replace(*model, old, weight);
    coded->Add(weight, std::move(made_of));
  }
  model->MakeLater(std::move(coded));
  std::vector<ConstantTensor> beside;
  for (const auto& [name, tensor] : tensors) beside.push_back(tensor);
  model->KeepBeside(std::move(beside));
  // Copies of such a state are copies of all the model's tensors.
  const ModelState state(*model);
  if (state.exists() && state.live() == nullptr) return model->MakeWeights();
  return absl::OkStatus();
}

}  // namespace

bool HasCodes(const Blobs& blobs) { return blobs.count(kCodes) > 0; }

absl::StatusOr<std::optional<Model>> TakeOutWeights(
    const TorchScriptSource& source,
    std::map<std::string, ArtifactBlobs>* artifacts, CheckpointProto* proto,
    Blobs* blobs) {
  const Model& model = source.model();
  SharedCodes codes(model.impl().beside);
  for (const auto& [name, artifact] : *artifacts)
    AITUNE_RETURN_IF_ERROR(codes.Add(artifact));
  std::optional<Model> stripped;
  if (codes.tensors().empty()) return stripped;
  CodesProto stored;
  const bool has_state = source.HasState() && !source.SharesState();
  if (!has_state) {
    AITUNE_ASSIGN_OR_RETURN(stripped, model.WithWeights({}));
    AITUNE_RETURN_IF_ERROR(CatchExceptions(
        absl::StatusCode::kInternal, "taking out quantised weights", [&] {
          const c10::NoGradGuard no_grad;
          TakeOut(codes, &*stripped, &stored);
          return absl::OkStatus();
        }));
  }
  std::string data;
  for (const auto& [name, tensor] : codes.tensors()) {
    CodesProto::Tensor& added = *stored.add_tensors();
    added.set_name(name);
    added.set_dtype(static_cast<int32_t>(tensor.view.dtype));
    added.mutable_sizes()->Assign(tensor.view.sizes.begin(),
                                  tensor.view.sizes.end());
    added.set_position(static_cast<int64_t>(data.size()));
    AITUNE_ASSIGN_OR_RETURN(const int64_t bytes,
                            TensorBytes(tensor.view.dtype, tensor.view.sizes));
    data.append(static_cast<const char*>(tensor.view.data),
                static_cast<size_t>(bytes));
    data.resize((data.size() + kAlignment - 1) & ~(kAlignment - 1));
  }

  std::set<std::string> known;  // weights that are made of codes already
  for (const ConstantTensor& tensor : model.impl().beside)
    known.insert(tensor.name);
  std::string made;
  for (const CodesProto::Weight& taken : stored.weights()) {
    if (known.count(taken.name() + ".codes") == 0)
      absl::StrAppend(&made, taken.name(), "\n");
  }
  if (!made.empty()) {
    const std::string hash =
        ToHex(Sha256Of(absl::StrCat(proto->model_sha256(), "\n", made, data)));
    TorchBackendStateProto state;
    if (!state.ParseFromString(proto->backend().implementation()))
      return absl::InternalError("the backend's state can't be read");
    state.set_model_sha256(hash);
    AITUNE_ASSIGN_OR_RETURN(*proto->mutable_backend()->mutable_implementation(),
                            MessageBytes(state));
    proto->set_model_sha256(hash);
  }
  AITUNE_ASSIGN_OR_RETURN((*blobs)[kCodes], MessageBytes(stored));
  (*blobs)[kCodesData] = std::move(data);
  for (auto& [name, artifact] : *artifacts)
    AITUNE_RETURN_IF_ERROR(codes.Share(proto->model_sha256(), &artifact));
  return stripped;
}

absl::Status PutBackWeights(const std::string& path, Blobs* blobs,
                            Model* model) {
  if (!HasCodes(*blobs)) return absl::OkStatus();
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        const c10::NoGradGuard no_grad;
        return PutBack(blobs, model);
      });
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

}  // namespace aitune::frontend
