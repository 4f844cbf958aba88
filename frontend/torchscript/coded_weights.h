// Weights that are stored as quantised codes, and made of these when something
// first reads them. A loaded model whose compiled versions compute with codes
// is called without its weights: until LibTorch runs it, or it is traced again,
// they take no memory. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_CODED_WEIGHTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_CODED_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// What a weight is made of.
struct CodedTensor {
  ConstantTensor codes;     // of two axes and a dtype of one byte
  ConstantTensor scales;    // float32, one for each row of the codes
  bool transposed = false;  // whether the weight's axes are theirs, swapped
};

// Whether the codes stand for a weight of these sizes.
bool Fit(const CodedTensor& codes, at::IntArrayRef sizes);

// The weight that the codes stand for, dense, on the CPU. They must be those of
// a weight (Fit). May throw LibTorch's exceptions.
at::Tensor Dequantized(const CodedTensor& codes, c10::ScalarType dtype);

// Models that share tensors share this. A weight's tensor stays the same when
// it is made: it gets memory. Thread-safe.
class CodedWeights {
 public:
  // A weight for Add, to be put into the model: a dense tensor on the CPU of
  // the dtype and sizes of `like`, without memory.
  static at::Tensor Unmade(const at::Tensor& like);

  // Has `weight` made of `codes`, which fit it. Not while others use this.
  void Add(const at::Tensor& weight, CodedTensor codes);

  // Makes the weights that are not made yet. Once it has returned, all threads
  // may read them. `check` is asked before, when UnmadeBytes counts them as
  // made; its error leaves them as they are. May throw LibTorch's exceptions;
  // the next call then goes on with what is left.
  absl::Status Make(const std::function<absl::Status()>& check = nullptr);

  // Bytes of the weights that are not made yet, once they are.
  int64_t UnmadeBytes() const;
  // `tensor` or, if it is a weight that is not made yet, a tensor with its
  // elements that is the caller's own. May throw LibTorch's exceptions.
  at::Tensor MadeFor(const at::Tensor& tensor) const;

  // CodedTensor::transposed of a tensor that is a weight and not made yet; not
  // set for others.
  std::optional<bool> IsTransposed(const at::Tensor& tensor) const;

  // Nothing is made, of no model, while the result lives. A fork waits for it,
  // so that the child has whole weights and can make others.
  static std::unique_lock<std::mutex> Hold();
  // Whether a tensor has elements but no memory. What may be a weight is only
  // asked about under Hold, as is where its memory is.
  static bool IsUnmade(const at::Tensor& tensor);

 private:
  struct Weight {
    at::Tensor tensor;
    CodedTensor codes;
  };

  // Under Hold; null if it is no weight or made.
  const Weight* Find(const at::Tensor& tensor) const;

  std::vector<Weight> unmade_;
  std::atomic<int64_t> unmade_bytes_ = 0;
  // What those who are making weights found to make; by several at once it is
  // counted as often.
  std::atomic<int64_t> asked_bytes_ = 0;
  std::atomic<bool> is_done_ = true;  // whether unmade_ is empty
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_CODED_WEIGHTS_H_
