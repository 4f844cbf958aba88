#include "frontend/torchscript/saved_arguments.h"

#include <ATen/Functions.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/ivalue.h>
#include <c10/core/InferenceMode.h>

#include <memory>
#include <utility>
#include <vector>

#include "frontend/torchscript/state_copy.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

struct SavedTensor {
  at::Tensor place;  // the memory, with the sizes that it had
  at::Tensor content;
};

// No program can write to an expanded tensor, nor can we.
bool IsWritable(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_nested() &&
         tensor.has_storage() &&
         at::has_internal_overlap(tensor) != at::MemOverlap::Yes;
}

void PutBack(const std::vector<SavedTensor>& tensors) {
  // As runs are; tensors that they made can only be written in that mode.
  const c10::InferenceMode inference;
  for (const SavedTensor& saved : tensors) {
    // What was not written keeps its version, and is still in the caches. On a
    // GPU looking would take longer than writing.
    if (!saved.place.is_cpu() || !SameBytes(saved.place, saved.content))
      saved.place.copy_(saved.content);
  }
}

}  // namespace

absl::StatusOr<std::function<absl::Status()>> SaveArguments(
    const InputQueries& queries, const ValueList& arguments) {
  auto tensors = std::make_shared<std::vector<SavedTensor>>();
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "saving the arguments", [&] {
        const c10::InferenceMode inference;
        for (const int written : queries.written_arguments) {
          if (written >= arguments.size()) continue;
          for (const at::Tensor& tensor :
               TensorLeaves(arguments.values()[written])) {
            if (IsWritable(tensor))
              tensors->push_back({tensor.detach(), tensor.clone()});
          }
        }
        return absl::OkStatus();
      }));
  if (tensors->empty()) return std::function<absl::Status()>();
  return std::function<absl::Status()>([tensors] {
    return CatchExceptions(absl::StatusCode::kInternal,
                           "putting back the arguments", [&] {
                             PutBack(*tensors);
                             return absl::OkStatus();
                           });
  });
}

absl::StatusOr<std::function<absl::Status()>> SaveArguments(
    const Model& model, const ValueList& arguments) {
  return SaveArguments(FindInputQueries(model), arguments);
}

std::function<absl::Status()> InTurn(std::function<absl::Status()> first,
                                     std::function<absl::Status()> second) {
  if (first == nullptr) return second;
  if (second == nullptr) return first;
  return [first = std::move(first), second = std::move(second)] {
    absl::Status status = first();
    status.Update(second());
    return status;
  };
}

}  // namespace aitune::frontend
