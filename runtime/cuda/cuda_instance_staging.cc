// Buffers of a context in the places of a caller's inputs and outputs.
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "runtime/control/memory_budget.h"
#include "runtime/cuda/cuda_instance.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

// What kernels read and write at once, in bytes, and what libraries are told.
constexpr uintptr_t kAlignment = 16;

bool IsAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
}

}  // namespace

absl::StatusOr<std::vector<DeviceBuffer>> CudaInstance::NewStaging(
    absl::Span<const int64_t> bytes) const {
  const int64_t bytes_in_all =
      std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  // Counted before the budget is asked.
  staging_bytes_ += bytes_in_all;
  absl::Cleanup uncount = [&] { staging_bytes_ -= bytes_in_all; };
  AITUNE_RETURN_IF_ERROR(CheckMemoryBudget());
  std::vector<DeviceBuffer> buffers;
  for (const int64_t size : bytes) {
    AITUNE_ASSIGN_OR_RETURN(DeviceBuffer buffer,
                            DeviceBuffer::Allocate(device_, size));
    buffers.push_back(std::move(buffer));
  }
  std::move(uncount).Cancel();
  return buffers;
}

absl::Status CudaInstance::Stage(Context& context) const {
  if (!context.staging.empty()) return absl::OkStatus();
  std::vector<int64_t> bytes = input_bytes_;
  bytes.insert(bytes.end(), output_bytes_.begin(), output_bytes_.end());
  AITUNE_ASSIGN_OR_RETURN(context.staging, NewStaging(bytes));
  return absl::OkStatus();
}

absl::Status CudaInstance::QueueCopy(void* to, const void* from, int64_t bytes,
                                     CUstream stream) const {
  if (bytes == 0) return absl::OkStatus();
  return device_.driver().Check(
      device_.driver().cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(to),
                                         reinterpret_cast<CUdeviceptr>(from),
                                         bytes, stream),
      "copying an input or output");
}

absl::Status CudaInstance::Align(Context& context, absl::Span<void*> inputs,
                                 absl::Span<void*> outputs,
                                 CUstream stream) const {
  auto align = [&](size_t index, void*& data, int64_t bytes) -> absl::Status {
    context.aligned.resize(input_bytes_.size() + output_bytes_.size());
    DeviceBuffer& buffer = context.aligned[index];
    if (buffer.bytes() < bytes) {
      AITUNE_ASSIGN_OR_RETURN(std::vector<DeviceBuffer> made,
                              NewStaging({bytes}));
      buffer = std::move(made[0]);
    }
    data = buffer.data();
    return absl::OkStatus();
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (IsAligned(inputs[i])) continue;
    const void* const given = inputs[i];
    AITUNE_RETURN_IF_ERROR(align(i, inputs[i], input_bytes_[i]));
    AITUNE_RETURN_IF_ERROR(
        QueueCopy(inputs[i], given, input_bytes_[i], stream));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (IsAligned(outputs[i])) continue;
    AITUNE_RETURN_IF_ERROR(
        align(inputs.size() + i, outputs[i], output_bytes_[i]));
  }
  return absl::OkStatus();
}

absl::Status CudaInstance::CopyBack(absl::Span<void* const> inputs,
                                    absl::Span<void* const> outputs,
                                    absl::Span<void* const> given_inputs,
                                    absl::Span<void* const> given_outputs,
                                    CUstream stream) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == given_inputs[i] || !plan_.is_written(static_cast<int>(i)))
      continue;
    AITUNE_RETURN_IF_ERROR(
        QueueCopy(given_inputs[i], inputs[i], input_bytes_[i], stream));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == given_outputs[i]) continue;
    AITUNE_RETURN_IF_ERROR(
        QueueCopy(given_outputs[i], outputs[i], output_bytes_[i], stream));
  }
  return absl::OkStatus();
}

}  // namespace aitune::cuda
