#include "frontend/check/assert_guard.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/missing_kernel.h"
#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

bool IsIndexed(const std::string& name) {
  static const auto* const names =
      new std::set<std::string>{"aten::embedding",
                                "aten::gather",
                                "aten::index",
                                "aten::index_add",
                                "aten::index_add_",
                                "aten::index_copy",
                                "aten::index_copy_",
                                "aten::index_fill",
                                "aten::index_fill_",
                                "aten::index_put",
                                "aten::index_put_",
                                "aten::index_reduce",
                                "aten::index_reduce_",
                                "aten::index_select",
                                "aten::nll_loss",
                                "aten::nll_loss_nd",
                                "aten::one_hot",
                                "aten::put",
                                "aten::put_",
                                "aten::scatter",
                                "aten::scatter_",
                                "aten::scatter_add",
                                "aten::scatter_add_",
                                "aten::scatter_reduce",
                                "aten::scatter_reduce_",
                                "aten::take",
                                "aten::take_along_dim"};
  return names->count(name) > 0;
}

// Operators whose kernels on a GPU assert what elements are (PyTorch 2.11:
// CUDA_KERNEL_ASSERT and _assert_async), but for indices, or read memory by
// pivots.
bool AssertsElements(const std::string& name) {
  static const auto* const names = new std::set<std::string>{
      "aten::_assert_async",     "aten::bernoulli",
      "aten::bernoulli_",        "aten::binary_cross_entropy",
      "aten::binomial",          "aten::ctc_loss",
      "aten::linalg_ldl_solve",  "aten::linalg_lu_solve",
      "aten::lu_solve",          "aten::lu_unpack",
      "aten::masked_scatter",    "aten::masked_scatter_",
      "aten::max_unpool2d",      "aten::max_unpool3d",
      "aten::multi_margin_loss", "aten::multilabel_margin_loss",
      "aten::multinomial",       "aten::nanquantile",
      "aten::poisson",           "aten::quantile",
      "aten::repeat_interleave", "aten::segment_reduce"};
  return names->count(name) > 0;
}

// Whether the node is a division by a tensor, which raises if both sides are
// integers and an element is 0.
bool DividesByTensor(const torch::jit::Node& node) {
  static const auto* const names = new std::set<std::string>{
      "aten::div",       "aten::div_",      "aten::floor_divide",
      "aten::fmod",      "aten::fmod_",     "aten::floor_divide_",
      "aten::remainder", "aten::remainder_"};
  if (names->count(node.kind().toQualString()) == 0) return false;
  const torch::jit::Value* const divisor = node.input(1);
  return divisor->type()->isSubtypeOf(*c10::TensorType::get()) &&
         divisor->node()->kind() != c10::prim::Constant &&
         divisor->node()->kind() != c10::prim::GetAttr;
}

// x.long() and the like.
bool MakesIntegers(const torch::jit::Node& node) {
  if (node.kind() != c10::aten::to) return false;
  return std::any_of(
      node.inputs().begin(), node.inputs().end(),
      [](const torch::jit::Value* input) {
        const std::optional<c10::IValue> value = torch::jit::toIValue(input);
        return value && value->isInt() &&
               (value->toInt() == static_cast<int64_t>(at::kLong) ||
                value->toInt() == static_cast<int64_t>(at::kInt));
      });
}

// Whether the node may give integers that are no indices of what they were made
// of: casts, counts, places between sorted numbers. Those of sorting, of the
// greatest and of what is not zero are.
bool MakesAnyIntegers(const torch::jit::Node& node) {
  static const auto* const names = new std::set<std::string>{
      "aten::sum", "aten::cumsum", "aten::count_nonzero", "aten::searchsorted",
      "aten::bucketize"};
  return MakesIntegers(node) || names->count(node.kind().toQualString()) > 0;
}

using Visited = std::set<const torch::jit::Value*>;

// Whether `value` depends on the elements of one of the program's inputs, or on
// a branch or loop.
bool DependsOnInput(const torch::jit::Value* value, Visited& visited) {
  if (!visited.insert(value).second) return false;
  const torch::jit::Node* const node = value->node();
  if (node->kind() == c10::prim::Param)
    return value->type()->kind() != c10::TypeKind::ClassType;
  if (node->kind() == c10::aten::size || node->kind() == c10::prim::GetAttr)
    return false;
  return !node->blocks().empty() ||
         std::any_of(node->inputs().begin(), node->inputs().end(),
                     [&](const torch::jit::Value* input) {
                       return DependsOnInput(input, visited);
                     });
}

// Whether an index is computed by MakesAnyIntegers from an input. What a branch
// or loop gives counts as such.
bool IsMadeOfNumbers(const torch::jit::Value* index, Visited& visited) {
  if (!visited.insert(index).second) return false;
  const torch::jit::Node* const node = index->node();
  if (MakesAnyIntegers(*node)) {
    Visited inputs;
    return DependsOnInput(index, inputs);
  }
  if (node->kind() == c10::prim::Param)
    return node->owningBlock()->owningNode() != nullptr;
  return !node->blocks().empty() ||
         std::any_of(node->inputs().begin(), node->inputs().end(),
                     [&](const torch::jit::Value* input) {
                       return IsMadeOfNumbers(input, visited);
                     });
}

// The index operands of an operator that reads or writes by them.
std::vector<const torch::jit::Value*> IndicesOf(const torch::jit::Node& node) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  if (schema == nullptr) return {};
  const bool is_class =
      node.kind() == c10::Symbol::fromQualString("aten::one_hot");
  std::vector<const torch::jit::Value*> indices;
  for (size_t i = 0; i < node.inputs().size() && i < schema->arguments().size();
       ++i) {
    const std::string& name = schema->arguments()[i].name();
    if (name == "index" || name == "indices" || name == "target" ||
        (is_class && i == 0))
      indices.push_back(node.input(i));
  }
  return indices;
}

// Whether `index` is an input of the program, or its elements in another shape
// or integer dtype.
bool IsInputItself(const torch::jit::Value* index) {
  static const auto* const kinds = new std::set<c10::Symbol>{
      c10::aten::to,      c10::aten::view,      c10::aten::reshape,
      c10::aten::flatten, c10::aten::unsqueeze, c10::aten::squeeze,
      c10::aten::slice,   c10::aten::select,    c10::aten::contiguous};
  while (kinds->count(index->node()->kind()) > 0)
    index = index->node()->input(0);
  return index->node()->kind() == c10::prim::Param &&
         index->node()->owningBlock()->owningNode() == nullptr;
}

// The rows of a table that is a weight of the model; nothing of another.
std::optional<int64_t> RowsOfWeight(const torch::jit::Value* table,
                                    const torch::jit::Module& model) {
  std::vector<std::string> path;
  const torch::jit::Node* node = table->node();
  for (; node->kind() == c10::prim::GetAttr; node = node->input(0)->node())
    path.insert(path.begin(), node->s(c10::attr::name));
  if (path.empty() || node->kind() != c10::prim::Param) return std::nullopt;
  c10::IValue value = model._ivalue();
  for (const std::string& name : path) {
    if (!value.isObject()) return std::nullopt;
    value = value.toObjectRef().getAttr(name);
  }
  if (!value.isTensor() || value.toTensor().dim() == 0) return std::nullopt;
  return value.toTensor().size(0);
}

std::vector<at::Tensor> IntegersOf(const ValueList& arguments) {
  std::vector<at::Tensor> integers;
  for (const at::Tensor& tensor : TensorLeaves(arguments)) {
    if (tensor.defined() &&
        at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false))
      integers.push_back(tensor);
  }
  return integers;
}

// Whether all elements are from 0 to less than `rows`.
bool AreWithin(const std::vector<at::Tensor>& integers, int64_t rows) {
  return std::all_of(
      integers.begin(), integers.end(), [&](const at::Tensor& tensor) {
        if (tensor.numel() == 0) return true;
        const auto [least, most] = at::aminmax(tensor.to(at::kLong));
        return least.item<int64_t>() >= 0 && most.item<int64_t>() < rows;
      });
}

}  // namespace

AssertGuard::AssertGuard(const Model& model) : model_(model), state_(model) {
  const torch::jit::Module& module = model.impl().bare_module;
  auto graph = module.get_method("forward").graph()->copy();
  InlineCalls(*graph);
  torch::jit::DepthFirstGraphNodeIterator nodes(graph);
  while (const torch::jit::Node* node = nodes.next()) {
    const std::string name = node->kind().toQualString();
    depends_on_numbers_ = depends_on_numbers_ || AssertsElements(name);
    depends_on_integers_ = depends_on_integers_ ||
                           name == "aten::embedding_bag" ||
                           DividesByTensor(*node);
    if (!IsIndexed(name)) continue;
    for (const torch::jit::Value* index : IndicesOf(*node)) {
      Visited made, inputs;
      depends_on_numbers_ = depends_on_numbers_ || IsMadeOfNumbers(index, made);
      if (!DependsOnInput(index, inputs)) continue;
      const std::optional<int64_t> rows =
          node->kind() == c10::aten::embedding && IsInputItself(index)
              ? RowsOfWeight(node->input(0), module)
              : std::nullopt;
      if (rows)
        rows_ = std::min(rows_.value_or(*rows), *rows);
      else
        depends_on_integers_ = true;
    }
  }
}

absl::Status AssertGuard::Try(const ValueList& arguments) {
  const std::vector<at::Tensor> integers = IntegersOf(arguments);
  const bool may_fail = depends_on_numbers_ ||
                        (depends_on_integers_ && !integers.empty()) ||
                        (rows_ && !AreWithin(integers, *rows_));
  if (!may_fail) return absl::OkStatus();
  const ScopedModelState restore(state_);
  const absl::Status status = model_.RunEager(arguments).status();
  return IsMissingKernel(status.message()) ? absl::OkStatus() : status;
}

}  // namespace aitune::frontend
