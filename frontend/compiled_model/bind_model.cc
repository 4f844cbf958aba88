// CompiledModel's calls with memory of the caller's.
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/memory_range.h"
#include "frontend/trace/input_nesting.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/values/gpu.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// What LibTorch's allocators give, in bytes, and kernels and libraries are
// chosen for.
constexpr uintptr_t kCpuAlignment = 64;
constexpr uintptr_t kGpuAlignment = 256;

class BoundExecutable : public BoundCall {
 public:
  BoundExecutable(std::weak_ptr<const Executable> executable, Device device,
                  FlatTensors inputs, std::vector<RegionValue> outputs)
      : executable_(std::move(executable)),
        device_(std::move(device)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {}

  absl::Status Run(void* stream) override {
    const std::shared_ptr<const Executable> executable = executable_.lock();
    if (executable == nullptr)
      return absl::FailedPreconditionError(
          "the compiled version that was bound has gone: the model was "
          "deactivated, repaired or reset; bind again");
    if (!device_.is_gpu())
      return executable->Run(inputs_.views, absl::MakeSpan(outputs_), nullptr);
    std::optional<ScopedStream> current;  // where LibTorch runs a part
    if (stream != nullptr) current.emplace(device_, stream);
    return executable->Run(inputs_.views, absl::MakeSpan(outputs_),
                           stream != nullptr ? stream : CurrentStream(device_));
  }

  bool copies_nothing() const override { return true; }

 private:
  const std::weak_ptr<const Executable> executable_;
  const Device device_;
  const FlatTensors inputs_;
  std::vector<RegionValue> outputs_;
};

// The memory of output `index` on `device`; kUnimplemented where the model
// can't write it in place.
absl::StatusOr<TensorView> MemoryOf(const RegionValue& output, size_t index,
                                    const Device& device) {
  TensorView view;
  if (const auto* there = std::get_if<TensorView>(&output);
      there != nullptr && !device.is_gpu()) {
    view = *there;
  } else {
    const c10::IValue value = ToIValue(output);
    if (!value.isTensor() || !IsPlainTensor(value.toTensor(), device) ||
        !value.toTensor().is_contiguous())
      return absl::UnimplementedError(absl::StrCat(
          "output ", index, " is ", Describe(value),
          ", not a dense row-major tensor on ", device.ToString()));
    view = ViewOf(value.toTensor());
  }
  const uintptr_t alignment = device.is_gpu() ? kGpuAlignment : kCpuAlignment;
  if (reinterpret_cast<uintptr_t>(view.data) % alignment != 0)
    return absl::UnimplementedError(absl::StrCat("the memory of output ", index,
                                                 " is not aligned to ",
                                                 alignment, " bytes"));
  return view;
}

bool Overlap(const TensorView& a, const TensorView& b) {
  const MemoryRange one = MemoryRange::Of(a), other = MemoryRange::Of(b);
  return one.begin < other.end && other.begin < one.end;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BoundCall>> CompiledModel::Bind(
    absl::Span<const RegionValue> leaves, absl::Span<const RegionValue> outputs,
    ConstantCheck check) const {
  AITUNE_ASSIGN_OR_RETURN(FlatTensors inputs,
                          inputs_.TensorsOf(leaves, device_, check));
  // One of them may be a tuple of all.
  for (int i = 0; i < plan().output_values_size(); ++i) {
    if (plan().values(plan().output_values(i)).storage() == ValueProto::OPAQUE)
      return absl::UnimplementedError(absl::StrCat(
          "LibTorch gives output ", i, ", of which only it knows the size"));
  }
  AITUNE_ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> sizes,
                          executable_->OutputSizes(inputs.views));
  if (sizes.size() != outputs.size())
    return absl::InvalidArgumentError(
        absl::StrCat("the module gives ", sizes.size(), " tensors, but ",
                     outputs.size(), " outputs were given"));
  std::vector<TensorView> written;
  for (size_t i = 0; i < outputs.size(); ++i) {
    AITUNE_ASSIGN_OR_RETURN(TensorView view, MemoryOf(outputs[i], i, device_));
    TensorView gives = view;
    gives.dtype = static_cast<DataType>(plan().outputs(i).dtype());
    gives.sizes.assign(sizes[i].begin(), sizes[i].end());
    if (gives.dtype != view.dtype || gives.sizes != view.sizes)
      return absl::InvalidArgumentError(absl::StrCat(
          "output ", i, " is ",
          frontend::Describe(c10::IValue(TensorOn(gives, device_))),
          ", but memory for ",
          frontend::Describe(c10::IValue(TensorOn(view, device_))),
          " was given"));
    for (const TensorView& input : inputs.views) {
      if (Overlap(view, input))
        return absl::InvalidArgumentError(
            absl::StrCat("the memory of output ", i,
                         " overlaps that of an input; give it its own"));
    }
    for (const TensorView& other : written) {
      if (Overlap(view, other))
        return absl::InvalidArgumentError(
            absl::StrCat("the memory of output ", i,
                         " overlaps that of another output; give it its own"));
    }
    written.push_back(std::move(view));
  }
  return std::make_unique<BoundExecutable>(
      executable_, device_, std::move(inputs),
      std::vector<RegionValue>(written.begin(), written.end()));
}

}  // namespace aitune::frontend
