#include "runtime/strategy/axis_detection.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "runtime/status/status_macros.h"
#include "runtime/tensor/data_type.h"

namespace aitune {
namespace {

absl::StatusOr<const TensorView*> TensorAt(const Sample& sample, size_t input) {
  const auto* view = std::get_if<TensorView>(&sample[input].value);
  if (view == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("input ", input, " is no tensor"));
  return view;
}

// The size of one axis and the batch size, in each sample.
using Observations = std::vector<std::pair<int64_t, int64_t>>;

GraphAxis Classify(const Observations& observations) {
  const auto [first_size, first_batch] = observations.front();
  GraphAxis axis;
  bool fixed = true, batch = true;
  axis.min = axis.max = first_size;
  for (const auto& [size, count] : observations) {
    fixed = fixed && size == first_size;
    batch = batch && size * first_batch == first_size * count;
    axis.min = std::min(axis.min, size);
    axis.max = std::max(axis.max, size);
  }
  if (fixed) {
    axis.kind = GraphAxis::Kind::kFixed;
    axis.size = first_size;
  } else if (batch) {
    axis.kind = GraphAxis::Kind::kBatch;
    const int64_t divisor = std::gcd(first_size, first_batch);
    axis.size = first_size / divisor;
    axis.divisor = first_batch / divisor;
  } else {
    axis.kind = GraphAxis::Kind::kDynamic;
  }
  return axis;
}

// `from` with axis `axis` repeated or cut to `size`.
std::vector<char> RepeatAxis(const std::vector<char>& from, int64_t outer,
                             int64_t old_size, int64_t size, int64_t inner) {
  std::vector<char> to(outer * size * inner);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < size; ++i) {
      std::memcpy(to.data() + (o * size + i) * inner,
                  from.data() + (o * old_size + i % old_size) * inner, inner);
    }
  }
  return to;
}

absl::StatusOr<OwnedValue> RepeatTensor(const TensorView& view,
                                        const GraphInput& spec, size_t input,
                                        int64_t batch) {
  if (view.sizes.size() != spec.axes.size())
    return absl::InvalidArgumentError(
        absl::StrCat("input ", input, " of the sample has ", view.sizes.size(),
                     " axes instead of ", spec.axes.size()));
  const int64_t bytes = BytesOf(view);
  const char* data = static_cast<const char*>(view.data);
  std::vector<char> contents(data, data + bytes);
  std::vector<int64_t> sizes = view.sizes;
  for (size_t a = 0; a < sizes.size(); ++a) {
    const GraphAxis& axis = spec.axes[a];
    if (axis.kind != GraphAxis::Kind::kBatch) continue;
    const int64_t scaled = axis.size * batch;
    if (scaled % axis.divisor != 0 || sizes[a] == 0)
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", a, " of input ", input,
                       " has no whole size at batch ", batch));
    const int64_t size = scaled / axis.divisor;
    const auto outer = std::accumulate(sizes.begin(), sizes.begin() + a,
                                       int64_t{1}, std::multiplies<int64_t>());
    const auto inner =
        std::accumulate(sizes.begin() + a + 1, sizes.end(),
                        SizeInBytes(view.dtype), std::multiplies<int64_t>());
    contents = RepeatAxis(contents, outer, sizes[a], size, inner);
    sizes[a] = size;
  }
  // operator new aligns for every dtype.
  auto memory = std::make_shared<std::vector<char>>(std::move(contents));
  return OwnedValue{
      RegionValue(TensorView{memory->data(), view.dtype, std::move(sizes)}),
      memory};
}

}  // namespace

absl::StatusOr<GraphSpec> DetectAxes(absl::Span<const BatchedSample> samples) {
  if (samples.empty())
    return absl::InvalidArgumentError(
        "axes can't be detected without a sample: record at least one");
  GraphSpec spec;
  spec.min_batch = spec.max_batch = samples[0].batch;
  for (const BatchedSample& sample : samples) {
    if (sample.batch < 1)
      return absl::InvalidArgumentError(
          absl::StrCat("a sample's batch size is ", sample.batch,
                       ", it must be at least 1"));
    if (sample.inputs.size() != samples[0].inputs.size())
      return absl::InvalidArgumentError(
          absl::StrCat("one sample has ", samples[0].inputs.size(),
                       " tensors, another ", sample.inputs.size(),
                       ": None in place of some; record samples of one kind, "
                       "calls of the other get versions of their own"));
    spec.min_batch = std::min(spec.min_batch, sample.batch);
    spec.max_batch = std::max(spec.max_batch, sample.batch);
  }
  for (size_t i = 0; i < samples[0].inputs.size(); ++i) {
    AITUNE_ASSIGN_OR_RETURN(const TensorView* const first,
                            TensorAt(samples[0].inputs, i));
    std::vector<Observations> axes(first->sizes.size());
    for (const BatchedSample& sample : samples) {
      AITUNE_ASSIGN_OR_RETURN(const TensorView* const view,
                              TensorAt(sample.inputs, i));
      if (view->dtype != first->dtype ||
          view->sizes.size() != first->sizes.size())
        return absl::InvalidArgumentError(absl::StrCat(
            "input ", i, " is ", std::string(Name(first->dtype)), " of ",
            first->sizes.size(), " axes in one sample and ",
            std::string(Name(view->dtype)), " of ", view->sizes.size(),
            " in another. Tune for them one after the other."));
      for (size_t a = 0; a < axes.size(); ++a)
        axes[a].emplace_back(view->sizes[a], sample.batch);
    }
    GraphInput input;
    input.dtype = first->dtype;
    for (const Observations& observations : axes)
      input.axes.push_back(Classify(observations));
    spec.inputs.push_back(std::move(input));
  }
  return spec;
}

absl::StatusOr<Sample> RepeatToBatch(const Sample& sample,
                                     const GraphSpec& spec, int64_t batch) {
  const auto is_tensor = [](const OwnedValue& value) {
    return std::holds_alternative<TensorView>(value.value);
  };
  const auto count = static_cast<size_t>(
      std::count_if(sample.begin(), sample.end(), is_tensor));
  if (count != spec.inputs.size())
    return absl::InvalidArgumentError(absl::StrCat(
        "the sample has ", count, " tensors instead of ", spec.inputs.size()));
  Sample result;
  size_t tensor = 0;
  for (const OwnedValue& value : sample) {
    if (!is_tensor(value)) {
      result.push_back(value);
      continue;
    }
    AITUNE_ASSIGN_OR_RETURN(
        OwnedValue repeated,
        RepeatTensor(std::get<TensorView>(value.value), spec.inputs[tensor],
                     result.size(), batch));
    result.push_back(std::move(repeated));
    ++tensor;
  }
  return result;
}

}  // namespace aitune
