#include "frontend/tracing/module_state.h"

#include <ATen/core/List.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/trace/print_trace.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

bool SameValue(const c10::IValue& a, const c10::IValue& b) {
  if (a.isTensor() && b.isTensor())
    return SameContent(a.toTensor(), b.toTensor());
  if (a.isList() && b.isList()) {
    return std::equal(a.toListRef().begin(), a.toListRef().end(),
                      b.toListRef().begin(), b.toListRef().end(), SameValue);
  }
  return a.is(b) || (a.tagKind() == b.tagKind() && !a.isObject() && a == b);
}

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// The objects and the name of an attribute, as in "self.encoder.calls"; empty
// if the object is not the module or a part of it.
std::string PathOf(const Value* object, const std::string& name) {
  const Node& node = *object->node();
  if (node.kind() == c10::prim::Param)
    return absl::StrCat(object->unique(), ".", name);
  if (node.kind() != c10::prim::GetAttr) return "";
  const std::string path = PathOf(node.input(), node.s(c10::attr::name));
  return path.empty() ? "" : absl::StrCat(path, ".", name);
}

// Finds reads of one attribute.
class Reads {
 public:
  Reads(const std::string& name, const std::set<std::string>& changed)
      : name_(name), changed_(changed) {}

  // Whether the block may compute something from the attribute's old value.
  // `set` are the paths that were set before; those that the block sets are
  // added.
  bool Any(Block& block, std::set<std::string>& set) {
    for (Node* node : block.nodes()) {
      const bool reads = node->kind() == c10::prim::GetAttr;
      if ((reads || node->kind() == c10::prim::SetAttr) &&
          node->s(c10::attr::name) == name_) {
        const std::string path = PathOf(node->input(0), name_);
        if (!reads && !path.empty()) set.insert(path);
        if (reads && set.count(path) == 0 && !IsIdle(*node->output()))
          return true;
      }
      std::vector<std::set<std::string>> after;
      for (Block* inner : node->blocks()) {
        after.push_back(set);
        if (Any(*inner, after.back())) return true;
      }
      // What both branches set is set; a loop may run its block never.
      if (node->kind() != c10::prim::If) continue;
      for (const std::string& path : after[0]) {
        if (after[1].count(path) > 0) set.insert(path);
      }
    }
    return false;
  }

 private:
  // Whether nothing that is computed depends on the value.
  bool IsIdle(const Value& value) {
    return std::all_of(
        value.uses().begin(), value.uses().end(), [&](const auto& use) {
          Node& node = *use.user;
          if (IsMessage(node)) return true;
          if (node.kind() == c10::prim::If) return IsIdle(node);
          if (node.kind() == c10::prim::Return) {
            const Node* branch = node.owningBlock()->owningNode();
            return branch != nullptr && branch->kind() == c10::prim::If &&
                   IsIdle(*branch->outputs()[use.offset]);
          }
          return node.blocks().empty() && IsPure(node) &&
                 std::all_of(node.outputs().begin(), node.outputs().end(),
                             [&](const Value* made) { return IsIdle(*made); });
        });
  }

  // Whether a branch only gives messages, sets attributes in question, and
  // decides about such branches.
  bool IsIdle(Node& branch) {
    for (const Value* output : branch.outputs()) {
      if (!IsIdle(*output)) return false;
    }
    for (Block* block : branch.blocks()) {
      for (Node* node : block->nodes()) {
        const c10::Symbol kind = node->kind();
        const bool idle =
            kind == c10::prim::If ? IsIdle(*node)
            : kind == c10::prim::SetAttr
                ? changed_.count(node->s(c10::attr::name)) > 0
                : IsMessage(*node) || (node->blocks().empty() && IsPure(*node));
        if (!idle) return false;
      }
    }
    return true;
  }

  static bool IsMessage(const Node& node) {
    return node.kind() == c10::prim::Print || node.kind() == c10::aten::warn;
  }

  static bool IsPure(const Node& node) {
    if (node.kind() == c10::prim::Return || node.kind() == c10::prim::SetAttr ||
        node.hasSideEffects())
      return false;
    const c10::FunctionSchema* schema = node.maybeSchema();
    return schema == nullptr || !schema->is_mutable();
  }

  const std::string& name_;
  const std::set<std::string>& changed_;
};

}  // namespace

std::set<std::string> ChangedAttributes(const ModuleState& before,
                                        const ModuleState& after) {
  std::set<std::string> changed;
  for (const auto& [key, value] : after) {
    const auto known = before.find(key);
    const auto& [object, name] = key;
    if (!SameValue(
            known != before.end() ? known->second : object->getAttr(name),
            value))
      changed.insert(name);
  }
  return changed;
}

bool MayReadBefore(torch::jit::Graph& graph, const std::string& name,
                   const std::set<std::string>& changed) {
  std::set<std::string> set;
  return Reads(name, changed).Any(*graph.block(), set);
}

bool ComputeTheSame(const Trace& a, const Trace& b) {
  return PrintTrace(a) == PrintTrace(b) &&
         std::equal(a.constants.begin(), a.constants.end(), b.constants.begin(),
                    b.constants.end(),
                    [](const ConstantTensor& x, const ConstantTensor& y) {
                      return x.view.data == y.view.data ||
                             std::memcmp(x.view.data, y.view.data,
                                         ElementCount(x.view.sizes) *
                                             SizeInBytes(x.view.dtype)) == 0;
                    });
}

}  // namespace aitune::frontend
