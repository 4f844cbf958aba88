#include "frontend/torchscript/nested_tensors.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "frontend/torchscript/prepare.h"
#include "frontend/torchscript/source_graph.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

// Of a sequence, as many elements are kept as its mask has ones, from the
// first on, wherever these are.
constexpr char kPadding[] = R"(
def padding_of(x: Tensor, mask: Tensor) -> Tensor:
  lengths = mask.reshape([x.size(0), x.size(1)]).sum(1, True)
  place = (mask.any().long() - 1).reshape([1])
  zero = torch.zeros_like(place).index_select(0, place)
  return torch.arange(x.size(1), device=x.device) + zero >= lengths

def pad(x: Tensor, padding: Tensor, value: float) -> Tensor:
  return x.masked_fill(padding.unsqueeze(2), value)

def padding_of_ends(x: Tensor, mask: Tensor) -> Tensor:
  kept = mask.logical_not()
  padding = padding_of(x, kept)
  return padding.logical_and((padding != kept).all())
)";

const c10::Symbol& FromMask() {
  static const c10::Symbol symbol =
      c10::Symbol::fromQualString("aten::_nested_tensor_from_mask");
  return symbol;
}

const c10::Symbol& EncoderLayer() {
  static const c10::Symbol symbol =
      c10::Symbol::fromQualString("aten::_transformer_encoder_layer_fwd");
  return symbol;
}

const c10::Symbol& ToPadded() {
  static const c10::Symbol symbol =
      c10::Symbol::fromQualString("aten::to_padded_tensor");
  return symbol;
}

const c10::Symbol& IsLeftAligned() {
  static const c10::Symbol symbol = c10::Symbol::fromQualString(
      "aten::_nested_tensor_from_mask_left_aligned");
  return symbol;
}

constexpr size_t kMaskOfLayer = 18, kMaskTypeOfLayer = 19;
// The type of a mask of keys, [batch, length], of a layer.
constexpr int64_t kKeyMask = 1;

bool IsNone(const Value* value) {
  const std::optional<c10::IValue> known = torch::jit::toIValue(value);
  return known.has_value() && known->isNone();
}

// Whether `sizes` are all those of `x`, of rank 3.
bool AreSizesOf(const Value* sizes, const Value* x) {
  const Node* const made = sizes->node();
  if (made->kind() == c10::aten::size)
    return made->inputs().size() == 1 && made->input() == x;
  if (made->kind() != c10::prim::ListConstruct || made->inputs().size() != 3)
    return false;
  for (int64_t axis = 0; axis < 3; ++axis) {
    const Node* const size = made->input(axis)->node();
    if (size->kind() != c10::aten::size || size->inputs().size() != 2 ||
        size->input(0) != x)
      return false;
    const std::optional<c10::IValue> known =
        torch::jit::toIValue(size->input(1));
    if (!known.has_value() || known->toInt() != axis) return false;
  }
  return true;
}

// The nested tensor that a node makes, and what reads it and its layers.
struct Nested {
  Node* made;
  std::vector<Node*> readers;  // in any order
};

// Finds what reads `value`, which was made of the padded tensor `x`. Returns
// false if that is more than layers and paddings.
bool FindReaders(const Value* value, const Value* x, Nested& nested) {
  for (const Use& use : value->uses()) {
    Node* const reader = use.user;
    if (use.offset != 0 || IsDisabled(*reader)) return false;
    nested.readers.push_back(reader);
    if (reader->kind() == ToPadded()) {
      if (!AreSizesOf(reader->input(2), x)) return false;
    } else if (reader->kind() != EncoderLayer() ||
               !IsNone(reader->input(kMaskOfLayer)) ||
               !IsNone(reader->input(kMaskTypeOfLayer)) ||
               !FindReaders(reader->output(), x, nested)) {
      return false;
    }
  }
  return true;
}

// Inserts a call of `function` of kPadding for `node`, before it, inlined.
Value* InsertCall(const char* function, Node* node,
                  const std::vector<Value*>& arguments) {
  Node* const before = node->prev();
  const torch::jit::WithInsertPoint at(node);
  Value* const result =
      torch::jit::insertGraph(*node->owningGraph(),
                              *GraphOfSource(kPadding, function), arguments)
          .front();
  for (Node* inserted = before->next(); inserted != node;
       inserted = inserted->next())
    inserted->copyMetadata(node);
  return result;
}

void Pad(const Nested& nested) {
  Node* const made = nested.made;
  Value* const padding =
      InsertCall("padding_of", made, {made->input(0), made->input(1)});
  const auto constant = [&](const c10::IValue& value) {
    const torch::jit::WithInsertPoint at(made);
    return made->owningGraph()->insertConstant(value);
  };
  // What is padded may be NaN or infinite.
  made->output()->replaceAllUsesWith(
      InsertCall("pad", made, {made->input(0), padding, constant(0.0)}));
  Value* const key_mask = constant(kKeyMask);
  for (Node* reader : nested.readers) {
    if (reader->kind() == EncoderLayer()) {
      reader->replaceInput(kMaskOfLayer, padding);
      reader->replaceInput(kMaskTypeOfLayer, key_mask);
    } else {
      reader->output()->replaceAllUsesWith(InsertCall(
          "pad", reader, {reader->input(0), padding, reader->input(1)}));
      reader->destroy();
    }
  }
  made->destroy();
}

// Whether the node stands in the source of nn.TransformerEncoder: in its file,
// or, as torch.jit.save writes a class that has another of its name beside it,
// in a folder of that name.
bool IsOfEncoder(const Node& node) {
  const auto& source = node.sourceRange().source();
  if (source == nullptr || !source->filename().has_value()) return false;
  const std::string& file = *source->filename();
  return absl::EndsWith(file, "torch/nn/modules/transformer.py") ||
         absl::StrContains(file,
                           "torch/nn/modules/transformer/___torch_mangle_");
}

// A scripted nn.TransformerEncoder makes a nested tensor, and gives its layers
// no mask, if its mask leaves out ends of sequences alone.
struct Choice {
  Node* question;             // whether the mask does
  Node* made;                 // the nested tensor, in a branch
  Node* padded;               // the layers' result
  Value* mask;                // of keys, that the layers get in other branches
  std::vector<size_t> masks;  // results of the branch that are None for `mask`
};

std::optional<Choice> FindChoice(Node* made, const std::vector<Node*>& nodes) {
  Choice choice{nullptr, made, nullptr, nullptr, {}};
  Node* const inverted = made->input(1)->node();
  const Block* const branch = made->owningBlock();
  const Node* const branches = branch->owningNode();
  if (!IsOfEncoder(*made) || inverted->kind() != c10::aten::logical_not ||
      branches == nullptr || branches->kind() != c10::prim::If)
    return std::nullopt;
  choice.mask = inverted->input();
  const Block* const other =
      branches->blocks().at(branches->blocks().front() == branch ? 1 : 0);
  for (size_t index = 0; index < branch->outputs().size(); ++index)
    if (IsNone(branch->outputs()[index]) &&
        other->outputs()[index] == choice.mask)
      choice.masks.push_back(index);
  const Value* const x = made->input(0);
  for (Node* node : nodes) {
    Node** found = nullptr;
    if (node->kind() == IsLeftAligned() && node->input(0) == x)
      found = &choice.question;
    else if (node->kind() == ToPadded() && AreSizesOf(node->input(2), x))
      found = &choice.padded;
    else if (node->kind() != FromMask() || node->input(0) != x || node == made)
      continue;
    if (found == nullptr || *found != nullptr || !IsOfEncoder(*node) ||
        IsDisabled(*node))
      return std::nullopt;
    *found = node;
  }
  if (choice.masks.empty() || choice.question == nullptr ||
      choice.padded == nullptr)
    return std::nullopt;
  const Node* const asked = choice.question->input(1)->node();
  if (asked->kind() != c10::aten::logical_not || asked->input() != choice.mask)
    return std::nullopt;
  return choice;
}

// The branch is taken always, and pads and masks what the mask leaves out, or
// pads nothing where the mask leaves out more.
void Pad(const Choice& choice) {
  const auto pad = [&choice](Node* node, Value* value) {
    Value* const padding = InsertCall("padding_of_ends", node,
                                      {choice.made->input(0), choice.mask});
    node->output()->replaceAllUsesWith(
        InsertCall("pad", node, {node->input(0), padding, value}));
  };
  Graph& graph = *choice.made->owningGraph();
  pad(choice.padded, choice.padded->input(1));
  choice.padded->destroy();
  {
    const torch::jit::WithInsertPoint at(choice.made);
    pad(choice.made, graph.insertConstant(0.0));
  }
  for (const size_t index : choice.masks)
    choice.made->owningBlock()->return_node()->replaceInput(index, choice.mask);
  choice.made->destroy();
  const torch::jit::WithInsertPoint at(choice.question);
  choice.question->output()->replaceAllUsesWith(graph.insertConstant(true));
  choice.question->destroy();
}

}  // namespace

void PadNestedTensors(std::shared_ptr<Graph> graph) {
  std::vector<Node*> nodes;
  torch::jit::DepthFirstGraphNodeIterator each(graph);
  while (Node* node = each.next()) nodes.push_back(node);
  std::vector<Nested> found;
  std::vector<Choice> choices;
  for (Node* node : nodes) {
    if (node->kind() != FromMask() || IsDisabled(*node)) continue;
    const std::optional<c10::IValue> checks =
        torch::jit::toIValue(node->input(2));
    if (!checks.has_value() || checks->toBool()) continue;
    Nested nested{node, {}};
    if (FindReaders(node->output(), node->input(0), nested))
      found.push_back(std::move(nested));
    else if (std::optional<Choice> choice = FindChoice(node, nodes))
      choices.push_back(*std::move(choice));
  }
  for (const Nested& nested : found) Pad(nested);
  for (const Choice& choice : choices) Pad(choice);
}

}  // namespace aitune::frontend
