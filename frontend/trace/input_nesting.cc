#include "frontend/trace/input_nesting.h"

#include <ATen/core/TensorBody.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/trace/structure.h"
#include "frontend/trace/structure_internal.h"
#include "frontend/trace/value_place.h"
#include "frontend/values/torch_util.h"
#include "runtime/backend/source_model.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = Structure::Kind;

// Whether two numbers or texts are the same.
bool AreSame(const c10::IValue& a, const c10::IValue& b) {
  if (a.tagKind() != b.tagKind()) return false;
  return a.isDouble() ? SameNumber(a.toDouble(), b.toDouble()) : a == b;
}

}  // namespace

InputNesting::InputNesting(Structure structure)
    : structure_(std::move(structure)) {
  const std::function<void(const Structure&, const ValuePlace&)> add =
      [&](const Structure& part, const ValuePlace& place) {
        if (IsLeaf(part)) {
          leaves_.push_back({part, place.Text()});
          return;
        }
        for (size_t i = 0; i < part.children.size(); ++i)
          add(part.children[i], {&place, i, &part});
      };
  for (size_t i = 0; i < structure_.children.size(); ++i)
    add(structure_.children[i], {nullptr, i, &structure_});
}

absl::StatusOr<FlatTensors> InputNesting::TensorsOf(
    absl::Span<const RegionValue> leaves, const Device& device,
    ConstantCheck check) const {
  if (leaves.size() != leaves_.size())
    return absl::InvalidArgumentError(absl::StrCat(
        "the model was compiled for ", leaves_.size(),
        " tensors, numbers and strings as inputs, given are ", leaves.size()));
  FlatTensors flat;
  flat.views.reserve(leaves.size());
  std::vector<at::Tensor> copies;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto& [expected, place] = leaves_[i];
    const auto* view = std::get_if<TensorView>(&leaves[i]);
    if (view != nullptr && expected.kind == Kind::kTensor && !device.is_gpu()) {
      flat.views.push_back(*view);
      continue;
    }
    const c10::IValue value = ToIValue(leaves[i]);
    switch (expected.kind) {
      case Kind::kTensor:
        if (!value.isTensor() || !IsPlainTensor(value.toTensor(), device))
          return Mismatch(place,
                          device.is_gpu() ? absl::StrCat("a dense tensor on ",
                                                         device.ToString())
                                          : "a dense CPU tensor",
                          value);
        copies.push_back(value.toTensor().contiguous());
        flat.views.push_back(ViewOf(copies.back()));
        break;
      case Kind::kNone:
        if (!value.isNone()) return Mismatch(place, "None", value);
        break;
      default: {
        const c10::IValue& constant = ConstantOf(expected);
        if (check == ConstantCheck::kCheck && !AreSame(value, constant))
          return Mismatch(place, Describe(constant), value);
      }
    }
  }
  if (!copies.empty())
    flat.owner = std::make_shared<std::vector<at::Tensor>>(std::move(copies));
  return flat;
}

absl::StatusOr<FlatTensors> InputNesting::Flatten(const ValueList& arguments,
                                                  const Device& device,
                                                  ConstantCheck check) const {
  AITUNE_ASSIGN_OR_RETURN(std::vector<OwnedValue> leaves,
                          FlattenLeaves(structure_, arguments.values()));
  FlatTensors flat;
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        AITUNE_ASSIGN_OR_RETURN(flat, TensorsOf(Values(leaves), device, check));
        return absl::OkStatus();
      }));
  flat.owner = std::make_shared<
      std::pair<std::vector<OwnedValue>, std::shared_ptr<const void>>>(
      std::move(leaves), std::move(flat.owner));
  return flat;
}

}  // namespace aitune::frontend
