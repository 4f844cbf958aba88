#include "frontend/torchscript/conversion.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "frontend/torchscript/autocast_contexts.h"
#include "frontend/torchscript/dtype_checks.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/module_objects.h"
#include "frontend/values/host_arguments.h"
#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

void ConvertTensor(at::Tensor tensor, c10::ScalarType type) {
  if (tensor.defined() && tensor.is_floating_point())
    tensor.set_data(tensor.to(type));
}

void ConvertConstants(torch::jit::Block* block, c10::ScalarType type) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      ConvertConstants(inner, type);
    if (node->kind() != c10::prim::Constant ||
        !node->hasAttribute(c10::attr::value))
      continue;
    if (node->kindOf(c10::attr::value) != torch::jit::AttributeKind::t)
      continue;
    const at::Tensor& value = node->t(c10::attr::value);
    // Weights only: a folded number has no axes and its dtype is part of the
    // program.
    if (!value.is_floating_point() || value.dim() == 0) continue;
    node->t_(c10::attr::value, value.to(type));
    node->output()->inferTypeFrom(node->t(c10::attr::value));
  }
}

// Whether `node` is a constant that tracing may have made of a number: without
// axes, of a dtype that a number has as a tensor.
bool MayBeNumber(const torch::jit::Node& node) {
  if (node.kind() != c10::prim::Constant ||
      !node.hasAttribute(c10::attr::value) ||
      node.kindOf(c10::attr::value) != torch::jit::AttributeKind::t)
    return false;
  const at::Tensor& value = node.t(c10::attr::value);
  if (value.dim() > 0) return false;
  const at::ScalarType type = value.scalar_type();
  return type == at::kDouble || type == at::kLong || type == at::kBool ||
         type == at::kComplexDouble;
}

// Whether an operator takes numbers of Python's in place of tensors, which
// tracing then records as constants, and its other operand is no such constant.
// Others take numbers by overloads of their own, which traces name. The list is
// that of PyTorch 2.11 (should_allow_numbers_as_tensors in
// torch/csrc/utils/python_arg_parser.cpp).
bool TakesNumber(const torch::jit::Node& node) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::add",         "aten::sub",         "aten::subtract", "aten::mul",
      "aten::div",         "aten::multiply",    "aten::divide",   "aten::copy",
      "aten::true_divide", "aten::floor_divide"};
  std::string name = node.kind().toQualString();
  if (name.back() == '_') name.pop_back();
  if (kNames->count(name) == 0) return false;
  return node.inputs().size() >= 2 && MayBeNumber(*node.input(0)->node()) !=
                                          MayBeNumber(*node.input(1)->node());
}

void MarkNumbers(torch::jit::Block* block) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) MarkNumbers(inner);
    if (!MayBeNumber(*node) ||
        !std::all_of(node->output()->uses().begin(),
                     node->output()->uses().end(), [&](const auto& use) {
                       return use.offset < 2 && TakesNumber(*use.user);
                     }))
      continue;
    // Other constants may be the same tensor.
    const at::Tensor number = node->t(c10::attr::value).clone();
    number.unsafeGetTensorImpl()->set_wrapped_number(true);
    node->t_(c10::attr::value, number);
  }
}

void MoveConstants(torch::jit::Block* block, c10::Device device) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      MoveConstants(inner, device);
    if (node->kind() != c10::prim::Constant) continue;
    if (node->output()->type()->kind() == c10::TypeKind::DeviceObjType &&
        node->hasAttribute(c10::attr::value)) {
      if (!c10::Device(node->s(c10::attr::value)).is_meta())
        node->s_(c10::attr::value, device.str());
    } else if (node->hasAttribute(c10::attr::value) &&
               node->kindOf(c10::attr::value) == torch::jit::AttributeKind::t &&
               node->t(c10::attr::value).dim() > 0) {
      node->t_(c10::attr::value, node->t(c10::attr::value).to(device));
      node->output()->inferTypeFrom(node->t(c10::attr::value));
    }
  }
}

bool IsDevice(const c10::Argument& argument) {
  const auto optional = argument.type()->cast<c10::OptionalType>();
  return argument.name() == "device" && optional != nullptr &&
         optional->getElementType()->kind() == c10::TypeKind::DeviceObjType;
}

// A scripted program makes tensors without naming a device, as torch.arange(n)
// does, where a traced one has the device that it was traced on.
void MoveMadeTensors(torch::jit::Graph& graph, torch::jit::Block* block,
                     c10::Device device) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      MoveMadeTensors(graph, inner, device);
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr ||
        schema->arguments().size() != node->inputs().size())
      continue;
    std::optional<size_t> position;
    bool has_tensor = false;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      has_tensor |= node->input(i)->type()->isSubtypeOf(c10::TensorType::get());
      if (IsDevice(schema->arguments()[i]) && node->input(i)->mustBeNone())
        position = i;
    }
    // Beside a tensor, as in zeros_like, no device is that of the tensor.
    if (has_tensor || !position) continue;
    const torch::jit::WithInsertPoint before(node);
    node->replaceInput(*position, graph.insertConstant(device));
  }
}

void KeepOnHost(torch::jit::Graph& graph, torch::jit::Block* block) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) KeepOnHost(graph, inner);
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr) continue;
    const std::string& overload = schema->overload_name();
    const std::optional<size_t> position = HostArgument(
        overload.empty() ? schema->name() : schema->name() + "." + overload);
    if (!position || *position >= node->inputs().size()) continue;
    const torch::jit::WithInsertPoint before(node);
    node->replaceInput(
        *position,
        graph.insert(c10::aten::to, {node->input(*position),
                                     c10::Device(c10::kCPU), c10::kLong}));
  }
}

// Whether a value is a number that tracing made a tensor.
bool IsTracedNumber(const torch::jit::Value* value) {
  return value->node()->kind() == c10::prim::NumToTensor;
}

// Numbers that tracing made tensors stay in the host's memory. Operators take
// them as they are, but not what has axes; those get them by these.
void MoveNumbersWithAxes(torch::jit::Graph& graph, torch::jit::Node* node,
                         c10::Device device) {
  const auto move = [&](torch::jit::Node* user, size_t position) {
    const torch::jit::WithInsertPoint before(user);
    user->replaceInput(
        position, graph.insert(c10::aten::to, {user->input(position), device}));
  };
  switch (node->kind()) {
    case c10::aten::reshape:
    case c10::aten::view:
    case c10::aten::unsqueeze:
    case c10::aten::expand:
      if (IsTracedNumber(node->input(0))) move(node, 0);
      return;
    case c10::aten::stack: {
      torch::jit::Node* const list = node->input(0)->node();
      if (list->kind() == c10::prim::ListConstruct &&
          std::all_of(list->inputs().begin(), list->inputs().end(),
                      IsTracedNumber)) {
        for (size_t i = 0; i < list->inputs().size(); ++i) move(list, i);
      }
      return;
    }
    default:
      return;
  }
}

// Sizes that are asked for as a tensor are in the host's memory wherever the
// tensor is. A program that was recorded on a CPU concatenates them with
// constants, which move.
void MoveSizes(torch::jit::Graph& graph, torch::jit::Block* block,
               c10::Device device) {
  static const c10::Symbol kSizes =
      c10::Symbol::fromQualString("aten::_shape_as_tensor");
  static const c10::Symbol kRepeat =
      c10::Symbol::fromQualString("aten::repeat_interleave");
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      MoveSizes(graph, inner, device);
    MoveNumbersWithAxes(graph, node, device);
    if (node->kind() == kRepeat && node->inputs().size() > 1 &&
        node->input(1)->type()->isSubtypeOf(c10::TensorType::get())) {
      const torch::jit::WithInsertPoint before(node);
      node->replaceInput(
          1, graph.insert(c10::aten::to, {node->input(1), device, c10::kLong}));
    }
    if (node->kind() != kSizes) continue;
    const torch::jit::WithInsertPoint after(node->next());
    torch::jit::Value* const sizes = node->output();
    torch::jit::Value* const moved =
        graph.insert(c10::aten::to, {sizes, device, c10::kLong});
    sizes->replaceAllUsesAfterNodeWith(moved->node(), moved);
  }
}

// A floating-point dtype that is narrower than `type`.
bool IsNarrower(int64_t dtype, c10::ScalarType type) {
  if (dtype < 0 || dtype >= static_cast<int64_t>(c10::ScalarType::NumOptions))
    return false;
  const auto named = static_cast<c10::ScalarType>(dtype);
  return c10::isFloatingType(named) &&
         c10::elementSize(named) < c10::elementSize(type);
}

void WidenCasts(torch::jit::Block* block, c10::ScalarType type) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) WidenCasts(inner, type);
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr) continue;
    for (size_t i = 0; i < schema->arguments().size(); ++i) {
      if (i >= node->inputs().size() || !TakesDtype(schema->arguments()[i]))
        continue;
      const std::optional<c10::IValue> value =
          torch::jit::toIValue(node->input(i));
      if (!value || !value->isInt() || !IsNarrower(value->toInt(), type))
        continue;
      const torch::jit::WithInsertPoint before(node);
      node->replaceInput(
          i, node->owningGraph()->insertConstant(static_cast<int64_t>(type)));
    }
  }
}

}  // namespace

void ConvertWeights(torch::jit::Module& module, c10::ScalarType type) {
  const c10::NoGradGuard no_grad;
  VisitAttributes(*module._ivalue(),
                  [&](const std::string&, const c10::IValue& value) {
                    if (value.isTensor()) ConvertTensor(value.toTensor(), type);
                  });
  ConvertConstants(module.get_method("forward").graph()->block(), type);
}

void WidenCasts(torch::jit::Module& module, c10::ScalarType type) {
  const std::shared_ptr<torch::jit::Graph> graph =
      module.get_method("forward").graph();
  InlineCalls(*graph);
  RemoveContexts(*graph);
  WidenCasts(graph->block(), type);
}

void MarkNumbers(torch::jit::Module& module) {
  VisitModules(*module._ivalue(), [&](c10::ivalue::Object& inner) {
    for (torch::jit::Function* const method : inner.type()->methods())
      MarkNumbers(torch::jit::toGraphFunction(*method).graph()->block());
  });
}

void MoveTo(torch::jit::Module& module, c10::Device device) {
  const c10::NoGradGuard no_grad;
  // torch::jit::Module::to leaves what is no parameter or buffer, such as lists
  // of tensors, where it is.
  VisitAttributes(*module._ivalue(),
                  [&](const std::string&, const c10::IValue& value) {
                    for (at::Tensor tensor : TensorLeaves(value)) {
                      if (tensor.device() != device)
                        tensor.set_data(tensor.to(device));
                    }
                  });
  // Functions are called, too, and belong to other modules as well.
  if (!device.is_cpu()) InlineCalls(*module.get_method("forward").graph());
  VisitModules(*module._ivalue(), [&](c10::ivalue::Object& inner) {
    for (torch::jit::Function* const method : inner.type()->methods())
      MoveTo(*torch::jit::toGraphFunction(*method).graph(), device);
  });
}

void MoveTo(torch::jit::Graph& graph, c10::Device device) {
  MoveConstants(graph.block(), device);
  if (device.is_cpu()) return;
  MoveSizes(graph, graph.block(), device);
  MoveMadeTensors(graph, graph.block(), device);
  KeepOnHost(graph, graph.block());
}

}  // namespace aitune::frontend
