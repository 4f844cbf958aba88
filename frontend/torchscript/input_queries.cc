#include "frontend/torchscript/input_queries.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/passes/constant_propagation.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/argument_writes.h"
#include "frontend/torchscript/carried_writes.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/module_flags.h"
#include "frontend/torchscript/shown_copies.h"
#include "frontend/torchscript/written_arguments.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// The operators that see where in its memory a tensor begins, too.
const std::set<std::string>& OffsetQueries() {
  static const auto* const kQueries = new std::set<std::string>{
      "aten::storage_offset",  "aten::sym_storage_offset",
      "aten::as_strided",      "aten::as_strided_",
      "aten::as_strided_copy", "aten::as_strided_scatter",
      "aten::resize_",         "aten::resize_as_"};
  return *kQueries;
}

const std::set<std::string>& StrideQueries() {
  static const auto* const kQueries = new std::set<std::string>{
      "aten::stride", "aten::sym_stride", "aten::is_contiguous",
      "aten::is_non_overlapping_and_dense", "aten::_reshape_alias"};
  return *kQueries;
}

const std::set<std::string>& GradientQueries() {
  static const auto* const kQueries =
      new std::set<std::string>{"prim::requires_grad", "aten::requires_grad",
                                "prim::is_leaf", "aten::is_leaf"};
  return *kQueries;
}

// `is` of tensors; that of None is another question.
bool ComparesTensors(const torch::jit::Node& node) {
  const std::string name = node.kind().toQualString();
  if (name != "aten::__is__" && name != "aten::__isnot__") return false;
  for (const torch::jit::Value* input : node.inputs()) {
    c10::TypePtr type = input->type();
    if (const auto optional = type->cast<c10::OptionalType>())
      type = optional->getElementType();
    if (!type->isSubtypeOf(*c10::TensorType::get())) return false;
  }
  return true;
}

std::string CallText(const torch::jit::Node& node) {
  const std::string name = node.kind().toQualString();
  const auto place = node.sourceRange().file_line_col();
  if (!place) return name;
  return absl::StrCat(name, " at ", std::get<0>(*place), ":",
                      std::get<1>(*place));
}

std::string FindIn(
    const torch::jit::Block& block,
    const std::function<bool(const torch::jit::Node&)>& is_query) {
  for (const torch::jit::Node* node : block.nodes()) {
    if (is_query(*node)) return CallText(*node);
    for (const torch::jit::Block* inner : node->blocks()) {
      std::string found = FindIn(*inner, is_query);
      if (!found.empty()) return found;
    }
  }
  return "";
}

std::string FindIn(const torch::jit::Block& block,
                   const std::set<std::string>& queries) {
  return FindIn(block, [&](const torch::jit::Node& node) {
    return queries.count(node.kind().toQualString()) > 0;
  });
}

bool HoldsContainer(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::ListType ||
         type->kind() == c10::TypeKind::DictType ||
         std::any_of(type->containedTypes().begin(),
                     type->containedTypes().end(), HoldsContainer);
}

bool MayHoldTensors(const torch::jit::Value* value) {
  return HoldsTensors(value->type());
}

// Whether an operator makes it as a new list or dict, which holds no others.
bool IsNewContainer(const torch::jit::Value* value) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::copy",  "aten::list",  "aten::dict", "aten::slice",
      "aten::add",   "aten::mul",   "aten::keys", "aten::values",
      "aten::items", "aten::sorted"};
  const std::vector<c10::TypePtr> parts = value->type()->containedTypes().vec();
  return kNames->count(value->node()->kind().toQualString()) > 0 &&
         std::none_of(parts.begin(), parts.end(), HoldsContainer);
}

// Whether it may be, or hold, a list or dict that is older.
bool MayHoldOldContainer(const torch::jit::Value* value) {
  return HoldsContainer(value->type()) && !IsNewContainer(value);
}

// Adds the arguments that `value` may be made of by way of values that
// `follows` holds for. `visited` is what was looked at.
void AddSources(const torch::jit::Value* value,
                bool (*follows)(const torch::jit::Value*),
                std::set<const torch::jit::Value*>& visited,
                std::set<int>& arguments) {
  if (!follows(value) || !visited.insert(value).second) return;
  const torch::jit::Node* node = value->node();
  if (node->kind() == c10::prim::Param) {
    const torch::jit::Node* const owner = node->owningBlock()->owningNode();
    if (owner == nullptr) {
      arguments.insert(static_cast<int>(value->offset()) - 1);  // after self
      return;
    }
    node = owner;
  }
  for (const torch::jit::Value* input : node->inputs())
    AddSources(input, follows, visited, arguments);
  for (const torch::jit::Block* block : node->blocks()) {
    for (const torch::jit::Value* output : block->outputs())
      AddSources(output, follows, visited, arguments);
  }
}

// Adds the arguments whose tensors' strides those of `value` may depend on:
// operators on elements keep the layout of what they are given.
void AddArguments(const torch::jit::Value* value, std::set<int>& arguments) {
  std::set<const torch::jit::Value*> visited;
  AddSources(value, MayHoldTensors, visited, arguments);
}

// Adds the query, for the arguments that none before it sees as well.
void AddNewQuery(LayoutQuery query, std::vector<LayoutQuery>& queries) {
  for (const LayoutQuery& known : queries) {
    if (query.sees_offset && !known.sees_offset) continue;
    for (const int argument : known.arguments) query.arguments.erase(argument);
  }
  if (!query.arguments.empty()) queries.push_back(std::move(query));
}

// The calls in `block` that ask for the layout of a tensor. With
// `contents_change`, each may be of any argument.
void AddLayoutQueries(const torch::jit::Block& block, bool contents_change,
                      std::vector<LayoutQuery>& queries) {
  for (const torch::jit::Node* node : block.nodes()) {
    const bool sees_offset =
        OffsetQueries().count(node->kind().toQualString()) > 0;
    if (sees_offset || StrideQueries().count(node->kind().toQualString()) > 0) {
      LayoutQuery query{CallText(*node), sees_offset, {}};
      if (contents_change) {
        const int count =
            static_cast<int>(node->owningGraph()->inputs().size()) - 1;
        for (int i = 0; i < count; ++i) query.arguments.insert(i);
      } else {
        AddArguments(node->input(0), query.arguments);
      }
      AddNewQuery(std::move(query), queries);
    }
    for (const torch::jit::Block* inner : node->blocks())
      AddLayoutQueries(*inner, contents_change, queries);
  }
}

// Adds the arguments that what the block writes to may be made of.
void AddWrittenArguments(const torch::jit::Block& block,
                         std::set<int>& arguments) {
  for (const torch::jit::Node* node : block.nodes()) {
    for (const torch::jit::Value* written : MayBeWritten(*node))
      AddArguments(written, arguments);
    for (const torch::jit::Block* inner : node->blocks())
      AddWrittenArguments(*inner, arguments);
  }
}

// The arguments that a program which writes to one may write to. With
// `contents_change`, each may be.
std::set<int> FindWrittenArguments(const torch::jit::Graph& graph,
                                   bool contents_change) {
  std::set<int> written;
  if (!contents_change) AddWrittenArguments(*graph.block(), written);
  written.erase(-1);  // the model
  if (!written.empty()) return written;
  const int count = static_cast<int>(graph.inputs().size()) - 1;
  for (int i = 0; i < count; ++i) written.insert(i);
  return written;
}

// Adds the calls that give a view of a tensor or a copy, by its strides, where
// the program shows which of the two it is.
void AddShownCopies(const std::shared_ptr<torch::jit::Graph>& graph,
                    std::vector<LayoutQuery>& queries) {
  // To AliasDb an argument may be any other.
  std::set<int> written;
  AddWrittenArguments(*graph->block(), written);
  if (written.empty()) return;
  for (const torch::jit::Node* node : FindShownCopies(graph)) {
    LayoutQuery query{CallText(*node), /*sees_offset=*/false, {}};
    AddArguments(node->input(0), query.arguments);
    if (std::any_of(query.arguments.begin(), query.arguments.end(),
                    [&](int argument) { return written.count(argument) > 0; }))
      AddNewQuery(std::move(query), queries);
  }
}

// The first operator that may change a list or dict that an argument is or
// holds. AliasDb takes each that holds a tensor of an argument for one.
std::string FindContainerWrite(const torch::jit::Graph& graph) {
  return FindIn(*graph.block(), [](const torch::jit::Node& node) {
    const std::vector<size_t> written = WrittenArguments(node);
    if (std::none_of(written.begin(), written.end(), [&](size_t i) {
          const c10::TypeKind kind = node.inputs()[i]->type()->kind();
          return kind == c10::TypeKind::ListType ||
                 kind == c10::TypeKind::DictType;
        }))
      return false;
    // What is stored in a list of the program's is looked for there.
    std::set<const torch::jit::Value*> visited;
    std::set<int> arguments;
    for (const torch::jit::Value* input : node.inputs())
      AddSources(input, MayHoldOldContainer, visited, arguments);
    arguments.erase(-1);  // the model
    return !arguments.empty();
  });
}

// Whether a value of the type is or may hold a dict with tensors as keys.
bool HoldsTensorKeys(const c10::TypePtr& type) {
  const auto dict = type->cast<c10::DictType>();
  if (dict != nullptr && HoldsTensors(dict->getKeyType())) return true;
  const auto parts = type->containedTypes();
  return std::any_of(parts.begin(), parts.end(), HoldsTensorKeys);
}

// Which argument has a dict with tensors as keys, and why that matters; empty:
// none. LibTorch finds such a key by the tensor itself, not by its elements.
std::string FindTensorKeys(const Model& model) {
  const c10::FunctionSchema& schema = model.impl().ForwardSchema();
  for (size_t i = 1; i < schema.arguments().size(); ++i) {
    if (HoldsTensorKeys(schema.arguments()[i].type()))
      return absl::StrCat(
          "the argument ", schema.arguments()[i].name(),
          " has a dict whose keys are tensors, of which copies, "
          "as compiled code is given, are other keys");
  }
  return "";
}

// The first tensor in `value` for which `is_seen` holds; undefined: none.
at::Tensor FindTensor(const c10::IValue& value,
                      const std::function<bool(const at::Tensor&)>& is_seen) {
  at::Tensor found;
  value.visit([&](const c10::IValue& part) {
    if (!found.defined() && part.isTensor() && part.toTensor().defined() &&
        is_seen(part.toTensor()))
      found = part.toTensor();
    return found.defined();
  });
  return found;
}

absl::Status Seen(int argument, const at::Tensor& tensor, const char* how,
                  const char* asks, const std::string& query,
                  const char* advice) {
  return absl::InvalidArgumentError(absl::StrCat(
      "argument ", argument, " has a tensor, ", Describe(tensor), ", that ",
      how, ", and the program asks ", asks, " (", query, "): ", advice));
}

}  // namespace

InputQueries FindInputQueries(const Model& model) {
  InputQueries found;
  // What cannot be read here, tracing tells.
  CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
    const torch::jit::Module& module = model.impl().bare_module;
    auto graph = module.get_method("forward").graph()->copy();
    InlineCallsAndForks(*graph);
    FoldFlags(graph, module._ivalue());
    MarkCarriedWrites(graph);
    // torch.nn.functional asks for `inplace` everywhere, which is mostly False.
    torch::jit::ConstantPropagationImmutableTypes(graph);
    const torch::jit::Block& block = *graph->block();
    const bool contents_change = !FindIn(block, ChangesContents).empty();
    AddLayoutQueries(block, contents_change, found.layout);
    found.gradient = FindIn(block, GradientQueries());
    found.identity = FindIn(block, ComparesTensors);
    ShowUnsaidViews(*graph);
    const ArgumentWrites writes = FindArgumentWrites(graph);
    if (writes.write != nullptr) {
      found.write = CallText(*writes.write);
      found.written_arguments = FindWrittenArguments(*graph, contents_change);
    }
    found.own_arguments = FindTensorKeys(model);
    if (const std::string query =
            FindIn(block, std::set<std::string>{"aten::is_inference"});
        !query.empty())
      found.own_arguments = absl::StrCat(
          query, " depends on the mode in which the caller made an argument");
    if (writes.resize != nullptr)
      found.own_arguments = absl::StrCat(
          CallText(*writes.resize), " may change the sizes of an argument");
    AddShownCopies(graph, found.layout);
    found.container_write = FindContainerWrite(*graph);
    return absl::OkStatus();
  }).IgnoreError();
  return found;
}

absl::Status CheckQueries(const InputQueries& queries,
                          const ValueList& arguments) {
  constexpr const char* kLayout = "how tensors lie in memory";
  std::set<const void*> seen;
  for (int i = 0; i < arguments.size(); ++i) {
    const c10::IValue& value = arguments.values()[i];
    const auto find = [&](const std::string& query,
                          const std::function<bool(const at::Tensor&)>& sees) {
      return query.empty() ? at::Tensor() : FindTensor(value, sees);
    };
    for (const LayoutQuery& query : queries.layout) {
      if (query.arguments.count(i) == 0) continue;
      if (const at::Tensor strided =
              FindTensor(value,
                         [](const at::Tensor& tensor) {
                           return tensor.layout() == at::kStrided &&
                                  !tensor.is_contiguous();
                         });
          strided.defined())
        return Seen(i, strided, "is not contiguous", kLayout, query.call,
                    "call .contiguous() on it before");
      if (!query.sees_offset) continue;
      if (const at::Tensor part =
              FindTensor(value,
                         [](const at::Tensor& tensor) {
                           return tensor.layout() == at::kStrided &&
                                  tensor.storage_offset() != 0;
                         });
          part.defined())
        return Seen(i, part, "is a part of another", kLayout, query.call,
                    "call .clone() on it before");
    }
    if (const at::Tensor twice =
            find(queries.identity,
                 [&](const at::Tensor& tensor) {
                   return !seen.insert(tensor.unsafeGetTensorImpl()).second;
                 });
        twice.defined())
      return Seen(i, twice, "is given twice", "whether two are one",
                  queries.identity, "call .clone() on it before");
    if (const at::Tensor with_gradient = find(
            queries.gradient,
            [](const at::Tensor& tensor) { return tensor.requires_grad(); });
        with_gradient.defined())
      return Seen(i, with_gradient, "requires a gradient", "which tensors do",
                  queries.gradient, "call .detach() on it before");
  }
  return absl::OkStatus();
}

namespace {

// Refuses the first tensor that is not contiguous and that `concerns`, given
// with the argument that is or holds it.
absl::Status CheckCopied(
    const InputQueries& queries, const ValueList& arguments, const char* how,
    const std::function<bool(int, const at::Tensor&)>& concerns) {
  for (int i = 0; i < arguments.size(); ++i) {
    const at::Tensor strided =
        FindTensor(arguments.values()[i], [&](const at::Tensor& tensor) {
          return tensor.layout() == at::kStrided && !tensor.is_contiguous() &&
                 concerns(i, tensor);
        });
    if (strided.defined())
      return absl::InvalidArgumentError(absl::StrCat(
          "argument ", i, " has a tensor, ", Describe(strided), ", that ", how,
          ", and the program writes to an argument (", queries.write,
          "): call .contiguous() on it before"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckWrites(const InputQueries& queries,
                         const ValueList& arguments) {
  if (queries.write.empty()) return absl::OkStatus();
  AITUNE_RETURN_IF_ERROR(CheckCopied(
      queries, arguments, "is not contiguous", [&](int i, const at::Tensor&) {
        return queries.written_arguments.count(i) > 0;
      }));
  return CheckSharedWrites(queries, arguments);
}

absl::Status CheckSharedWrites(const InputQueries& queries,
                               const ValueList& arguments) {
  if (queries.write.empty()) return absl::OkStatus();
  std::map<const void*, int> tensors;
  for (const c10::IValue& value : arguments.values())
    FindTensor(value, [&](const at::Tensor& tensor) {
      if (tensor.layout() == at::kStrided)
        ++tensors[tensor.storage().unsafeGetStorageImpl()];
      return false;
    });
  return CheckCopied(
      queries, arguments, "is not contiguous and shares memory with another",
      [&](int, const at::Tensor& tensor) {
        return tensors[tensor.storage().unsafeGetStorageImpl()] > 1;
      });
}

}  // namespace aitune::frontend
