#include "frontend/tracing/outlined_groups.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>

#include "absl/functional/function_ref.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// Operators of a group below which a call of its own costs more than it saves.
constexpr int kLeastOperators = 2;

bool IsTensor(const Value* value) {
  return value->type()->kind() == c10::TypeKind::TensorType;
}

// The node of `block` in which `node` is.
Node* InBlock(Node* node, const Block* block) {
  while (node->owningBlock() != block) node = node->owningBlock()->owningNode();
  return node;
}

// The values from outside that `node`, or what is computed anew for it, reads.
void CollectRead(Node* node, OutliningRules& rules,
                 std::unordered_set<Value*>& read,
                 std::unordered_set<const Node*>& visited) {
  if (!visited.insert(node).second) return;
  for (Value* input : node->inputs()) {
    if (rules.IsComputedAnew(input->node()))
      CollectRead(input->node(), rules, read, visited);
    else
      read.insert(input);
  }
  for (Block* block : node->blocks()) {
    for (Node* inner : block->nodes()) CollectRead(inner, rules, read, visited);
    for (Value* output : block->outputs()) {
      if (rules.IsComputedAnew(output->node()))
        CollectRead(output->node(), rules, read, visited);
      else
        read.insert(output);
    }
  }
}

// The nodes between two that write tensors, in a new order.
class Scheduler {
 public:
  Scheduler(Block* block, std::vector<Node*> nodes, OutliningRules& rules)
      : block_(block), nodes_(std::move(nodes)), rules_(rules) {
    for (Node* node : nodes_) {
      waiting_.insert(node);
      if (!rules_.CanBeOutlined(node)) continue;
      std::unordered_set<const Node*> visited;
      CollectRead(node, rules_, read_[node], visited);
    }
  }

  // The order; appends groups to `all_groups`.
  std::vector<Node*> Run(std::vector<std::vector<Node*>>& all_groups) {
    std::vector<std::vector<Node*>> groups;
    std::vector<Node*> order;
    while (!waiting_.empty()) {
      const size_t before = order.size();
      for (bool any = true; any;) any = TakeOthers(order);
      std::vector<Node*> group = TakeGroup(order);
      if (!group.empty()) groups.push_back(std::move(group));
      // A cycle there can't be; the order that the block had is right.
      if (order.size() == before) return nodes_;
    }
    all_groups.insert(all_groups.end(), groups.begin(), groups.end());
    return order;
  }

 private:
  bool IsWaiting(Value* value) const {
    Node* const node = value->node();
    return node->owningBlock() == block_ && waiting_.count(node) > 0;
  }

  // Of the values that `node` and its blocks read.
  bool AllThere(Node* node) const {
    const auto there = [this](Value* value) { return !IsWaiting(value); };
    return std::all_of(node->inputs().begin(), node->inputs().end(), there) &&
           std::all_of(
               node->blocks().begin(), node->blocks().end(), [&](Block* block) {
                 return std::all_of(block->outputs().begin(),
                                    block->outputs().end(), there) &&
                        std::all_of(block->nodes().begin(),
                                    block->nodes().end(),
                                    [this](Node* n) { return AllThere(n); });
               });
  }

  // Those that LibTorch runs, in their order where one may be seen by another.
  bool TakeOthers(std::vector<Node*>& order) {
    bool any = false, passed_one = false;
    for (Node* node : nodes_) {
      if (waiting_.count(node) == 0 || rules_.CanBeOutlined(node)) continue;
      const bool is_free =
          rules_.IsComputedAnew(node) || node->kind() == c10::prim::Constant;
      if ((!is_free && passed_one) || !AllThere(node)) {
        passed_one = passed_one || !is_free;
        continue;
      }
      waiting_.erase(node);
      order.push_back(node);
      any = true;
    }
    return any;
  }

  // A group, which may stay as it is: with what is computed for it.
  std::vector<Node*> TakeGroup(std::vector<Node*>& order) {
    std::vector<Node*> group;
    for (Node* node : nodes_) {
      if (waiting_.count(node) == 0) continue;
      const bool is_member = rules_.CanBeOutlined(node);
      if (is_member) {
        const auto& read = read_.at(node);
        if (std::any_of(read.begin(), read.end(),
                        [this](Value* value) { return IsWaiting(value); }))
          continue;
        group.push_back(node);
      } else if (!rules_.IsComputedAnew(node) || !AllThere(node)) {
        continue;
      }
      waiting_.erase(node);
      order.push_back(node);
    }
    return group;
  }

  Block* const block_;
  const std::vector<Node*> nodes_;
  OutliningRules& rules_;
  std::unordered_set<Node*> waiting_;
  std::unordered_map<Node*, std::unordered_set<Value*>> read_;
};

// Whether `is` any node of `block` that reads `value`, directly or through what
// is computed anew; what the block gives is read by its return node.
bool AnyReader(const Value* value, const Block* block, OutliningRules& rules,
               absl::FunctionRef<bool(Node*)> is) {
  const auto& uses = value->uses();
  return std::any_of(uses.begin(), uses.end(), [&](const torch::jit::Use& use) {
    Node* const user = InBlock(use.user, block);
    if (!rules.IsComputedAnew(user)) return is(user);
    const auto outputs = user->outputs();
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const Value* output) {
                         return AnyReader(output, block, rules, is);
                       });
  });
}

// The operators of a group that compute.
template <typename Nodes>
int CountOperators(const Nodes& nodes) {
  int count = 0;
  for (const Node* node : nodes) {
    for (const Block* block : node->blocks())
      count += CountOperators(block->nodes());
    const bool computes = node->kind().is_aten() && !MayGiveView(node) &&
                          node->outputs().size() > 0 &&
                          IsTensor(node->outputs()[0]);
    count += computes ? 1 : 0;
  }
  return count;
}

bool MayBeView(const Node* node) {
  return MayGiveView(node) || !node->blocks().empty();
}

// Removes from a group the views that only others read: who writes them, or
// what they are of, would write a copy, and a view of them may need the strides
// that they have, where compiled code gives contiguous tensors.
void DropLastViews(std::vector<Node*>& members, const Block* block,
                   OutliningRules& rules) {
  for (size_t before = SIZE_MAX; before != members.size();) {
    before = members.size();
    const std::unordered_set<Node*> set(members.begin(), members.end());
    const auto is_last_view = [&](Node* node) {
      if (!MayBeView(node)) return false;
      const auto outputs = node->outputs();
      return std::none_of(
          outputs.begin(), outputs.end(), [&](const Value* output) {
            return AnyReader(output, block, rules, [&](Node* reader) {
              return set.count(reader) > 0;
            });
          });
    };
    members.erase(std::remove_if(members.begin(), members.end(), is_last_view),
                  members.end());
  }
}

}  // namespace

std::vector<OutlinedGroup> FormGroups(Block* block, OutliningRules& rules,
                                      bool strides_matter) {
  const std::vector<Node*> nodes(block->nodes().begin(), block->nodes().end());
  std::vector<std::vector<Node*>> groups;
  std::vector<Node*> order, segment;
  const auto end_segment = [&] {
    const std::vector<Node*> taken =
        Scheduler(block, segment, rules).Run(groups);
    order.insert(order.end(), taken.begin(), taken.end());
    segment.clear();
  };
  for (Node* node : nodes) {
    if (!MayWriteElements(node)) {
      segment.push_back(node);
      continue;
    }
    end_segment();
    order.push_back(node);
  }
  end_segment();
  for (Node* node : order) node->moveBefore(block->return_node());
  // Who writes a tensor would write what a group gave a view of, too.
  auto all = block->owningGraph()->block()->nodes();
  const bool writes = std::any_of(all.begin(), all.end(), MayWriteElements);
  std::vector<OutlinedGroup> result;
  for (std::vector<Node*>& members : groups) {
    OutlinedGroup group;
    if (strides_matter) DropLastViews(members, block, rules);
    group.nodes = members;
    const std::unordered_set<Node*> set(members.begin(), members.end());
    bool gives_view = false, gives_tensors = true;
    for (Node* node : members) {
      for (Value* output : node->outputs()) {
        if (!AnyReader(output, block, rules,
                       [&](Node* reader) { return set.count(reader) == 0; }))
          continue;
        group.outputs.push_back(output);
        gives_view = gives_view || MayBeView(node);
        gives_tensors = gives_tensors && IsTensor(output);
      }
    }
    group.operators = CountOperators(members);
    if (group.operators >= kLeastOperators && !group.outputs.empty() &&
        gives_tensors && !(writes && gives_view))
      result.push_back(std::move(group));
  }
  return result;
}

}  // namespace aitune::frontend
