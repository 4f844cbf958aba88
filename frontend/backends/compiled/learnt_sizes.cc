#include "frontend/backends/compiled/learnt_sizes.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace aitune::frontend {

GraphSpecProto ToProto(const GraphSpec& spec) {
  GraphSpecProto proto;
  proto.set_min_batch(spec.min_batch);
  proto.set_max_batch(spec.max_batch);
  for (const GraphInput& input : spec.inputs) {
    GraphInputProto& stored = *proto.add_inputs();
    stored.set_dtype(static_cast<int32_t>(input.dtype));
    for (const GraphAxis& axis : input.axes) {
      GraphAxisProto& to = *stored.add_axes();
      to.set_kind(static_cast<int32_t>(axis.kind));
      to.set_size(axis.size);
      to.set_min(axis.min);
      to.set_max(axis.max);
      to.set_divisor(axis.divisor);
    }
  }
  return proto;
}

absl::StatusOr<GraphSpec> FromProto(const GraphSpecProto& proto) {
  GraphSpec spec;
  spec.min_batch = proto.min_batch();
  spec.max_batch = proto.max_batch();
  for (const GraphInputProto& stored : proto.inputs()) {
    GraphInput input;
    if (!IsDataType(stored.dtype()))
      return absl::DataLossError(
          absl::StrCat("the stored state of the backend is damaged: an input "
                       "has the unknown dtype ",
                       stored.dtype(), "; save the checkpoint again"));
    input.dtype = static_cast<DataType>(stored.dtype());
    for (const GraphAxisProto& from : stored.axes()) {
      if (from.kind() < 0 ||
          from.kind() > static_cast<int32_t>(GraphAxis::Kind::kDynamic))
        return absl::DataLossError(
            absl::StrCat("the stored state of the backend is damaged: an axis "
                         "has the unknown kind ",
                         from.kind(), "; save the checkpoint again"));
      GraphAxis axis;
      axis.kind = static_cast<GraphAxis::Kind>(from.kind());
      axis.size = from.size();
      axis.min = from.min();
      axis.max = from.max();
      axis.divisor = from.divisor();
      input.axes.push_back(axis);
    }
    spec.inputs.push_back(std::move(input));
  }
  return spec;
}

SizeHistoryProto ToProto(const SizeHistory::Groups& groups) {
  SizeHistoryProto proto;
  for (const auto& [name, calls] : groups) {
    SizeGroupProto& group = *proto.add_groups();
    group.set_name(name);
    for (const std::vector<int64_t>& sizes : calls)
      group.add_calls()->mutable_sizes()->Add(sizes.begin(), sizes.end());
  }
  return proto;
}

SizeHistory::Groups FromProto(const SizeHistoryProto& proto) {
  SizeHistory::Groups groups;
  for (const SizeGroupProto& group : proto.groups()) {
    for (const CallSizesProto& call : group.calls())
      groups[group.name()].emplace_back(call.sizes().begin(),
                                        call.sizes().end());
  }
  return groups;
}

}  // namespace aitune::frontend
