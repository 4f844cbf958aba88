#include "frontend/torchscript/argument_writes.h"

#include <torch/csrc/jit/ir/alias_analysis.h>

#include <algorithm>
#include <set>
#include <string>

#include "frontend/torchscript/any_node.h"
#include "frontend/torchscript/hidden_writes.h"
#include "frontend/torchscript/operator_tags.h"
#include "frontend/torchscript/written_arguments.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

bool IsTensor(const Value& value) {
  return value.type()->kind() == c10::TypeKind::TensorType;
}

// The tensor that `node` may give although its schema does not say so; null:
// none.
Value* UnsaidSource(Node* node) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr || node->inputs().empty()) return nullptr;
  // Those of a factor of 1 give a view.
  const bool shuffles = schema->name() == "aten::pixel_shuffle" ||
                        schema->name() == "aten::pixel_unshuffle";
  if (!shuffles && !MayGiveArgument(*schema)) return nullptr;
  Value* const given = node->input(schema->name() == "aten::einsum" ? 1 : 0);
  if (IsTensor(*given)) return given;
  // One tensor of the list, where it is the only one.
  Node* const list = given->node();
  return list->kind() == c10::prim::ListConstruct && list->inputs().size() == 1
             ? list->input(0)
             : nullptr;
}

void ShowUnsaidViews(Block& block) {
  for (auto it = block.nodes().begin(); it != block.nodes().end();) {
    Node* const node = *it++;
    for (Block* inner : node->blocks()) ShowUnsaidViews(*inner);
    Value* const source = UnsaidSource(node);
    if (source == nullptr || node->outputs().size() != 1 ||
        !IsTensor(*node->output()))
      continue;
    Node* const alias = node->owningGraph()->create(c10::aten::alias, {source});
    alias->setSourceRange(node->sourceRange());
    alias->insertBefore(node);
    alias->output()->setType(node->output()->type());
    node->output()->replaceAllUsesWith(alias->output());
    node->destroy();
  }
}

// Whether `value` is a tensor of the model, or a view of one, in a program that
// sets no attribute. To AliasDb it may be any argument.
bool IsOfModel(const Value* value) {
  const Node* node = value->node();
  while (node->kind() != c10::prim::GetAttr) {
    const c10::FunctionSchema* schema = node->maybeSchema();
    // An element of a list of the model may be an argument that was put
    // there.
    if (schema == nullptr || schema->returns().size() != 1 ||
        schema->arguments().empty() ||
        schema->returns()[0].alias_info() == nullptr ||
        schema->arguments()[0].alias_info() == nullptr ||
        !IsTensor(*node->input(0)))
      return false;
    node = node->input(0)->node();
  }
  const Value* object = node->output();
  while (object->node()->kind() == c10::prim::GetAttr)
    object = object->node()->input(0);
  return object == node->owningGraph()->inputs()[0];
}

bool IsNew(const Value* value, bool lists_change);

bool AreNew(const Node* node, bool lists_change) {
  return std::all_of(
      node->inputs().begin(), node->inputs().end(), [&](const Value* input) {
        return !HoldsTensors(input->type()) || IsNew(input, lists_change);
      });
}

// Whether operators of the program make all tensors of `value`, or what they
// are views of. An element of a list or dict may be one that was put there
// later, if `lists_change`.
bool IsNew(const Value* value, bool lists_change) {
  const c10::TypeKind type = value->type()->kind();
  if (lists_change &&
      (type == c10::TypeKind::ListType || type == c10::TypeKind::DictType))
    return false;
  const Node* node = value->node();
  switch (node->kind()) {
    case c10::prim::ListConstruct:
    case c10::prim::ListUnpack:
    case c10::prim::TupleConstruct:
    case c10::prim::TupleIndex:
    case c10::prim::TupleUnpack:
      return AreNew(node, lists_change);
    case c10::prim::If:
      return std::all_of(node->blocks().begin(), node->blocks().end(),
                         [&](const Block* block) {
                           return IsNew(block->outputs()[value->offset()],
                                        lists_change);
                         });
    default:
      break;
  }
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr || value->offset() >= schema->returns().size())
    return false;
  // Lists are not all said to hold views.
  const bool is_fresh =
      schema->returns()[value->offset()].alias_info() == nullptr &&
      IsTensor(*value);
  return is_fresh || AreNew(node, lists_change);
}

// Whether `value` is a view that is another tensor than the one it is of.
bool IsOtherTensor(const Value* value) {
  static const auto* const views = new std::set<std::string>{
      "aten::as_strided", "aten::detach",  "aten::diagonal",  "aten::expand",
      "aten::expand_as",  "aten::narrow",  "aten::permute",   "aten::select",
      "aten::slice",      "aten::squeeze", "aten::t",         "aten::transpose",
      "aten::unfold",     "aten::view",    "aten::unsqueeze", "aten::view_as"};
  // What is written in place is given again.
  for (;;) {
    const Node* node = value->node();
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr || schema->returns().size() != 1 ||
        schema->returns()[0].alias_info() == nullptr ||
        !schema->returns()[0].alias_info()->isWrite() ||
        WrittenArguments(*node) != std::vector<size_t>{0})
      return views->count(node->kind().toQualString()) > 0;
    value = node->input(0);
  }
}

// The tensors that `node` may give other sizes, and views whose memory it may
// make larger, which is that of others too.
std::vector<const Value*> ResizedTensors(const Node& node) {
  std::vector<const Value*> resized;
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr) return resized;
  const bool keeps_memory = HasTag(*schema, at::Tag::inplace_view);
  for (const size_t i : WrittenArguments(node)) {
    const Value* written = node.input(i);
    if (IsTensor(*written) && MayChangeSizes(*schema, i) &&
        !(keeps_memory && IsOtherTensor(written)))
      resized.push_back(written);
  }
  return resized;
}

}  // namespace

void ShowUnsaidViews(Graph& graph) { ShowUnsaidViews(*graph.block()); }

ArgumentWrites FindArgumentWrites(const std::shared_ptr<Graph>& graph) {
  const bool writes = AnyNode(
      graph->block(), [](Node* node) { return !MayBeWritten(*node).empty(); });
  if (!writes) return {};
  const bool sets_attributes = AnyNode(graph->block(), [](Node* node) {
    return node->kind() == c10::prim::SetAttr;
  });
  const bool sets_memory = AnyNode(graph->block(), [](Node* node) {
    return node->kind() == c10::aten::set_ ||
           node->kind() == c10::aten::set_data;
  });
  const bool lists_change = AnyNode(
      graph->block(), [](Node* node) { return ChangesContents(*node); });
  const torch::jit::AliasDb aliases(graph);
  const auto arguments = graph->inputs().slice(1);  // without the model
  const auto is_of_argument = [&](const Value* written) {
    if (!sets_attributes && IsOfModel(written)) return false;
    if (!sets_memory && !sets_attributes && IsNew(written, lists_change))
      return false;
    return std::any_of(
        arguments.begin(), arguments.end(), [&](Value* argument) {
          return aliases.mayContainAlias(const_cast<Value*>(written), argument);
        });
  };
  ArgumentWrites found;
  AnyNode(graph->block(), [&](Node* node) {
    const std::vector<const Value*> written = MayBeWritten(*node);
    if (std::none_of(written.begin(), written.end(), is_of_argument))
      return false;
    if (found.write == nullptr) found.write = node;
    const std::vector<const Value*> resized = ResizedTensors(*node);
    if (!std::any_of(resized.begin(), resized.end(), is_of_argument))
      return false;
    found.resize = node;
    return true;
  });
  return found;
}

}  // namespace aitune::frontend
