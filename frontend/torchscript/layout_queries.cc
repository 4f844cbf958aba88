#include "frontend/torchscript/layout_queries.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// The operators that see where in its memory a tensor begins, too.
const std::set<std::string>& OffsetQueries() {
  static const auto* const kQueries = new std::set<std::string>{
      "aten::storage_offset", "aten::sym_storage_offset", "aten::as_strided"};
  return *kQueries;
}

const std::set<std::string>& StrideQueries() {
  static const auto* const kQueries = new std::set<std::string>{
      "aten::stride", "aten::sym_stride", "aten::is_contiguous",
      "aten::is_non_overlapping_and_dense", "aten::_reshape_alias"};
  return *kQueries;
}

std::string FindIn(const torch::jit::Block& block,
                   const std::set<std::string>& queries) {
  for (const torch::jit::Node* node : block.nodes()) {
    const std::string name = node->kind().toQualString();
    if (queries.count(name) > 0) {
      const auto place = node->sourceRange().file_line_col();
      if (!place) return name;
      return absl::StrCat(name, " at ", std::get<0>(*place), ":",
                          std::get<1>(*place));
    }
    for (const torch::jit::Block* inner : node->blocks()) {
      std::string found = FindIn(*inner, queries);
      if (!found.empty()) return found;
    }
  }
  return "";
}

// The first tensor in `value` that is not contiguous, or, with `offsets`, does
// not begin where its memory does; undefined: none.
at::Tensor FindStrided(const c10::IValue& value, bool offsets) {
  at::Tensor found;
  value.visit([&](const c10::IValue& part) {
    if (!found.defined() && part.isTensor() && part.toTensor().defined() &&
        part.toTensor().layout() == at::kStrided &&
        (!part.toTensor().is_contiguous() ||
         (offsets && part.toTensor().storage_offset() != 0)))
      found = part.toTensor();
    return found.defined();
  });
  return found;
}

}  // namespace

std::string FindLayoutQuery(const Model& model) {
  std::string found;
  // What cannot be read here, tracing tells.
  CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
    auto graph = model.impl().module.get_method("forward").graph()->copy();
    torch::jit::Inline(*graph);
    found = FindIn(*graph->block(), OffsetQueries());
    if (found.empty()) found = FindIn(*graph->block(), StrideQueries());
    return absl::OkStatus();
  }).IgnoreError();
  return found;
}

absl::Status CheckContiguous(const std::string& query,
                             const ValueList& arguments) {
  if (query.empty()) return absl::OkStatus();
  const bool offsets =
      OffsetQueries().count(query.substr(0, query.find(' '))) > 0;
  for (int i = 0; i < arguments.size(); ++i) {
    const at::Tensor strided = FindStrided(arguments.values()[i], offsets);
    if (!strided.defined()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "argument ", i, " has a tensor, ", Describe(strided),
        strided.is_contiguous() ? ", that is a part of another"
                                : ", that is not contiguous",
        ", and the program asks how tensors lie in memory (", query,
        strided.is_contiguous() ? "): call .clone() on it before"
                                : "): call .contiguous() on it before"));
  }
  return absl::OkStatus();
}

}  // namespace aitune::frontend
