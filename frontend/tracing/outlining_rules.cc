#include "frontend/tracing/outlining_rules.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/torchscript/any_node.h"
#include "frontend/torchscript/hidden_writes.h"
#include "frontend/torchscript/prepare.h"
#include "frontend/torchscript/written_arguments.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/region_sizes.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;
using TypeKind = c10::TypeKind;

bool IsTensor(const Value* value) {
  return value->type()->kind() == TypeKind::TensorType;
}

bool IsOptionalTensor(const Value* value) {
  const auto optional = value->type()->cast<c10::OptionalType>();
  return optional != nullptr &&
         optional->getElementType()->kind() == TypeKind::TensorType;
}

bool IsTensorList(const Value* value) {
  const auto list = value->type()->cast<c10::ListType>();
  return list != nullptr &&
         list->getElementType()->kind() == TypeKind::TensorType;
}

// As the indices of aten::index are.
bool IsOptionalTensorList(const Value* value) {
  const auto list = value->type()->cast<c10::ListType>();
  if (list == nullptr) return false;
  const auto optional = list->getElementType()->cast<c10::OptionalType>();
  return optional != nullptr &&
         optional->getElementType()->kind() == TypeKind::TensorType;
}

bool Writes(const Node* node) {
  const c10::FunctionSchema* const schema = node->maybeSchema();
  return schema != nullptr && WritesTensors(*schema);
}

// Asks a tensor for a number that its elements do not decide.
bool AsksForSizes(const Node* node) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::size",  "aten::dim",    "aten::numel",   "aten::is_floating_point",
      "prim::dtype", "prim::device", "prim::is_cuda", "aten::is_complex"};
  const std::string name = node->kind().toQualString();
  return kNames->count(name) > 0 ||
         (name == "aten::len" && IsTensor(node->input(0)));
}

// Whether a tensor may have other sizes after it, as after unsqueeze_: sizes
// that are asked for again are not those of before.
bool ChangesSizes(const Node& node) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  if (schema == nullptr) return false;
  for (size_t i = 0; i < schema->arguments().size(); ++i) {
    if (MayChangeSizes(*schema, i)) return true;
  }
  return false;
}

bool IsNumberLike(const Value* value) {
  switch (value->type()->kind()) {
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::BoolType:
    case TypeKind::StringType:
    case TypeKind::NoneType:
    case TypeKind::DeviceObjType:
      return true;
    case TypeKind::ListType: {
      const auto element =
          value->type()->cast<c10::ListType>()->getElementType();
      return element->kind() == TypeKind::IntType ||
             element->kind() == TypeKind::FloatType ||
             element->kind() == TypeKind::BoolType;
    }
    default:
      return false;
  }
}

// Whether all that reads this list only reads its elements.
bool IsOnlyRead(const Value* list) {
  const auto& uses = list->uses();
  return std::all_of(uses.begin(), uses.end(), [](const torch::jit::Use& use) {
    return use.user->kind().is_aten() && use.user->maybeSchema() != nullptr &&
           !Writes(use.user) && use.user->kind() != c10::aten::list &&
           !std::any_of(use.user->outputs().begin(), use.user->outputs().end(),
                        [](const Value* v) { return IsTensorList(v); });
  });
}

// Whether a dtype holds numbers that are indices: bytes and bools are masks.
bool IsIndexType(c10::ScalarType dtype) {
  return c10::isIntegralType(dtype, /*includeBool=*/false) &&
         dtype != at::kByte;
}

// What HoldsIndices said of values.
using KnownIndices = std::unordered_map<const Value*, bool>;

// Whether the program says that a tensor holds indices.
bool HoldsIndices(const Value* value, KnownIndices& known);

bool FindHoldsIndices(const Value* value, KnownIndices& known) {
  static const auto* const kKeeping = new std::set<std::string>{
      "aten::clone",   "aten::contiguous", "aten::expand",    "aten::expand_as",
      "aten::flatten", "aten::flip",       "aten::permute",   "aten::repeat",
      "aten::reshape", "aten::select",     "aten::slice",     "aten::squeeze",
      "aten::t",       "aten::transpose",  "aten::unsqueeze", "aten::view"};
  static const auto* const kCombining = new std::set<std::string>{
      "aten::add",       "aten::floor_divide", "aten::mul",
      "aten::remainder", "aten::sub",          "prim::NumToTensor"};
  static const auto* const kIndices = new std::set<std::string>{
      "aten::argmax", "aten::argmin", "aten::argsort"};
  const Node* const node = value->node();
  const std::string name = node->kind().toQualString();
  if (node->kind() == c10::prim::Constant) {
    const auto constant = torch::jit::toIValue(value);
    return constant && constant->isTensor() &&
           IsIndexType(constant->toTensor().scalar_type());
  }
  if (kIndices->count(name) > 0) return true;
  // A view as another dtype has an overload of its own.
  if (kKeeping->count(name) > 0)
    return node->maybeSchema() != nullptr &&
           node->maybeSchema()->overload_name() != "dtype" &&
           HoldsIndices(node->input(0), known);
  const auto is_integer = [&known](const Value* input) {
    return input->type()->kind() == TypeKind::IntType ||
           (IsTensor(input) && HoldsIndices(input, known));
  };
  const auto inputs = node->inputs();
  if (kCombining->count(name) > 0)
    return std::all_of(inputs.begin(), inputs.end(), is_integer);
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (schema == nullptr || (name != "aten::arange" && name != "aten::to"))
    return false;
  const std::optional<int> place = schema->argumentIndexWithName("dtype");
  if (!place) return false;
  const auto dtype = torch::jit::toIValue(node->input(*place));
  if (dtype && dtype->isInt())
    return IsIndexType(static_cast<c10::ScalarType>(dtype->toInt()));
  return name == "aten::arange" && dtype && dtype->isNone() &&
         std::all_of(inputs.begin(), inputs.begin() + *place, is_integer);
}

bool HoldsIndices(const Value* value, KnownIndices& known) {
  const auto found = known.find(value);
  if (found != known.end()) return found->second;
  const bool holds = FindHoldsIndices(value, known);
  known[value] = holds;
  return holds;
}

// Whether an aten::index has indices only, no masks.
bool IndexesByIndices(const Node* node) {
  KnownIndices known;
  const Node* const list = node->input(1)->node();
  const auto inputs = list->inputs();
  return list->kind() == c10::prim::ListConstruct &&
         std::all_of(inputs.begin(), inputs.end(), [&](const Value* index) {
           return index->type()->kind() == TypeKind::NoneType ||
                  HoldsIndices(index, known);
         });
}

// Whether results' sizes depend on elements, or the results are drawn.
bool DependsOnMore(Node* node, const c10::FunctionSchema& schema) {
  if (schema.name() == "aten::index") return !IndexesByIndices(node);
  auto tensor = std::make_shared<ProbedValue>();
  tensor->kind = ProbedValue::Kind::kTensor;
  tensor->storage = std::make_shared<TracedStorage>();
  tensor->storage->tainted = true;
  const std::vector<ProbedRef> arguments(node->inputs().size(), tensor);
  return IsRandom(*node) || HasDataDependentSizes(schema, arguments);
}

// Makes a tensor without axes of numbers and such tensors, as traces do with
// sizes.
bool MakesNumberTensor(const Node* node) {
  static const auto* const kNames = new std::set<std::string>{
      "prim::NumToTensor", "aten::add",          "aten::ceil", "aten::div",
      "aten::floor",       "aten::floor_divide", "aten::mul",  "aten::neg",
      "aten::remainder",   "aten::rsub",         "aten::sub"};
  return node->outputs().size() == 1 && IsTensor(node->output()) &&
         kNames->count(node->kind().toQualString()) > 0;
}

// Gives the number of a tensor without axes.
bool ReadsNumberTensor(const Node* node) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::Bool",        "aten::Float",         "aten::Int",
      "aten::IntImplicit", "aten::FloatImplicit", "aten::ScalarImplicit"};
  return kNames->count(node->kind().toQualString()) > 0 &&
         node->inputs().size() == 1 && IsTensor(node->input(0));
}

}  // namespace

bool IsNumberOfTrace(const at::Tensor& tensor) {
  return tensor.defined() && tensor.dim() == 0 && tensor.is_cpu() &&
         (tensor.unsafeGetTensorImpl()->is_wrapped_number() ||
          IsIndexType(tensor.scalar_type()));
}

void OutliningRules::Forget(Node* node) {
  outlined_.erase(node);
  anew_.erase(node);
}

bool OutliningRules::CanBeOutlined(Node* node) {
  const auto known = outlined_.find(node);
  if (known != outlined_.end()) return known->second;
  const bool can = FindCanBeOutlined(node);
  outlined_[node] = can;
  return can;
}

bool OutliningRules::IsComputedAnew(Node* node) {
  const auto known = anew_.find(node);
  if (known != anew_.end()) return known->second;
  const bool is = FindIsComputedAnew(node);
  anew_[node] = is;
  return is;
}

bool OutliningRules::CanBeRead(Value* value) {
  return IsComputedAnew(value->node()) || IsTensor(value) ||
         value->type()->kind() == TypeKind::IntType ||
         (IsOptionalTensor(value) && CanBeOutlined(value->node()));
}

bool OutliningRules::IsNumberTensor(Value* value) {
  return IsTensor(value) && IsComputedAnew(value->node()) &&
         (MakesNumberTensor(value->node()) || IsNumberConstant(value));
}

bool OutliningRules::IsNumberConstant(Value* value) {
  const auto constant = torch::jit::toIValue(value);
  return constant && constant->isTensor() &&
         IsNumberOfTrace(constant->toTensor()) && !MayBeWritten(value);
}

bool OutliningRules::MayBeWritten(Value* value) {
  if (!writes_)
    writes_ = AnyNode(value->owningGraph()->block(), MayWriteElements);
  if (!*writes_) return false;
  // Through another name, too, which a list or a block may give it.
  const auto& uses = value->uses();
  return std::any_of(uses.begin(), uses.end(), [](const torch::jit::Use& use) {
    return Writes(use.user) || MayGiveView(use.user);
  });
}

bool OutliningRules::AllCanBeRead(at::ArrayRef<Value*> values) {
  return std::all_of(values.begin(), values.end(),
                     [this](Value* value) { return CanBeRead(value); });
}

bool OutliningRules::IsPureBlock(Block* block, bool numbers_only) {
  return std::all_of(block->nodes().begin(), block->nodes().end(),
                     [&](Node* node) {
                       return node->kind() == c10::prim::RaiseException ||
                              node->kind() == c10::prim::Constant ||
                              IsComputedAnew(node) ||
                              (!numbers_only && CanBeOutlined(node));
                     }) &&
         std::all_of(block->outputs().begin(), block->outputs().end(),
                     [&](Value* output) {
                       return numbers_only
                                  ? IsNumberLike(output) && CanBeRead(output)
                                  : CanBeRead(output);
                     });
}

bool OutliningRules::IsDecidedBySizes(Node* node, bool numbers_only) {
  return IsComputedAnew(node->input(0)->node()) &&
         std::all_of(
             node->blocks().begin(), node->blocks().end(),
             [&](Block* block) { return IsPureBlock(block, numbers_only); });
}

bool OutliningRules::FindIsComputedAnew(Node* node) {
  // Weights are constants of the program's model.
  if (node->kind() == c10::prim::Constant) {
    const auto value = torch::jit::toIValue(node->output());
    return value && (!value->isTensor() || IsNumberConstant(node->output()));
  }
  if (node->kind() == c10::prim::Uninitialized) return true;
  if (node->kind() == c10::prim::If) {
    const auto outputs = node->outputs();
    return !outputs.empty() && IsDecidedBySizes(node, true) &&
           std::all_of(outputs.begin(), outputs.end(), [](const Value* v) {
             return v->type()->kind() != TypeKind::ListType || IsOnlyRead(v);
           });
  }
  if (node->kind() == c10::prim::Param || node->kind() == c10::prim::Return ||
      !node->blocks().empty() || node->outputs().size() != 1)
    return false;
  const Value* const output = node->output();
  // A list that somebody changes is not computed a second time.
  if (output->type()->kind() == TypeKind::ListType && !IsOnlyRead(output))
    return false;
  if (node->kind() == c10::prim::ListConstruct)
    return (IsNumberLike(output) || IsTensorList(output) ||
            IsOptionalTensorList(output)) &&
           AllCanBeRead(node->inputs());
  if (AsksForSizes(node)) return IsTensor(node->input(0));
  if (ReadsNumberTensor(node)) return IsNumberTensor(node->input(0));
  if (MakesNumberTensor(node)) {
    const auto inputs = node->inputs();
    return !MayBeWritten(node->output()) &&
           std::all_of(inputs.begin(), inputs.end(), [this](Value* input) {
             return IsNumberTensor(input) ||
                    (IsNumberLike(input) && CanBeRead(input));
           });
  }
  if (node->kind() == c10::aten::__is__ || node->kind() == c10::aten::__isnot__)
    return AllCanBeRead(node->inputs());
  if (!IsNumberLike(output) || node->maybeSchema() == nullptr || Writes(node) ||
      node->isNondeterministic() || node->hasSideEffects())
    return false;
  return !node->inputs().empty() &&
         std::all_of(node->inputs().begin(), node->inputs().end(),
                     [this](Value* input) {
                       return IsNumberLike(input) && CanBeRead(input);
                     });
}

bool OutliningRules::FindCanBeOutlined(Node* node) {
  if (IsDisabled(*node)) return false;
  // A number of sizes as a tensor: another dtype's operand, which a group's
  // result would not be.
  if (MakesNumberTensor(node) && IsComputedAnew(node)) return false;
  if (node->kind() == c10::prim::If)
    return !IsComputedAnew(node) && IsDecidedBySizes(node, false);
  if (node->kind() == c10::prim::unchecked_cast)
    return IsTensor(node->output()) && CanBeRead(node->input(0));
  if (node->kind() == c10::prim::ListUnpack) {
    return IsTensorList(node->input(0)) &&
           CanBeOutlined(node->input(0)->node()) &&
           node->input(0)->node()->kind() != c10::prim::ListUnpack;
  }
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (!node->kind().is_aten() || schema == nullptr || schema->is_vararg() ||
      !node->blocks().empty() || node->outputs().empty() || Writes(node) ||
      DependsOnMore(node, *schema))
    return false;
  const bool gives_list =
      node->outputs().size() == 1 && IsTensorList(node->output());
  if (gives_list) {
    const auto& uses = node->output()->uses();
    if (std::any_of(uses.begin(), uses.end(), [](const torch::jit::Use& use) {
          return use.user->kind() != c10::prim::ListUnpack;
        }))
      return false;
  } else if (!std::all_of(node->outputs().begin(), node->outputs().end(),
                          [](const Value* v) { return IsTensor(v); })) {
    return false;
  }
  return AllCanBeRead(node->inputs());
}

bool AsksForLayout(Block* block) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::stride",          "aten::sym_stride",
      "aten::is_contiguous",   "aten::is_non_overlapping_and_dense",
      "aten::storage_offset",  "aten::sym_storage_offset",
      "aten::as_strided",      "aten::as_strided_",
      "aten::as_strided_copy", "aten::as_strided_scatter",
      "aten::_reshape_alias",  "aten::data_ptr",
      "aten::is_set_to",       "aten::set_"};
  return AnyNode(block, [](Node* node) {
    return kNames->count(node->kind().toQualString()) > 0;
  });
}

bool AsksForMemory(Block* block) {
  return AsksForLayout(block) ||
         AnyNode(block, [](Node* node) { return ChangesSizes(*node); });
}

bool NeedsViews(Block* block) {
  return AnyNode(block, [](Node* node) {
    const c10::FunctionSchema* const schema = node->maybeSchema();
    return schema != nullptr && NeedsView(*schema);
  });
}

bool WritesHiddenArguments(Block* block) {
  return AnyNode(block,
                 [](Node* node) {
                   const c10::FunctionSchema* const schema =
                       node->maybeSchema();
                   return schema != nullptr && MayGiveArgument(*schema);
                 }) &&
         AnyNode(block, MayWriteElements);
}

bool MayWriteElements(Node* node) {
  return RunsUnknownProgram(*node) ||
         (!WrittenArguments(*node).empty() && !WritesOnlyContainer(*node)) ||
         std::any_of(
             node->blocks().begin(), node->blocks().end(), [](Block* block) {
               return std::any_of(block->nodes().begin(), block->nodes().end(),
                                  MayWriteElements);
             });
}

bool MayGiveView(const Node* node) {
  const c10::FunctionSchema* const schema = node->maybeSchema();
  // The tensors of a list that is unpacked may be views.
  return !node->kind().is_aten() || schema == nullptr ||
         (MayGiveArgument(*schema) ||
          std::any_of(schema->returns().begin(), schema->returns().end(),
                      [](const c10::Argument& result) {
                        return result.alias_info() != nullptr;
                      }));
}

}  // namespace aitune::frontend
