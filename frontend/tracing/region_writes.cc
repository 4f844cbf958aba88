#include "frontend/tracing/region_writes.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "frontend/torchscript/hidden_writes.h"
#include "frontend/torchscript/written_arguments.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/region_sizes.h"

namespace aitune::frontend {
namespace {

using torch::jit::AliasDb;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// Whether `holds` for a node in the blocks of `node`, at any depth.
bool AnyInside(Node* node, const std::function<bool(Node*)>& holds) {
  return std::any_of(
      node->blocks().begin(), node->blocks().end(), [&](Block* block) {
        return std::any_of(block->nodes().begin(), block->nodes().end(),
                           [&](Node* inner) {
                             return holds(inner) || AnyInside(inner, holds);
                           });
      });
}

// Whether a value of `type` may hold, however deep, one of this kind of types.
bool MayHoldPart(const c10::Type& type, c10::TypeKind kind) {
  const std::set<c10::TypeKind> kinds = {kind, c10::TypeKind::ClassType,
                                         c10::TypeKind::InterfaceType};
  const auto parts = type.containedTypes();
  return std::any_of(parts.begin(), parts.end(), [&](const c10::TypePtr& part) {
    return MayHold(*part, kinds);
  });
}

}  // namespace

bool WritesState(Node* node, AliasDb& aliases) {
  return AnyInside(node, [&](Node* inner) {
    return (inner->kind() == c10::prim::GetAttr ||
            inner->kind() == c10::prim::Constant) &&
           aliases.writesToAlias(node, {inner->output()});
  });
}

bool UpdatesStatistics(Node* node) {
  return AnyInside(node, [](Node* inner) {
    const c10::FunctionSchema* schema = inner->maybeSchema();
    if (schema == nullptr) return false;
    const HiddenWrites hidden = HiddenWritesOf(*schema);
    const std::optional<c10::IValue> flag =
        hidden.flag ? torch::jit::toIValue(inner->input(*hidden.flag))
                    : std::nullopt;
    return !hidden.arguments.empty() &&
           !(flag && flag->isBool() && !flag->toBool());
  });
}

bool ChangesSizes(Node* node, absl::Span<Value* const> from_outside,
                  AliasDb& aliases) {
  return AnyInside(node, [&](Node* inner) {
    const c10::FunctionSchema* schema = inner->maybeSchema();
    if (schema == nullptr) return false;
    for (size_t i = 0; i < inner->inputs().size(); ++i) {
      if (MayChangeSizes(*schema, i) &&
          std::any_of(from_outside.begin(), from_outside.end(),
                      [&](Value* value) {
                        return aliases.mayContainAlias(inner->input(i), value);
                      }))
        return true;
    }
    return false;
  });
}

bool WritesElements(Node* node, Value* container, AliasDb& aliases) {
  return AnyInside(node, [&](Node* inner) {
    if (RunsUnknownProgram(*inner)) return true;
    const std::vector<size_t> written = WrittenArguments(*inner);
    return std::any_of(written.begin(), written.end(), [&](size_t i) {
      Value* const target = inner->input(i);
      const c10::TypeKind kind = target->type()->kind();
      // Two lists of tensors may hold the same tensors, but not each other.
      if ((kind == c10::TypeKind::ListType ||
           kind == c10::TypeKind::DictType) &&
          !MayHoldPart(*container->type(), kind))
        return false;
      // What the container is known by is written as a whole.
      return target != container && aliases.mayContainAlias(target, container);
    });
  });
}

}  // namespace aitune::frontend
