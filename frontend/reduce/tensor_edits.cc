#include "frontend/reduce/tensor_edits.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "frontend/values/torch_util.h"

namespace aitune::reduce {
namespace {

using torch::jit::AttributeKind;
using torch::jit::Block;
using torch::jit::Node;

void CollectConstants(Block* block, std::vector<Node*>& constants) {
  for (Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant &&
        node->hasAttribute(c10::attr::value))
      constants.push_back(node);
    for (Block* inner : node->blocks()) CollectConstants(inner, constants);
  }
}

std::vector<Node*> Constants(torch::jit::Graph& graph) {
  std::vector<Node*> constants;
  CollectConstants(graph.block(), constants);
  return constants;
}

bool IsTensorConstant(const Node& node) {
  return node.kindOf(c10::attr::value) == AttributeKind::t;
}

bool IsStatic(const Program& program, size_t input) {
  if (program.specs.empty()) return true;
  const frontend::InputSpec& spec = program.specs[input];
  return std::none_of(
      spec.axes.begin(), spec.axes.end(),
      [](const frontend::AxisSpec& axis) { return axis.dynamic(); });
}

bool CanChange(const Program& program, size_t input) {
  return program.inputs[input].isTensor() &&
         frontend::IsPlainTensor(program.inputs[input].toTensor()) &&
         IsStatic(program, input);
}

// An input's new value, and what `specs` says of it.
bool SetInput(Program& program, size_t input, const at::Tensor& tensor) {
  program.inputs[input] = tensor;
  if (program.specs.empty()) return true;
  const auto specs =
      frontend::SpecsOf(frontend::ValueList({c10::IValue(tensor)}));
  if (specs.ok()) program.specs[input] = specs->front();
  return specs.ok();
}

// `change` of each tensor, in the order of TensorCount; where it is undefined,
// the tensor stays. Nothing when all stay.
using Change = std::function<at::Tensor(const at::Tensor&, int)>;
bool ChangeTensors(Program& program, const Change& change) {
  int number = 0;
  bool changed = false;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (!program.inputs[i].isTensor()) continue;
    const int this_one = number++;
    if (!CanChange(program, i)) continue;
    const at::Tensor made = change(program.inputs[i].toTensor(), this_one);
    if (!made.defined()) continue;
    if (!SetInput(program, i, made)) return false;
    changed = true;
  }
  for (Node* node : Constants(*program.graph)) {
    if (!IsTensorConstant(*node)) continue;
    const int this_one = number++;
    if (!frontend::IsPlainTensor(node->t(c10::attr::value))) continue;
    const at::Tensor made = change(node->t(c10::attr::value), this_one);
    if (!made.defined()) continue;
    node->t_(c10::attr::value, made);
    node->output()->inferTypeFrom(made);
    changed = true;
  }
  return changed;
}

bool ChangeNumbers(torch::jit::Graph& graph, int64_t from, int64_t to) {
  bool changed = false;
  for (Node* node : Constants(graph)) {
    if (node->kindOf(c10::attr::value) == AttributeKind::i &&
        node->output()->type()->kind() == c10::TypeKind::IntType &&
        node->i(c10::attr::value) == from) {
      node->i_(c10::attr::value, to);
      changed = true;
    } else if (node->kindOf(c10::attr::value) == AttributeKind::ival &&
               node->ival(c10::attr::value).isIntList()) {
      std::vector<int64_t> list = node->ival(c10::attr::value).toIntVector();
      if (std::find(list.begin(), list.end(), from) == list.end()) continue;
      std::replace(list.begin(), list.end(), from, to);
      node->ival_(c10::attr::value, list);
      changed = true;
    }
  }
  return changed;
}

std::optional<Program> Changed(const Program& program,
                               const std::function<bool(Program&)>& change) {
  Program copy = program;
  copy.graph = program.graph->copy();
  bool changed = false;
  frontend::CatchExceptions(absl::StatusCode::kInternal, "", [&] {
    changed = change(copy);
    return absl::OkStatus();
  }).IgnoreError();  // not a program: no candidate
  if (!changed) return std::nullopt;
  return copy;
}

at::Tensor Narrowed(const at::Tensor& tensor, int64_t from, int64_t to) {
  at::Tensor narrow = tensor;
  for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
    if (tensor.size(axis) == from) narrow = narrow.narrow(axis, 0, to);
  }
  return narrow.sizes() == tensor.sizes()
             ? at::Tensor()
             : narrow.clone(at::MemoryFormat::Contiguous);
}

at::Tensor Filled(const at::Tensor& tensor, Fill fill) {
  if (tensor.numel() == 0 || (tensor == tensor.flatten()[0]).all().item<bool>())
    return {};
  switch (fill) {
    case Fill::kZeros:
      return at::zeros_like(tensor);
    case Fill::kOnes:
      return at::ones_like(tensor);
    case Fill::kRounded: {
      if (!tensor.is_floating_point()) return {};
      const at::Tensor rounded = tensor.round();
      return rounded.equal(tensor) ? at::Tensor() : rounded;
    }
  }
  return {};
}

}  // namespace

std::vector<int64_t> Extents(const Program& program) {
  std::set<int64_t, std::greater<>> extents;
  const auto add = [&](const at::Tensor& tensor) {
    if (!frontend::IsPlainTensor(tensor)) return;
    for (const int64_t size : tensor.sizes()) {
      if (size > 1) extents.insert(size);
    }
  };
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (CanChange(program, i)) add(program.inputs[i].toTensor());
  }
  for (Node* node : Constants(*program.graph)) {
    if (IsTensorConstant(*node)) add(node->t(c10::attr::value));
  }
  return {extents.begin(), extents.end()};
}

std::optional<Program> ResizeExtent(const Program& program, int64_t from,
                                    int64_t to, bool numbers) {
  return Changed(program, [&](Program& copy) {
    const bool tensors =
        ChangeTensors(copy, [&](const at::Tensor& tensor, int) {
          return Narrowed(tensor, from, to);
        });
    // Without integers to change, the program is that of `numbers` = false.
    return tensors && (!numbers || ChangeNumbers(*copy.graph, from, to));
  });
}

std::optional<Program> ResizeAxis(const Program& program, int input, int axis,
                                  int64_t to) {
  return Changed(program, [&](Program& copy) {
    if (!CanChange(copy, input)) return false;
    const at::Tensor tensor = copy.inputs[input].toTensor();
    if (tensor.size(axis) <= to) return false;
    return SetInput(
        copy, input,
        tensor.narrow(axis, 0, to).clone(at::MemoryFormat::Contiguous));
  });
}

int TensorCount(const Program& program) {
  int count = 0;
  for (const c10::IValue& input : program.inputs) count += input.isTensor();
  for (const Node* node : Constants(*program.graph))
    count += IsTensorConstant(*node);
  return count;
}

std::optional<Program> FillTensors(const Program& program,
                                   const std::vector<bool>& chosen, Fill fill) {
  return Changed(program, [&](Program& copy) {
    return ChangeTensors(copy, [&](const at::Tensor& tensor, int number) {
      return chosen[number] ? Filled(tensor, fill) : at::Tensor();
    });
  });
}

}  // namespace aitune::reduce
