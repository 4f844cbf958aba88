#include "frontend/torchscript/nested_tensors.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/torchscript/prepare.h"
#include "frontend/torchscript/source_graph.h"

namespace aitune::frontend {
namespace {

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

}  // namespace

void PadNestedTensors(std::shared_ptr<Graph> graph) {
  std::vector<Nested> found;
  torch::jit::DepthFirstGraphNodeIterator nodes(graph);
  while (Node* node = nodes.next()) {
    if (node->kind() != FromMask() || IsDisabled(*node)) continue;
    const std::optional<c10::IValue> checks =
        torch::jit::toIValue(node->input(2));
    Nested nested{node, {}};
    if (checks.has_value() && !checks->toBool() &&
        FindReaders(node->output(), node->input(0), nested))
      found.push_back(std::move(nested));
  }
  for (const Nested& nested : found) Pad(nested);
}

}  // namespace aitune::frontend
