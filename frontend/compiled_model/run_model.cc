// CompiledModel's calls.
#include <ATen/MemoryOverlap.h>
#include <ATen/core/ivalue.h>
#include <c10/core/InferenceMode.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/model_versions.h"
#include "frontend/compiled_model/version_state.h"
#include "frontend/trace/output_buffers.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// The arguments with copies of the tensors that are not contiguous. Appends
// these tensors, each with its copy.
ValueList ContiguousOf(const ValueList& arguments,
                       std::vector<std::pair<at::Tensor, at::Tensor>>& copies) {
  return arguments.MapTensors([&](const at::Tensor& tensor) {
    if (tensor.layout() != at::kStrided || tensor.is_contiguous())
      return tensor;
    copies.emplace_back(tensor, tensor.contiguous());
    return copies.back().second;
  });
}

// Copies `copy` into the argument it was made of, as `write` may have changed
// it. Eager refuses to write to a tensor whose elements share memory.
absl::Status WriteBack(const std::string& write, const at::Tensor& copy,
                       const at::Tensor& argument) {
  if (at::has_internal_overlap(argument) != at::MemOverlap::Yes) {
    argument.copy_(copy);
    return absl::OkStatus();
  }
  // By their bytes: a NaN is equal to itself.
  if (copy.view(at::kByte).equal(argument.contiguous().view(at::kByte)))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "an argument has a tensor, ", Describe(argument),
      ", that is expanded, so that elements share memory, and the program "
      "wrote to it (",
      write, "): call .contiguous() on it before"));
}

}  // namespace

absl::StatusOr<c10::IValue> CompiledModel::Run(const ValueList& arguments,
                                               ConstantCheck check) const {
  if (whole_calls_ != nullptr) {
    const auto held = whole_calls_->Hold();
    return whole_calls_->Run(arguments);
  }
  if (input_queries_.write.empty()) return RunInPlace(arguments, check);
  // Of the copies no question is open.
  AITUNE_RETURN_IF_ERROR(CheckQueries(input_queries_, arguments));
  AITUNE_RETURN_IF_ERROR(CheckSharedWrites(input_queries_, arguments));
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  absl::StatusOr<c10::IValue> result =
      RunInPlace(ContiguousOf(arguments, copies), check);
  // Also what a call that raises has written before.
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "an argument", [&] {
        const c10::InferenceMode inference;
        absl::Status written;
        for (const auto& [argument, copy] : copies)
          written.Update(WriteBack(input_queries_.write, copy, argument));
        return written;
      }));
  return result;
}

absl::StatusOr<c10::IValue> CompiledModel::RunInPlace(
    const ValueList& arguments, ConstantCheck check) const {
  VersionState* const state = others_ == nullptr ? nullptr : others_->state();
  const auto held =
      state == nullptr ? std::unique_lock<std::mutex>() : state->Hold();
  absl::StatusOr<Call> prepared = Prepare(arguments, check);
  const CompiledModel* version = this;
  if (others_ != nullptr && absl::IsInvalidArgument(prepared.status())) {
    absl::StatusOr<const CompiledModel*> other = others_->Find(arguments);
    // The model itself may refuse these sizes; others were not asked for.
    if (!other.ok())
      return absl::Status(other.status().code(),
                          absl::StrCat(other.status().message(), " (",
                                       prepared.status().message(), ")"));
    version = *other;
  } else if (!prepared.ok()) {
    return prepared.status();
  }
  if (state != nullptr) {
    bool by_libtorch = version == nullptr;
    if (!by_libtorch) {
      AITUNE_ASSIGN_OR_RETURN(by_libtorch, state->LibTorchRuns(*version));
    }
    if (by_libtorch) return state->Run(arguments);
  }
  if (version != this) return version->Run(arguments, check);
  AITUNE_RETURN_IF_ERROR(Execute(*prepared));
  return UnflattenOutputs(output_structure_, prepared->outputs);
}

absl::StatusOr<std::vector<OwnedValue>> CompiledModel::RunLeaves(
    absl::Span<const RegionValue> leaves, ConstantCheck check) const {
  AITUNE_ASSIGN_OR_RETURN(FlatTensors inputs,
                          inputs_.TensorsOf(leaves, device_, check));
  AITUNE_ASSIGN_OR_RETURN(Call call, Prepare(std::move(inputs)));
  AITUNE_RETURN_IF_ERROR(Execute(call));
  return OutputLeaves(output_structure_, call.outputs);
}

absl::StatusOr<std::optional<std::vector<OwnedValue>>> CompiledModel::RunIfFits(
    absl::Span<const RegionValue> leaves) const {
  absl::StatusOr<FlatTensors> inputs =
      inputs_.TensorsOf(leaves, device_, ConstantCheck::kCheck);
  if (!inputs.ok()) return std::nullopt;
  absl::StatusOr<Call> call = Prepare(*std::move(inputs));
  if (absl::IsInvalidArgument(call.status())) return std::nullopt;
  AITUNE_RETURN_IF_ERROR(call.status());
  AITUNE_RETURN_IF_ERROR(Execute(*call));
  return OutputLeaves(output_structure_, call->outputs);
}

}  // namespace aitune::frontend
