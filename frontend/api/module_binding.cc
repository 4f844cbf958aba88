// Calls of a module with memory of the caller's.
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/from_blob.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/module.h"
#include "frontend/api/module_calls.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/values/borrowed_memory.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

using aitune::frontend::ValueList;

absl::Status CheckDense(const at::Tensor& tensor, const std::string& what) {
  if (tensor.defined() && tensor.is_contiguous()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", aitune::frontend::Describe(tensor),
                   ", which is not dense in row-major order, and would be "
                   "copied once only; give contiguous() memory"));
}

// Whether the memory is no tensor's, as that of callers in C.
bool IsLent(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_cpu() && tensor.has_storage() &&
         tensor.storage().data_ptr().get_context() == nullptr;
}

// Keeps the tensors of a bound call.
class KeptCall : public aitune::BoundCall {
 public:
  KeptCall(int threads, ValueList arguments, ValueList outputs,
           std::unique_ptr<aitune::BoundCall> call)
      : threads_(threads),
        arguments_(std::move(arguments)),
        outputs_(std::move(outputs)),
        call_(std::move(call)) {}
  absl::Status Run(void* stream) override {
    const ThreadsOfModule threads(threads_);
    return call_->Run(stream);
  }
  bool copies_nothing() const override { return call_->copies_nothing(); }

 private:
  const int threads_;  // of a run; 0: those of the calling thread
  const ValueList arguments_, outputs_;
  const std::unique_ptr<aitune::BoundCall> call_;
};

// Runs the module as any call does, and copies the results.
class CopyingCall : public aitune::BoundCall {
 public:
  CopyingCall(const Module& module, aitune::Device device, ValueList arguments,
              ValueList outputs)
      : module_(module),
        device_(std::move(device)),
        arguments_(std::move(arguments)),
        outputs_(std::move(outputs)) {}

  absl::Status Run(void* stream) override {
    try {
      std::optional<aitune::frontend::ScopedStream> current;
      if (device_.is_gpu() && stream != nullptr)
        current.emplace(device_, stream);
      return RunThere();
    } catch (const std::exception& error) {
      return aitune::frontend::StatusOf(error, absl::StatusCode::kInternal,
                                        "a bound call raised");
    }
  }

  bool copies_nothing() const override { return false; }

 private:
  // The module may keep what it is given in its state: each run has tensors of
  // its own, after which nothing refers to memory that is only lent.
  absl::Status RunThere() {
    aitune::frontend::BorrowedMemory borrowed;
    const absl::Status status = RunOn(borrowed);
    borrowed.Release();
    return status;
  }

  absl::Status RunOn(aitune::frontend::BorrowedMemory& borrowed) {
    std::vector<c10::IValue> arguments;
    for (const c10::IValue& argument : arguments_.values()) {
      arguments.push_back(aitune::frontend::MapTensors(
          argument, [&](const at::Tensor& tensor, int) {
            if (!IsLent(tensor)) return tensor;
            const at::Tensor own = at::from_blob(
                tensor.data_ptr(), tensor.sizes(), tensor.options());
            borrowed.Add(own);
            return own;
          }));
    }
    AITUNE_ASSIGN_OR_RETURN(const c10::IValue result,
                            module_.RunOwned(ValueList(std::move(arguments))));
    return CopyResult(result, outputs_);
  }

  const Module& module_;
  const aitune::Device device_;
  const ValueList arguments_, outputs_;
};

}  // namespace

absl::Status CopyResult(const c10::IValue& result, const ValueList& outputs) {
  const std::vector<at::Tensor> results =
      aitune::frontend::TensorLeaves(result);
  if (results.size() != static_cast<size_t>(outputs.size()))
    return absl::InvalidArgumentError(
        absl::StrCat("the module gives ", results.size(), " tensors, but ",
                     outputs.size(), " outputs were given"));
  for (size_t i = 0; i < results.size(); ++i) {
    const at::Tensor& given = outputs.values()[i].toTensor();
    if (results[i].scalar_type() == given.scalar_type() &&
        results[i].sizes() == given.sizes())
      continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "output ", i, " is ", aitune::frontend::Describe(results[i]),
        ", but memory for ", aitune::frontend::Describe(given), " was given"));
  }
  for (size_t i = 0; i < results.size(); ++i)
    outputs.values()[i].toTensor().copy_(results[i], /*non_blocking=*/false);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<aitune::BoundCall>> Module::Bind(
    const ValueList& arguments, const ValueList& outputs) const {
  const int threads = threads_;
  const ThreadsOfModule scope(threads);
  for (const at::Tensor& tensor : aitune::frontend::TensorLeaves(arguments))
    AITUNE_RETURN_IF_ERROR(CheckDense(tensor, "an input"));
  std::vector<aitune::RegionValue> there;
  std::vector<aitune::OwnedValue> owned;
  for (const c10::IValue& output : outputs.values()) {
    if (!output.isTensor())
      return absl::InvalidArgumentError(
          absl::StrCat("an output is ", aitune::frontend::Describe(output),
                       "; outputs are tensors"));
    AITUNE_RETURN_IF_ERROR(CheckDense(output.toTensor(), "an output"));
    owned.push_back(aitune::frontend::ToOwned(output));
    there.push_back(owned.back().value);
  }
  if (const std::shared_ptr<aitune::Backend> backend = this->backend()) {
    AITUNE_ASSIGN_OR_RETURN(const aitune::Sample inputs,
                            source()->FlattenCall(arguments));
    auto call = backend->Bind(Values(inputs), there);
    if (call.ok())
      return std::make_unique<KeptCall>(threads, arguments, outputs,
                                        *std::move(call));
    if (!absl::IsUnimplemented(call.status())) return call.status();
  }
  AITUNE_ASSIGN_OR_RETURN(aitune::Device device,
                          aitune::Device::ParseCpuOrGpu(options_.device));
  return std::make_unique<CopyingCall>(*this, std::move(device), arguments,
                                       outputs);
}

}  // namespace ait
