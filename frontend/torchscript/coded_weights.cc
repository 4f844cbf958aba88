#include "frontend/torchscript/coded_weights.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {
namespace {

// The elements of a weight that are in float32 at a time.
constexpr int64_t kWidenedElements = int64_t{1} << 20;

// Gives `to`, which has no memory, that of `from`, whose only owner is the
// caller.
void MoveMemory(const at::Tensor& from, const at::Tensor& to) {
  TORCH_CHECK(from.sizes() == to.sizes() && from.dtype() == to.dtype() &&
                  from.is_contiguous() && from.storage_offset() == 0,
              "a weight was made with another layout");
  c10::StorageImpl* const source = from.storage().unsafeGetStorageImpl();
  c10::StorageImpl* const target = to.storage().unsafeGetStorageImpl();
  target->set_nbytes(source->nbytes());
  target->set_data_ptr_noswap(
      source->set_data_ptr(c10::DataPtr(nullptr, at::kCPU)));
  source->set_nbytes(0);
}

std::mutex& Mutex() {
  static std::mutex* const mutex = [] {
    pthread_atfork([] { Mutex().lock(); }, [] { Mutex().unlock(); },
                   [] { Mutex().unlock(); });
    return new std::mutex;
  }();
  return *mutex;
}

}  // namespace

std::unique_lock<std::mutex> CodedWeights::Hold() {
  return std::unique_lock<std::mutex>(Mutex());
}

bool Fit(const CodedTensor& codes, at::IntArrayRef sizes) {
  const TensorView& elements = codes.codes.view;
  const TensorView& scales = codes.scales.view;
  if (elements.sizes.size() != 2 || scales.sizes.size() != 1 ||
      scales.sizes[0] != elements.sizes[0] ||
      scales.dtype != DataType::kFloat32 || SizeInBytes(elements.dtype) != 1)
    return false;
  std::vector<int64_t> weight = elements.sizes;
  if (codes.transposed) std::swap(weight[0], weight[1]);
  return sizes == at::IntArrayRef(weight);
}

at::Tensor Dequantized(const CodedTensor& codes, c10::ScalarType dtype) {
  const at::Tensor elements = TensorOn(codes.codes.view);
  const at::Tensor scales = TensorOn(codes.scales.view).unsqueeze(1);
  const int64_t rows = elements.size(0), columns = elements.size(1);
  const at::Tensor weight =
      at::empty(codes.transposed ? std::vector<int64_t>{columns, rows}
                                 : std::vector<int64_t>{rows, columns},
                dtype);
  const at::Tensor by_rows = codes.transposed ? weight.t() : weight;
  // A few at a time, as they are widened to float32.
  const int64_t step =
      std::max<int64_t>(1, kWidenedElements / std::max<int64_t>(1, columns));
  for (int64_t row = 0; row < rows; row += step) {
    const int64_t count = std::min(step, rows - row);
    by_rows.narrow(0, row, count)
        .copy_(elements.narrow(0, row, count)
                   .to(at::kFloat)
                   .mul_(scales.narrow(0, row, count)));
  }
  return weight;
}

at::Tensor CodedWeights::Unmade(const at::Tensor& like) {
  at::Tensor weight = at::empty({0}, like.options().device(at::kCPU));
  weight.unsafeGetTensorImpl()->set_sizes_contiguous(like.sizes());
  weight.set_requires_grad(like.requires_grad());
  return weight;
}

bool CodedWeights::IsUnmade(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() && tensor.numel() > 0 &&
         tensor.storage().nbytes() == 0;
}

int64_t CodedWeights::UnmadeBytes() const {
  return std::max<int64_t>(0, unmade_bytes_ - asked_bytes_);
}

void CodedWeights::Add(const at::Tensor& weight, CodedTensor codes) {
  unmade_.push_back({weight, std::move(codes)});
  unmade_bytes_ += static_cast<int64_t>(weight.nbytes());
  is_done_ = false;
}

absl::Status CodedWeights::Make(const std::function<absl::Status()>& check) {
  if (is_done_) return absl::OkStatus();
  const int64_t asked = unmade_bytes_;
  asked_bytes_ += asked;
  const absl::Cleanup count = [&] { asked_bytes_ -= asked; };
  if (check != nullptr) AITUNE_RETURN_IF_ERROR(check());
  const std::unique_lock<std::mutex> held = Hold();
  const c10::InferenceMode inference;
  while (!unmade_.empty()) {
    const Weight& weight = unmade_.back();
    MoveMemory(Dequantized(weight.codes, weight.tensor.scalar_type()),
               weight.tensor);
    unmade_bytes_ -= static_cast<int64_t>(weight.tensor.nbytes());
    unmade_.pop_back();
  }
  malloc_trim(0);  // what was in float32
  is_done_ = true;
  return absl::OkStatus();
}

const CodedWeights::Weight* CodedWeights::Find(const at::Tensor& tensor) const {
  const auto found = std::find_if(
      unmade_.begin(), unmade_.end(),
      [&](const Weight& weight) { return weight.tensor.is_same(tensor); });
  return found == unmade_.end() ? nullptr : &*found;
}

at::Tensor CodedWeights::MadeFor(const at::Tensor& tensor) const {
  const auto held = Hold();
  const Weight* weight = Find(tensor);
  if (weight == nullptr) return tensor;
  return Dequantized(weight->codes, tensor.scalar_type());
}

std::optional<bool> CodedWeights::IsTransposed(const at::Tensor& tensor) const {
  const auto held = Hold();
  const Weight* weight = Find(tensor);
  if (weight == nullptr) return std::nullopt;
  return weight->codes.transposed;
}

}  // namespace aitune::frontend
