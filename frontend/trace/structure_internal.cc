#include "frontend/trace/structure_internal.h"

#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// A number with all digits that tell it from others.
std::string Digits(double number) {
  const std::string text = absl::StrCat(number);
  double read = 0;
  return absl::SimpleAtod(text, &read) && read == number
             ? text
             : absl::StrFormat("%.17g", number);
}

// Of the key of a dict: different keys have different texts.
std::string KeyText(const c10::IValue& key) {
  if (key.isString()) return absl::StrCat("'", key.toStringRef(), "'");
  if (key.isDouble()) return absl::StrCat("float64=", Digits(key.toDouble()));
  if (key.isComplexDouble()) {
    const c10::complex<double> number = key.toComplexDouble();
    return absl::StrCat("complex128=(", Digits(number.real()), ",",
                        Digits(number.imag()), ")");
  }
  return Describe(key);
}

}  // namespace

Structure ConstantStructure(const c10::IValue& value) {
  Structure structure;
  structure.kind =
      value.isNone() ? Structure::Kind::kNone : Structure::Kind::kConstant;
  structure.constant = std::make_shared<c10::IValue>(value);
  structure.type_name = value.type()->annotation_str();
  return structure;
}

Structure ContainerStructure(Structure::Kind kind,
                             std::vector<Structure> children,
                             ContainerInfo info) {
  Structure structure;
  structure.kind = kind;
  structure.children = std::move(children);
  if (info.type) structure.type_name = info.type->annotation_str();
  for (const c10::IValue& key : info.keys)
    structure.keys.push_back(KeyText(key));
  structure.constant = std::make_shared<ContainerInfo>(std::move(info));
  return structure;
}

const c10::IValue& ConstantOf(const Structure& structure) {
  return *static_cast<const c10::IValue*>(structure.constant.get());
}

const ContainerInfo& InfoOf(const Structure& structure) {
  return *static_cast<const ContainerInfo*>(structure.constant.get());
}

bool IsLeaf(const Structure& structure) {
  return structure.kind != Structure::Kind::kTuple &&
         structure.kind != Structure::Kind::kList &&
         structure.kind != Structure::Kind::kDict;
}

void ForEachLeaf(const Structure& structure,
                 const std::function<void(const Structure&)>& visit) {
  if (IsLeaf(structure)) return visit(structure);
  for (const Structure& child : structure.children) ForEachLeaf(child, visit);
}

}  // namespace aitune::frontend
