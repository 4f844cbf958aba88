#include "frontend/trace/output_buffers.h"

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>

#include <utility>
#include <variant>

#include "frontend/trace/leaf_value.h"
#include "frontend/trace/structure.h"
#include "frontend/trace/structure_internal.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

OutputBuffers AllocateOutputs(absl::Span<const DataType> dtypes,
                              absl::Span<const std::vector<int64_t>> sizes,
                              const std::vector<bool>& is_opaque,
                              const Device& device,
                              absl::Span<const std::shared_ptr<char>> memory) {
  OutputBuffers buffers;
  buffers.device = device;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    if (is_opaque[i]) {
      buffers.values.emplace_back(OpaqueValue());
      buffers.owners.emplace_back();
    } else if (i < memory.size() && memory[i] != nullptr) {
      buffers.values.emplace_back(
          TensorView{memory[i].get(), dtypes[i], sizes[i]});
      buffers.owners.push_back(memory[i]);
    } else {
      auto tensor = std::make_shared<const at::Tensor>(
          at::empty(sizes[i], at::TensorOptions()
                                  .dtype(ToScalarType(dtypes[i]))
                                  .device(DeviceOf(device))));
      buffers.values.emplace_back(ViewOf(*tensor));
      buffers.owners.push_back(std::move(tensor));
    }
  }
  return buffers;
}

absl::StatusOr<std::vector<OwnedValue>> OutputLeaves(
    const Structure& structure, const OutputBuffers& outputs) {
  std::vector<OwnedValue> leaves;
  leaves.reserve(outputs.values.size());
  size_t next = 0;
  bool fits = true;
  ForEachLeaf(structure, [&](const Structure& leaf) {
    if (leaf.kind != Structure::Kind::kTensor) {
      leaves.push_back({OpaqueValue(leaf.constant), nullptr});
      return;
    }
    if (next >= outputs.values.size()) {
      fits = false;
      return;
    }
    const RegionValue& value = outputs.values[next];
    const std::shared_ptr<const void>& owner = outputs.owners[next++];
    const auto* view = std::get_if<TensorView>(&value);
    if (view == nullptr) {
      fits = fits && std::get<OpaqueValue>(value) != nullptr;
      const c10::IValue given = ToIValue(value);
      const bool has_elements_in_order =
          given.isTensor() && given.toTensor().is_contiguous();
      leaves.push_back(has_elements_in_order ? ToOwned(given)
                                             : OwnedValue{value, nullptr});
    } else if (!outputs.device.is_gpu()) {
      leaves.push_back({value, owner});
    } else {
      leaves.push_back({OpaqueValue(std::make_shared<c10::IValue>(
                            ToIValue(value, owner, outputs.device))),
                        nullptr});
    }
  });
  if (fits && next == outputs.values.size()) return leaves;
  return absl::InternalError("the outputs do not fit the model's result");
}

absl::StatusOr<c10::IValue> UnflattenOutputs(const Structure& structure,
                                             const OutputBuffers& outputs) {
  std::vector<c10::IValue> values;
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "outputs", [&] {
        AITUNE_ASSIGN_OR_RETURN(const std::vector<OwnedValue> leaves,
                                OutputLeaves(structure, outputs));
        values.reserve(leaves.size());
        for (const OwnedValue& leaf : leaves)
          values.push_back(ToIValue(leaf.value, leaf.owner));
        return absl::OkStatus();
      }));
  return UnflattenLeaves(structure, std::move(values));
}

}  // namespace aitune::frontend
