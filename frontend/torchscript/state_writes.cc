#include "frontend/torchscript/state_writes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/hidden_writes.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/module_flags.h"
#include "frontend/torchscript/written_arguments.h"

namespace aitune::frontend {
namespace {

bool IsContainer(const torch::jit::Value& value) {
  const c10::TypeKind kind = value.type()->kind();
  return kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType;
}

// Whether an operator gives something of which its schema does not say where it
// comes from, such as an element of a dict.
bool GivesAnyOf(const c10::FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(),
                     [](const c10::Argument& result) {
                       return result.alias_info() != nullptr &&
                              result.alias_info()->isWildcardAfter();
                     });
}

}  // namespace

StateWrites::StateWrites(const torch::jit::Module& module)
    : self_(module._ivalue()),
      graph_(module.get_method("forward").graph()->copy()) {
  InlineCalls(*graph_);
  FoldFlags(graph_, self_);
  const auto collect = [&](auto&& collect, const Block& block) -> void {
    for (const Node* node : block.nodes()) {
      // What the program makes, as contexts of autocast, is no state.
      if (node->kind() == c10::prim::SetAttr &&
          node->input(0)->node()->kind() != c10::prim::CreateObject) {
        any_ = true;
        set_.insert(node->s(c10::attr::name));
        setters_.push_back(node);
      }
      const std::vector<size_t> written = WrittenArguments(*node);
      if (std::any_of(written.begin(), written.end(),
                      [&](size_t i) { return IsContainer(*node->input(i)); }))
        fillers_.push_back(node);
      for (const Block* inner : node->blocks()) collect(collect, *inner);
    }
  };
  collect(collect, *graph_->block());
  VisitBlock(*graph_->block());
}

void StateWrites::VisitBlock(const Block& block) {
  for (const Node* node : block.nodes()) {
    for (const Block* inner : node->blocks()) VisitBlock(*inner);
    VisitNode(*node);
  }
}

void StateWrites::VisitNode(const Node& node) {
  // Contexts of classes are calls; those of PyTorch's own write nothing.
  if (RunsUnknownProgram(node) && node.kind() != c10::prim::Enter &&
      node.kind() != c10::prim::Exit) {
    any_ = all_tensors_ = true;
    return;
  }
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr) return;
  if (WritesOnlyContainer(node)) {
    containers_ |= Follow(node.inputs()[0], Written::kContainer);
    return;
  }
  for (const size_t i : WrittenArguments(node))
    Follow(node.inputs()[i], Written::kElements);
  // The tensor has another's memory from then on.
  if (schema->name() == "aten::set_")
    FollowAll(node.inputs(), Written::kElements);
  for (const Value* written : HiddenlyWritten(node))
    Follow(written, Written::kElements);
}

// Marks what `written` may be a part of.
bool StateWrites::Follow(const Value* written, Written what) {
  auto& followed = FoundOf(what).followed;
  const auto [place, is_new] = followed.try_emplace(written, true);
  if (!is_new) return place->second;
  const bool is_own = FollowDefinition(written, what);
  followed[written] = is_own;
  return is_own;
}

StateWrites::Found& StateWrites::FoundOf(Written what) {
  return what == Written::kElements ? elements_found_ : containers_found_;
}

bool StateWrites::FollowAll(at::ArrayRef<const Value*> values, Written what) {
  bool is_own = false;
  for (const Value* value : values) is_own |= Follow(value, what);
  return is_own;
}

bool StateWrites::FollowDefinition(const Value* written, Written what) {
  const Node& node = *written->node();
  if (node.kind() == c10::prim::Param) {
    // A block of a loop or a branch gets its values from the node around it;
    // the arguments of forward are the caller's.
    const Block& block = *node.owningBlock();
    const Node* const around = block.owningNode();
    if (around == nullptr) return false;
    const bool is_own = FollowAll(around->inputs(), what);
    return FollowAll(block.outputs(), what) || is_own;
  }
  if (node.kind() == c10::prim::GetAttr) {
    MarkAttribute(node, what);
    return true;
  }
  if (node.kind() == c10::prim::Constant) {
    if (what == Written::kContainer || !node.hasAttribute(c10::attr::value) ||
        node.kindOf(c10::attr::value) != torch::jit::AttributeKind::t)
      return false;
    any_ = true;
    const at::Tensor& constant = node.t(c10::attr::value);
    if (tensors_.insert(constant.unsafeGetTensorImpl()).second)
      constants_.push_back(constant);
    return true;
  }
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema != nullptr && !node.kind().is_prim())
    return FollowOperator(node, *schema, what);
  // Containers, branches, loops: of any of the values that go in.
  bool is_own = FollowAll(node.inputs(), what);
  if (node.blocks().empty()) is_own |= FollowContents(node, what);
  for (const Block* block : node.blocks())
    is_own |= FollowAll(block->outputs(), what);
  return is_own;
}

bool StateWrites::FollowOperator(const Node& node,
                                 const c10::FunctionSchema& schema,
                                 Written what) {
  const bool hidden = MayGiveArgument(schema);
  const bool any = hidden || GivesAnyOf(schema);
  bool is_own = false;
  for (size_t i = 0; i < schema.arguments().size() && i < node.inputs().size();
       ++i) {
    if (any || schema.arguments()[i].alias_info() != nullptr)
      is_own |= Follow(node.inputs()[i], what);
  }
  is_own |= FollowContents(node, what);
  if (hidden && is_own) hides_ = schema.name();
  return is_own;
}

// What `node` takes out of a list or dict may be all that the program puts into
// any.
bool StateWrites::FollowContents(const Node& node, Written what) {
  if (std::none_of(node.inputs().begin(), node.inputs().end(),
                   [](const Value* input) { return IsContainer(*input); }))
    return false;
  std::optional<bool>& contents = FoundOf(what).contents;
  if (!contents) {
    contents = true;  // while it goes on
    bool is_own = false;
    for (const Node* filler : fillers_)
      is_own |= FollowAll(filler->inputs(), what);
    contents = is_own;
  }
  return *contents;
}

std::string StateWrites::WhyUnknown() const {
  if (!set_.empty())
    return absl::StrCat("it sets the attribute ", *set_.begin());
  if (!constants_.empty())
    return "it writes a tensor that its trace captured, which is no buffer";
  if (!hides_.empty())
    return absl::StrCat("it writes through ", hides_,
                        ", whose result may be its argument");
  if (containers_) return "it changes lists or dicts that it holds";
  if (all_tensors_)
    return "it writes what it holds in lists, dicts or objects, or calls "
           "programs that are found at run time";
  return "";
}

// The value of a chain of attributes of the module.
void StateWrites::MarkAttribute(const Node& node, Written what) {
  any_ = true;
  if (what == Written::kElements) {
    const std::optional<c10::IValue> value =
        AttributeValue(node.output(), self_);
    if (!value) {
      all_tensors_ = true;
    } else {
      MarkTensors(*value);
    }
  }
  for (const Node* setter : setters_) {
    if (setter->s(c10::attr::name) == node.s(c10::attr::name))
      Follow(setter->input(1), what);
  }
}

void StateWrites::MarkTensors(const c10::IValue& value) {
  if (value.isTensor()) {
    if (value.toTensor().defined())
      tensors_.insert(value.toTensor().unsafeGetTensorImpl());
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements())
      MarkTensors(element);
  } else if (value.isList() || value.isGenericDict() || value.isObject()) {
    // They may come to hold other tensors, which are then written.
    all_tensors_ = true;
  }
}

}  // namespace aitune::frontend
