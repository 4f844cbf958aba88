// The buffers that a model's calls write in place (counters, caches of keys and
// values), for compiled code that shares them with the model: each call reads
// what the last one wrote, whoever made it. What an in-place operator does not
// write - attributes that are set, lists that grow - can't be shared so.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_LIVE_STATE_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_LIVE_STATE_H_

#include <ATen/core/TensorBody.h>
#include <torch/csrc/jit/api/module.h>

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torchscript/state_writes.h"

namespace aitune::frontend {

// Thread-safe.
class LiveState {
 public:
  // Of a module whose calls change `writes`. kUnimplemented, with the reason,
  // if they may change something else than whole tensors on the CPU that are
  // dense, of a dtype that traces have, and in memory of their own;
  // kUnimplemented without a reason if they change nothing. May throw
  // LibTorch's exceptions.
  static absl::StatusOr<LiveState> Of(const torch::jit::Module& module,
                                      const StateWrites& writes);

  // The model's own tensors that calls may write to, in the order of its
  // attributes.
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

  // The model's own tensor whose memory `tensor` is, of the same sizes and
  // strides, if calls may write to it: a program that was frozen has other
  // references to it. Null for other tensors.
  const at::Tensor* Find(const at::Tensor& tensor) const;

 private:
  std::vector<at::Tensor> tensors_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_LIVE_STATE_H_
