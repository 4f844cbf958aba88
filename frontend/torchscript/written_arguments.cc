#include "frontend/torchscript/written_arguments.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <set>
#include <string>

#include "frontend/torchscript/hidden_writes.h"
#include "frontend/torchscript/operator_tags.h"

namespace aitune::frontend {
namespace {

bool IsTensor(const torch::jit::Value& value) {
  return value.type()->kind() == c10::TypeKind::TensorType;
}

// Whether it is a tensor that the operator is given for its result (out=).
bool IsResult(const c10::Argument& argument) {
  return argument.kwarg_only() && argument.alias_info() != nullptr &&
         argument.alias_info()->isWrite();
}

}  // namespace

bool RunsUnknownProgram(const torch::jit::Node& node) {
  switch (node.kind()) {
    case c10::prim::CallMethod:
    case c10::prim::CallFunction:
    case c10::prim::Enter:
    case c10::prim::Exit:
    case c10::prim::fork:
    case c10::prim::awaitable_wait:
    case c10::aten::wait:
      return true;
    default:
      return false;
  }
}

std::vector<size_t> WrittenArguments(const torch::jit::Node& node) {
  std::vector<size_t> written;
  const c10::FunctionSchema* schema = node.maybeSchema();
  for (size_t i = 0; schema != nullptr && i < node.inputs().size() &&
                     i < schema->arguments().size();
       ++i) {
    const c10::AliasInfo* alias = schema->arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) written.push_back(i);
  }
  return written;
}

std::vector<const torch::jit::Value*> HiddenlyWritten(
    const torch::jit::Node& node) {
  std::vector<const torch::jit::Value*> written;
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr) return written;
  const HiddenWrites hidden = HiddenWritesOf(*schema);
  if (hidden.flag) {
    const auto flag = torch::jit::toIValue(node.inputs()[*hidden.flag]);
    if (flag && flag->isBool() && !flag->toBool()) return written;
  }
  for (const size_t i : hidden.arguments) {
    if (i < node.inputs().size() &&
        node.inputs()[i]->type()->kind() != c10::TypeKind::NoneType)
      written.push_back(node.inputs()[i]);
  }
  return written;
}

bool WritesOnlyContainer(const torch::jit::Node& node) {
  static const auto* const names = new std::set<std::string>{
      "aten::append",   "aten::insert",  "aten::extend", "aten::pop",
      "aten::clear",    "aten::popitem", "aten::remove", "aten::reverse",
      "aten::sort",     "aten::update",  "aten::Delete", "aten::setdefault",
      "aten::_set_item"};
  if (node.inputs().empty()) return false;
  const c10::TypeKind kind = node.inputs()[0]->type()->kind();
  return (kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType) &&
         names->count(node.kind().toQualString()) > 0;
}

bool HoldsTensors(const c10::TypePtr& type) {
  return type->isSubtypeOf(*c10::TensorType::get()) ||
         type->kind() == c10::TypeKind::AnyType ||
         std::any_of(type->containedTypes().begin(),
                     type->containedTypes().end(), HoldsTensors);
}

std::vector<const torch::jit::Value*> WrittenTensors(
    const torch::jit::Node& node) {
  std::vector<const torch::jit::Value*> written;
  for (const size_t i : WrittenArguments(node)) {
    if (IsTensor(*node.inputs()[i])) written.push_back(node.inputs()[i]);
  }
  const std::vector<const torch::jit::Value*> hidden = HiddenlyWritten(node);
  written.insert(written.end(), hidden.begin(), hidden.end());
  return written;
}

std::vector<const torch::jit::Value*> MayBeWritten(
    const torch::jit::Node& node) {
  std::vector<const torch::jit::Value*> written = WrittenTensors(node);
  if (node.kind() != c10::prim::CallMethod &&
      node.kind() != c10::prim::CallFunction && node.kind() != c10::prim::fork)
    return written;
  for (const torch::jit::Value* input : node.inputs()) {
    const c10::TypeKind kind = input->type()->kind();
    if (kind != c10::TypeKind::ClassType && HoldsTensors(input->type()))
      written.push_back(input);
  }
  return written;
}

bool MayChangeSizes(const c10::FunctionSchema& schema, size_t argument) {
  if (argument >= schema.arguments().size()) return false;
  return IsResult(schema.arguments()[argument]) ||
         (argument == 0 && (schema.name() == "aten::resize_" ||
                            schema.name() == "aten::resize_as_" ||
                            schema.name() == "aten::set_" ||
                            HasTag(schema, at::Tag::inplace_view)));
}

bool ChangesContents(const torch::jit::Node& node) {
  static const auto* const names = new std::set<std::string>{
      "prim::SetAttr", "aten::set_", "aten::set_data"};
  if (names->count(node.kind().toQualString()) > 0) return true;
  const std::vector<size_t> written = WrittenArguments(node);
  return std::any_of(written.begin(), written.end(), [&](size_t i) {
    const torch::jit::Value& value = *node.inputs()[i];
    return !IsTensor(value) && HoldsTensors(value.type());
  });
}

}  // namespace aitune::frontend
