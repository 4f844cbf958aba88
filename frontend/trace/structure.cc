#include "frontend/trace/structure.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/trace/structure_internal.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = Structure::Kind;

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
      return "a tensor";
    case Kind::kNone:
      return "None";
    case Kind::kConstant:
      return "a number or string";
    case Kind::kTuple:
      return "a tuple";
    case Kind::kList:
      return "a list";
    case Kind::kDict:
      return "a dict";
  }
  return "";
}

bool IsContainer(const c10::IValue& value) {
  return value.isTuple() || value.isList() || value.isGenericDict();
}

bool IsLeaf(const Structure& structure) {
  return structure.kind != Kind::kTuple && structure.kind != Kind::kList &&
         structure.kind != Kind::kDict;
}

// A tensor on the view's memory, which `owner` keeps unless it is null.
at::Tensor OwnedTensor(const TensorView& view,
                       std::shared_ptr<const void> owner,
                       const Device& device) {
  if (owner == nullptr || view.data == nullptr) return TensorOn(view, device);
  const auto options = at::TensorOptions()
                           .dtype(ToScalarType(view.dtype))
                           .device(DeviceOf(device));
  // Not a deleter with the owner in it, for which LibTorch allocates where an
  // exception ends the process.
  auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
  return at::for_blob(view.data, view.sizes)
      .context(kept.release(),
               [](void* owner) {
                 delete static_cast<std::shared_ptr<const void>*>(owner);
               })
      .options(options)
      .target_device(options.device())
      .make_tensor();
}

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

// Where a value is nested; its text is only made for errors.
struct Place {
  const Place* around;      // null: in the list of inputs
  size_t child;             // its number in the container
  const Structure* parent;  // the container

  std::string Text() const {
    if (around == nullptr) return absl::StrCat("input ", child);
    return absl::StrCat(
        around->Text(), "[",
        parent->kind == Kind::kDict ? parent->keys[child] : absl::StrCat(child),
        "]");
  }
};

// Whether two numbers or texts are the same, NaN the same as itself.
bool AreSame(const c10::IValue& a, const c10::IValue& b) {
  if (a.tagKind() != b.tagKind()) return false;
  if (a.isDouble() && std::isnan(a.toDouble())) return std::isnan(b.toDouble());
  return a == b;
}

absl::Status Mismatch(const std::string& place, const std::string& expected,
                      const c10::IValue& given) {
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": the model was compiled for ", expected,
                   ", given is ", Describe(given)));
}

// Appends the leaves of `value`. Calls itself; throws what LibTorch throws.
absl::Status AddLeaves(const Structure& structure, const c10::IValue& value,
                       const Place& place, std::vector<OwnedValue>* leaves) {
  if (IsLeaf(structure)) {
    if (IsContainer(value))
      return Mismatch(place.Text(), KindName(structure.kind), value);
    leaves->push_back(ToOwned(value));
    return absl::OkStatus();
  }
  const size_t count = structure.children.size();
  if (structure.kind == Kind::kDict) {
    if (!value.isGenericDict()) return Mismatch(place.Text(), "a dict", value);
    const c10::impl::GenericDict dict = value.toGenericDict();
    if (dict.size() != count)
      return Mismatch(place.Text(), absl::StrCat("a dict of ", count), value);
    for (size_t i = 0; i < count; ++i) {
      const auto found = dict.find(InfoOf(structure).keys[i]);
      if (found == dict.end())
        return Mismatch(place.Text(),
                        absl::StrCat("a dict with ", structure.keys[i]), value);
      AITUNE_RETURN_IF_ERROR(AddLeaves(structure.children[i], found->value(),
                                       {&place, i, &structure}, leaves));
    }
    return absl::OkStatus();
  }
  const bool fits =
      structure.kind == Kind::kTuple ? value.isTuple() : value.isList();
  if (!fits) return Mismatch(place.Text(), KindName(structure.kind), value);
  const c10::ArrayRef<c10::IValue> elements =
      value.isTuple() ? value.toTupleRef().elements().asArrayRef()
                      : value.toListRef();
  if (elements.size() != count)
    return Mismatch(place.Text(),
                    absl::StrCat(KindName(structure.kind), " of ", count),
                    value);
  for (size_t i = 0; i < count; ++i)
    AITUNE_RETURN_IF_ERROR(AddLeaves(structure.children[i], elements[i],
                                     {&place, i, &structure}, leaves));
  return absl::OkStatus();
}

// Whether the dicts of `value`, which has this nesting, have their keys in its
// order.
bool KeysAreInOrder(const Structure& structure, const c10::IValue& value) {
  if (IsLeaf(structure)) return true;
  if (structure.kind == Kind::kDict) {
    const c10::impl::GenericDict dict = value.toGenericDict();
    auto entry = dict.begin();
    for (size_t i = 0; i < structure.children.size(); ++i, ++entry) {
      if (dict.find(InfoOf(structure).keys[i]) != entry ||
          !KeysAreInOrder(structure.children[i], entry->value()))
        return false;
    }
    return true;
  }
  const c10::ArrayRef<c10::IValue> elements =
      value.isTuple() ? value.toTupleRef().elements().asArrayRef()
                      : value.toListRef();
  for (size_t i = 0; i < structure.children.size(); ++i)
    if (!KeysAreInOrder(structure.children[i], elements[i])) return false;
  return true;
}

Structure NestingOf(const c10::IValue& value) {
  if (!IsContainer(value)) return Structure();
  ContainerInfo info;
  std::vector<Structure> children;
  if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements())
      children.push_back(NestingOf(element));
    const auto type = value.type()->cast<c10::TupleType>();
    if (type && type->schema()) info.type = type;
    return ContainerStructure(Kind::kTuple, std::move(children),
                              std::move(info));
  }
  info.type = value.type();
  if (value.isList()) {
    for (const c10::IValue& element : value.toListRef())
      children.push_back(NestingOf(element));
    return ContainerStructure(Kind::kList, std::move(children),
                              std::move(info));
  }
  for (const auto& entry : value.toGenericDict()) {
    info.keys.push_back(entry.key());
    children.push_back(NestingOf(entry.value()));
  }
  return ContainerStructure(Kind::kDict, std::move(children), std::move(info));
}

void ForEachLeaf(const Structure& structure,
                 const std::function<void(const Structure&)>& visit) {
  if (IsLeaf(structure)) return visit(structure);
  for (const Structure& child : structure.children) ForEachLeaf(child, visit);
}

// Takes leaves in order and nests them.
class Nester {
 public:
  explicit Nester(std::vector<c10::IValue> leaves)
      : leaves_(std::move(leaves)) {}

  c10::IValue Nest(const Structure& structure) {
    switch (structure.kind) {
      case Kind::kTensor:
      case Kind::kNone:
      case Kind::kConstant:
        return std::move(leaves_.at(next_++));
      case Kind::kTuple: {
        std::vector<c10::IValue> children = Children(structure);
        const c10::TypePtr& type = InfoOf(structure).type;
        if (type)
          return c10::ivalue::Tuple::createNamed(
              std::move(children), type->expect<c10::TupleType>());
        return c10::ivalue::Tuple::create(std::move(children));
      }
      case Kind::kList: {
        c10::impl::GenericList list(
            InfoOf(structure).type->expect<c10::ListType>()->getElementType());
        for (c10::IValue& child : Children(structure))
          list.push_back(std::move(child));
        return list;
      }
      case Kind::kDict: {
        const auto type = InfoOf(structure).type->expect<c10::DictType>();
        c10::impl::GenericDict dict(type->getKeyType(), type->getValueType());
        std::vector<c10::IValue> children = Children(structure);
        for (size_t i = 0; i < children.size(); ++i)
          dict.insert(InfoOf(structure).keys[i], std::move(children[i]));
        return dict;
      }
    }
    return {};
  }

 private:
  std::vector<c10::IValue> Children(const Structure& structure) {
    std::vector<c10::IValue> children;
    children.reserve(structure.children.size());
    for (const Structure& child : structure.children)
      children.push_back(Nest(child));
    return children;
  }

  std::vector<c10::IValue> leaves_;
  size_t next_ = 0;
};

int LeafCount(const Structure& structure) {
  int count = 0;
  ForEachLeaf(structure, [&](const Structure&) { ++count; });
  return count;
}

}  // namespace

Structure ConstantStructure(const c10::IValue& value) {
  Structure structure;
  structure.kind = value.isNone() ? Kind::kNone : Kind::kConstant;
  structure.constant = std::make_shared<c10::IValue>(value);
  structure.type_name = value.type()->annotation_str();
  return structure;
}

Structure ContainerStructure(Kind kind, std::vector<Structure> children,
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

OwnedValue ToOwned(const c10::IValue& leaf) {
  if (leaf.isTensor() && IsPlainTensor(leaf.toTensor())) {
    auto tensor = std::make_shared<at::Tensor>(leaf.toTensor().contiguous());
    TensorView view = ViewOf(*tensor);
    return {std::move(view), std::move(tensor)};
  }
  return {OpaqueValue(std::make_shared<c10::IValue>(leaf)), nullptr};
}

c10::IValue ToIValue(const RegionValue& leaf,
                     std::shared_ptr<const void> owner) {
  if (const auto* opaque = std::get_if<OpaqueValue>(&leaf)) {
    return *opaque == nullptr ? c10::IValue()
                              : *static_cast<const c10::IValue*>(opaque->get());
  }
  return OwnedTensor(std::get<TensorView>(leaf), std::move(owner), Device());
}

bool HoldsContainer(const OwnedValue& leaf) {
  const auto* opaque = std::get_if<OpaqueValue>(&leaf.value);
  return opaque != nullptr && *opaque != nullptr &&
         IsContainer(*static_cast<const c10::IValue*>(opaque->get()));
}

absl::Status CheckKeyOrder(const Structure& structure,
                           const std::vector<c10::IValue>& values) {
  for (size_t i = 0; i < structure.children.size() && i < values.size(); ++i) {
    if (!KeysAreInOrder(structure.children[i], values[i]))
      return absl::InvalidArgumentError(absl::StrCat(
          "the keys of a dict in argument ", i,
          " are in another order than those that the model was compiled for, "
          "and the program sees their order"));
  }
  return absl::OkStatus();
}

Structure NestingOf(const std::vector<c10::IValue>& values) {
  std::vector<Structure> children;
  for (const c10::IValue& value : values) children.push_back(NestingOf(value));
  return ContainerStructure(Kind::kTuple, std::move(children), {});
}

bool SameNesting(const Structure& a, const Structure& b) {
  if (IsLeaf(a) || IsLeaf(b)) return IsLeaf(a) && IsLeaf(b);
  if (a.kind != b.kind || a.children.size() != b.children.size() ||
      a.keys != b.keys)
    return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (!SameNesting(a.children[i], b.children[i])) return false;
  }
  return true;
}

absl::StatusOr<std::vector<OwnedValue>> FlattenLeaves(
    const Structure& structure, const std::vector<c10::IValue>& values) {
  if (values.size() != structure.children.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model was compiled for ", structure.children.size(),
                     " inputs, given are ", values.size()));
  }
  std::vector<OwnedValue> leaves;
  leaves.reserve(values.size());
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "flattening", [&] {
        for (size_t i = 0; i < values.size(); ++i)
          AITUNE_RETURN_IF_ERROR(AddLeaves(structure.children[i], values[i],
                                           {nullptr, i, &structure}, &leaves));
        return absl::OkStatus();
      }));
  return leaves;
}

absl::StatusOr<c10::IValue> UnflattenLeaves(const Structure& structure,
                                            std::vector<c10::IValue> leaves) {
  const int count = LeafCount(structure);
  if (leaves.size() != static_cast<size_t>(count))
    return absl::InvalidArgumentError(absl::StrCat(
        "the values have ", count, " leaves, not ", leaves.size()));
  c10::IValue result;
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "nesting", [&] {
        result = Nester(std::move(leaves)).Nest(structure);
        return absl::OkStatus();
      }));
  return result;
}

InputNesting::InputNesting(Structure structure)
    : structure_(std::move(structure)) {
  const std::function<void(const Structure&, const Place&)> add =
      [&](const Structure& part, const Place& place) {
        if (IsLeaf(part)) {
          leaves_.push_back({part, place.Text()});
          return;
        }
        for (size_t i = 0; i < part.children.size(); ++i)
          add(part.children[i], {&place, i, &part});
      };
  for (size_t i = 0; i < structure_.children.size(); ++i)
    add(structure_.children[i], {nullptr, i, &structure_});
}

absl::StatusOr<FlatTensors> InputNesting::TensorsOf(
    absl::Span<const RegionValue> leaves, const Device& device,
    ConstantCheck check) const {
  if (leaves.size() != leaves_.size())
    return absl::InvalidArgumentError(absl::StrCat(
        "the model was compiled for ", leaves_.size(),
        " tensors, numbers and strings as inputs, given are ", leaves.size()));
  FlatTensors flat;
  flat.views.reserve(leaves.size());
  std::vector<at::Tensor> copies;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto& [expected, place] = leaves_[i];
    const auto* view = std::get_if<TensorView>(&leaves[i]);
    if (view != nullptr && expected.kind == Kind::kTensor && !device.is_gpu()) {
      flat.views.push_back(*view);
      continue;
    }
    const c10::IValue value = ToIValue(leaves[i]);
    switch (expected.kind) {
      case Kind::kTensor:
        if (!value.isTensor() || !IsPlainTensor(value.toTensor(), device))
          return Mismatch(place,
                          device.is_gpu() ? absl::StrCat("a dense tensor on ",
                                                         device.ToString())
                                          : "a dense CPU tensor",
                          value);
        copies.push_back(value.toTensor().contiguous());
        flat.views.push_back(ViewOf(copies.back()));
        break;
      case Kind::kNone:
        if (!value.isNone()) return Mismatch(place, "None", value);
        break;
      default: {
        const c10::IValue& constant = ConstantOf(expected);
        if (check == ConstantCheck::kCheck && !AreSame(value, constant))
          return Mismatch(place, Describe(constant), value);
      }
    }
  }
  if (!copies.empty())
    flat.owner = std::make_shared<std::vector<at::Tensor>>(std::move(copies));
  return flat;
}

absl::StatusOr<FlatTensors> InputNesting::Flatten(const ValueList& arguments,
                                                  const Device& device,
                                                  ConstantCheck check) const {
  AITUNE_ASSIGN_OR_RETURN(std::vector<OwnedValue> leaves,
                          FlattenLeaves(structure_, arguments.values()));
  FlatTensors flat;
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        AITUNE_ASSIGN_OR_RETURN(flat, TensorsOf(Values(leaves), device, check));
        return absl::OkStatus();
      }));
  flat.owner = std::make_shared<
      std::pair<std::vector<OwnedValue>, std::shared_ptr<const void>>>(
      std::move(leaves), std::move(flat.owner));
  return flat;
}

OutputBuffers AllocateOutputs(absl::Span<const DataType> dtypes,
                              absl::Span<const std::vector<int64_t>> sizes,
                              const std::vector<bool>& is_opaque,
                              const Device& device,
                              absl::Span<const std::shared_ptr<char>> memory) {
  OutputBuffers buffers;
  buffers.device = device;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    if (is_opaque[i]) {
      buffers.values.emplace_back(OpaqueValue());
      buffers.owners.emplace_back();
    } else if (i < memory.size() && memory[i] != nullptr) {
      buffers.values.emplace_back(
          TensorView{memory[i].get(), dtypes[i], sizes[i]});
      buffers.owners.push_back(memory[i]);
    } else {
      auto tensor = std::make_shared<const at::Tensor>(
          at::empty(sizes[i], at::TensorOptions()
                                  .dtype(ToScalarType(dtypes[i]))
                                  .device(DeviceOf(device))));
      buffers.values.emplace_back(ViewOf(*tensor));
      buffers.owners.push_back(std::move(tensor));
    }
  }
  return buffers;
}

absl::StatusOr<std::vector<OwnedValue>> OutputLeaves(
    const Structure& structure, const OutputBuffers& outputs) {
  std::vector<OwnedValue> leaves;
  leaves.reserve(outputs.values.size());
  size_t next = 0;
  bool fits = true;
  ForEachLeaf(structure, [&](const Structure& leaf) {
    if (leaf.kind != Kind::kTensor) {
      leaves.push_back({OpaqueValue(leaf.constant), nullptr});
      return;
    }
    if (next >= outputs.values.size()) {
      fits = false;
      return;
    }
    const RegionValue& value = outputs.values[next];
    const std::shared_ptr<const void>& owner = outputs.owners[next++];
    const auto* view = std::get_if<TensorView>(&value);
    if (view == nullptr) {
      fits = fits && std::get<OpaqueValue>(value) != nullptr;
      const c10::IValue given = ToIValue(value);
      const bool has_elements_in_order =
          given.isTensor() && given.toTensor().is_contiguous();
      leaves.push_back(has_elements_in_order ? ToOwned(given)
                                             : OwnedValue{value, nullptr});
    } else if (!outputs.device.is_gpu()) {
      leaves.push_back({value, owner});
    } else {
      leaves.push_back({OpaqueValue(std::make_shared<c10::IValue>(
                            OwnedTensor(*view, owner, outputs.device))),
                        nullptr});
    }
  });
  if (fits && next == outputs.values.size()) return leaves;
  return absl::InternalError("the outputs do not fit the model's result");
}

absl::StatusOr<c10::IValue> UnflattenOutputs(const Structure& structure,
                                             const OutputBuffers& outputs) {
  std::vector<c10::IValue> values;
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "outputs", [&] {
        AITUNE_ASSIGN_OR_RETURN(const std::vector<OwnedValue> leaves,
                                OutputLeaves(structure, outputs));
        values.reserve(leaves.size());
        for (const OwnedValue& leaf : leaves)
          values.push_back(ToIValue(leaf.value, leaf.owner));
        return absl::OkStatus();
      }));
  return UnflattenLeaves(structure, std::move(values));
}

}  // namespace aitune::frontend
