#include "frontend/tracing/padding_sizes.h"

#include <ATen/core/Tensor.h>

#include <string>

#include "absl/strings/match.h"
#include "frontend/tracing/operator_traits.h"

namespace aitune::frontend {
namespace {

// "reflect", "replicate" or another mode of aten::pad; empty: it is no padding.
std::string ModeOf(const c10::FunctionSchema& schema,
                   const std::vector<c10::IValue>& stack) {
  const std::string& name = schema.name();
  if (absl::StartsWith(name, "aten::reflection_pad") &&
      !absl::StrContains(name, "backward"))
    return "reflect";
  if (absl::StartsWith(name, "aten::replication_pad") &&
      !absl::StrContains(name, "backward"))
    return "replicate";
  if (name != "aten::pad") return "";
  const std::optional<size_t> mode = FindArgument(schema, "mode");
  return mode && *mode < stack.size() && stack[*mode].isString()
             ? stack[*mode].toStringRef()
             : "";
}

}  // namespace

bool IsPadding(const c10::FunctionSchema& schema,
               const std::vector<c10::IValue>& stack) {
  const std::string mode = ModeOf(schema, stack);
  return (mode == "reflect" || mode == "replicate") && stack.size() >= 2 &&
         stack[0].isTensor() && stack[1].isIntList();
}

std::optional<std::vector<std::vector<int64_t>>> PaddingSizes(
    const c10::FunctionSchema& schema, const std::vector<c10::IValue>& stack) {
  std::vector<int64_t> sizes = stack[0].toTensor().sizes().vec();
  const std::vector<int64_t> padding = stack[1].toIntVector();
  const int64_t rank = static_cast<int64_t>(sizes.size()),
                axes = static_cast<int64_t>(padding.size()) / 2;
  if (padding.size() % 2 != 0 || axes < 1 || axes > 3 ||
      (rank != axes + 1 && rank != axes + 2))
    return std::nullopt;
  for (int64_t axis = rank - axes - 1; axis < rank; ++axis)
    if (sizes[static_cast<size_t>(axis)] == 0) return std::nullopt;
  const bool reflects = ModeOf(schema, stack) == "reflect";
  bool has_elements = false;
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t low = padding[static_cast<size_t>(2 * i)],
                  high = padding[static_cast<size_t>(2 * i + 1)];
    int64_t& size = sizes[static_cast<size_t>(rank - 1 - i)];
    if (reflects && (low >= size || high >= size)) return std::nullopt;
    size += low + high;
    if (size < 0) return std::nullopt;
    // LibTorch asks for elements along one axis alone.
    has_elements |= size > 0;
  }
  if (!has_elements) return std::nullopt;
  return std::vector<std::vector<int64_t>>{sizes};
}

}  // namespace aitune::frontend
