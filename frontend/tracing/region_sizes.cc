#include "frontend/tracing/region_sizes.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "frontend/torchscript/written_arguments.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/probed_value.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// Whether the block adds to, or removes from, lists or dicts.
bool ChangesContainers(Block* block) {
  for (Node* node : block->nodes()) {
    for (const size_t i : WrittenArguments(*node)) {
      const c10::TypeKind kind = node->input(i)->type()->kind();
      if (kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType)
        return true;
    }
    if (std::any_of(node->blocks().begin(), node->blocks().end(),
                    ChangesContainers))
      return true;
  }
  return false;
}

// Whether the node makes integers, which may become sizes, of elements or of
// numbers that may have been elements.
bool MakesIntegersOfData(Node* node) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr ? node->kind() != c10::prim::tolist
                        : IsMetadataQuery(*schema))
    return false;
  const std::set<c10::TypeKind> integers = {c10::TypeKind::IntType,
                                            c10::TypeKind::NumberType};
  const std::set<c10::TypeKind> data = {
      c10::TypeKind::TensorType, c10::TypeKind::FloatType,
      c10::TypeKind::BoolType, c10::TypeKind::NumberType};
  return std::any_of(node->outputs().begin(), node->outputs().end(),
                     [&](Value* v) { return MayHold(*v->type(), integers); }) &&
         std::any_of(node->inputs().begin(), node->inputs().end(),
                     [&](Value* v) { return MayHold(*v->type(), data); });
}

// Whether control flow may decide about what has sizes, by its results or by
// lists that it changes.
bool MayDecideSizes(Node* node) {
  if (node->blocks().empty()) return false;
  const std::set<c10::TypeKind> sized = {
      c10::TypeKind::TensorType, c10::TypeKind::IntType,
      c10::TypeKind::NumberType, c10::TypeKind::ListType,
      c10::TypeKind::DictType};
  return std::any_of(node->outputs().begin(), node->outputs().end(),
                     [&](Value* v) { return MayHold(*v->type(), sized); }) ||
         std::any_of(node->blocks().begin(), node->blocks().end(),
                     ChangesContainers);
}

}  // namespace

bool MayHold(const c10::Type& type, const std::set<c10::TypeKind>& kinds) {
  return type.kind() == c10::TypeKind::AnyType ||
         kinds.count(type.kind()) > 0 ||
         std::any_of(
             type.containedTypes().begin(), type.containedTypes().end(),
             [&](const c10::TypePtr& part) { return MayHold(*part, kinds); });
}

bool MayPickSizes(Block* block) {
  auto tensor = std::make_shared<ProbedValue>();
  tensor->kind = ProbedValue::Kind::kTensor;
  tensor->storage = std::make_shared<TracedStorage>();
  tensor->storage->tainted = true;
  for (Node* node : block->nodes()) {
    if (MakesIntegersOfData(node) || MayDecideSizes(node)) return true;
    if (const c10::FunctionSchema* schema = node->maybeSchema()) {
      if (schema->name() == "aten::index" ||
          HasDataDependentSizes(
              *schema, std::vector<ProbedRef>(node->inputs().size(), tensor)))
        return true;
    }
    for (Block* inner : node->blocks()) {
      if (MayPickSizes(inner)) return true;
    }
  }
  return false;
}

}  // namespace aitune::frontend
