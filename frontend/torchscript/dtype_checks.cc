#include "frontend/torchscript/dtype_checks.h"

#include <c10/core/ScalarType.h>
#include <torch/csrc/jit/ir/constants.h>

#include <cstdint>
#include <set>
#include <vector>

#include "frontend/torchscript/source_graph.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr char kChecks[] = R"(
def dtype_of(number: int, dtypes: int) -> int:
  assert number >= 0 and number < dtypes, "a number is no dtype's"
  return number

def optional_dtype_of(number: Optional[int], dtypes: int) -> Optional[int]:
  if number is not None:
    assert number >= 0 and number < dtypes, "a number is no dtype's"
  return number
)";

// Whether `value` is one of constants and of dtypes that tensors have. `seen`
// has the values that were looked at.
bool IsDtype(const Value* value, std::set<const Value*>& seen) {
  if (!seen.insert(value).second) return true;
  if (torch::jit::toIValue(value).has_value()) return true;
  const Node* const node = value->node();
  if (node->kind() == c10::prim::dtype) return true;
  if (node->kind() == c10::prim::unchecked_cast)
    return IsDtype(node->input(), seen);
  if (node->kind() == c10::prim::Uninitialized) return true;
  if (node->kind() != c10::prim::If) return false;
  for (const Block* block : node->blocks())
    if (!IsDtype(block->outputs().at(value->offset()), seen)) return false;
  return true;
}

void CheckDtypesIn(Block* block) {
  const std::vector<Node*> nodes(block->nodes().begin(), block->nodes().end());
  for (Node* node : nodes) {
    for (Block* inner : node->blocks()) CheckDtypesIn(inner);
    const c10::FunctionSchema* const schema = node->maybeSchema();
    if (schema == nullptr || schema->is_vararg()) continue;
    for (size_t index = 0; index < node->inputs().size(); ++index) {
      Value* const input = node->input(index);
      std::set<const Value*> seen;
      if (!TakesDtype(schema->arguments().at(index)) || IsDtype(input, seen))
        continue;
      const bool is_optional =
          input->type()->kind() == c10::TypeKind::OptionalType;
      const torch::jit::WithInsertPoint at(node);
      Value* const dtypes = node->owningGraph()->insertConstant(
          static_cast<int64_t>(c10::ScalarType::NumOptions));
      const char* const check = is_optional ? "optional_dtype_of" : "dtype_of";
      node->replaceInput(
          index, torch::jit::insertGraph(*node->owningGraph(),
                                         *GraphOfSource(kChecks, check),
                                         std::vector<Value*>{input, dtypes})
                     .front());
    }
  }
}

}  // namespace

bool TakesDtype(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (const auto optional = type->cast<c10::OptionalType>())
    type = optional->getElementType();
  return type->kind() == c10::TypeKind::ScalarTypeType ||
         (argument.name() == "dtype" && type->kind() == c10::TypeKind::IntType);
}

void CheckDtypes(Graph& graph) { CheckDtypesIn(graph.block()); }

}  // namespace aitune::frontend
