#include "frontend/trace/structure.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/trace/structure_internal.h"
#include "frontend/values/torch_util.h"

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

absl::Status Mismatch(const std::string& path, const std::string& expected,
                      const c10::IValue& given) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the model was compiled for ", expected,
                   ", given is ", Describe(given)));
}

class Flattener {
 public:
  Flattener(int gpu, ConstantCheck check) : gpu_(gpu), check_(check) {}

  absl::Status Flatten(const Structure& structure, const c10::IValue& value,
                       const std::string& path) {
    switch (structure.kind) {
      case Kind::kTensor: {
        if (!value.isTensor() || !IsPlainTensor(value.toTensor(), gpu_)) {
          return Mismatch(path,
                          gpu_ < 0
                              ? "a dense CPU tensor"
                              : absl::StrCat("a dense tensor on cuda:", gpu_),
                          value);
        }
        tensors.push_back(value.toTensor().contiguous());
        return absl::OkStatus();
      }
      case Kind::kNone:
        if (!value.isNone()) return Mismatch(path, "None", value);
        return absl::OkStatus();
      case Kind::kConstant: {
        const c10::IValue& expected = ConstantOf(structure);
        if (check_ == ConstantCheck::kCheck &&
            (value.tagKind() != expected.tagKind() || !(value == expected))) {
          return Mismatch(path, Describe(expected), value);
        }
        return absl::OkStatus();
      }
      case Kind::kTuple:
      case Kind::kList: {
        const bool fits =
            structure.kind == Kind::kTuple ? value.isTuple() : value.isList();
        if (!fits) return Mismatch(path, KindName(structure.kind), value);
        const std::vector<c10::IValue> elements =
            value.isTuple() ? value.toTupleRef().elements().vec()
                            : value.toListRef().vec();
        if (elements.size() != structure.children.size()) {
          return Mismatch(path,
                          absl::StrCat(KindName(structure.kind), " of ",
                                       structure.children.size()),
                          value);
        }
        for (size_t i = 0; i < elements.size(); ++i) {
          absl::Status status = Flatten(structure.children[i], elements[i],
                                        absl::StrCat(path, "[", i, "]"));
          if (!status.ok()) return status;
        }
        return absl::OkStatus();
      }
      case Kind::kDict: {
        if (!value.isGenericDict()) return Mismatch(path, "a dict", value);
        const c10::impl::GenericDict dict = value.toGenericDict();
        if (dict.size() != structure.children.size()) {
          return Mismatch(path,
                          absl::StrCat("a dict of ", structure.children.size()),
                          value);
        }
        for (size_t i = 0; i < structure.children.size(); ++i) {
          const auto found = dict.find(InfoOf(structure).keys[i]);
          if (found == dict.end())
            return Mismatch(
                path, absl::StrCat("a dict with ", structure.keys[i]), value);
          absl::Status status =
              Flatten(structure.children[i], found->value(),
                      absl::StrCat(path, "[", structure.keys[i], "]"));
          if (!status.ok()) return status;
        }
        return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

  std::vector<at::Tensor> tensors;

 private:
  const int gpu_;
  const ConstantCheck check_;
};

// Takes values in order and nests them.
class Nester {
 public:
  explicit Nester(const OutputBuffers& outputs) : outputs_(outputs) {}

  c10::IValue Nest(const Structure& structure) {
    switch (structure.kind) {
      case Kind::kTensor:
        return Next();
      case Kind::kNone:
        return {};
      case Kind::kConstant:
        return ConstantOf(structure);
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

  bool complete() const { return next_ == outputs_.values.size() && !failed_; }

 private:
  std::vector<c10::IValue> Children(const Structure& structure) {
    std::vector<c10::IValue> children;
    for (const Structure& child : structure.children)
      children.push_back(Nest(child));
    return children;
  }

  c10::IValue Next() {
    if (next_ >= outputs_.values.size()) {
      failed_ = true;
      return {};
    }
    const RegionValue& value = outputs_.values[next_++];
    if (const auto* opaque = std::get_if<OpaqueValue>(&value)) {
      failed_ = failed_ || *opaque == nullptr;
      return *opaque == nullptr
                 ? c10::IValue()
                 : *static_cast<const c10::IValue*>(opaque->get());
    }
    const TensorView& view = std::get<TensorView>(value);
    const auto options = at::TensorOptions()
                             .dtype(ToScalarType(view.dtype))
                             .device(DeviceOf(outputs_.gpu));
    if (view.data == nullptr) return at::empty(view.sizes, options);
    return at::for_blob(view.data, view.sizes)
        .deleter([owner = outputs_.owner](void*) {})
        .options(options)
        .target_device(options.device())
        .make_tensor();
  }

  const OutputBuffers& outputs_;
  size_t next_ = 0;
  bool failed_ = false;
};

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
  for (const c10::IValue& key : info.keys) {
    structure.keys.push_back(key.isString()
                                 ? absl::StrCat("'", key.toStringRef(), "'")
                                 : Describe(key));
  }
  structure.constant = std::make_shared<ContainerInfo>(std::move(info));
  return structure;
}

const c10::IValue& ConstantOf(const Structure& structure) {
  return *static_cast<const c10::IValue*>(structure.constant.get());
}

const ContainerInfo& InfoOf(const Structure& structure) {
  return *static_cast<const ContainerInfo*>(structure.constant.get());
}

absl::StatusOr<FlatTensors> FlattenInputs(const Structure& structure,
                                          const ValueList& inputs, int gpu,
                                          ConstantCheck check) {
  Flattener flattener(gpu, check);
  if (inputs.values().size() != structure.children.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model was compiled for ", structure.children.size(),
                     " inputs, given are ", inputs.values().size()));
  }
  for (size_t i = 0; i < structure.children.size(); ++i) {
    const absl::Status status =
        CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
          return flattener.Flatten(structure.children[i], inputs.values()[i],
                                   absl::StrCat("input ", i));
        });
    if (!status.ok()) return status;
  }
  FlatTensors flat;
  for (const at::Tensor& tensor : flattener.tensors)
    flat.views.push_back(ViewOf(tensor));
  flat.owner =
      std::make_shared<std::vector<at::Tensor>>(std::move(flattener.tensors));
  return flat;
}

OutputBuffers AllocateOutputs(absl::Span<const DataType> dtypes,
                              absl::Span<const std::vector<int64_t>> sizes,
                              const std::vector<bool>& is_opaque, int gpu) {
  OutputBuffers buffers;
  buffers.gpu = gpu;
  auto tensors = std::make_shared<std::vector<at::Tensor>>();
  for (size_t i = 0; i < dtypes.size(); ++i) {
    if (is_opaque[i]) {
      buffers.values.emplace_back(OpaqueValue());
      continue;
    }
    tensors->push_back(at::empty(sizes[i], at::TensorOptions()
                                               .dtype(ToScalarType(dtypes[i]))
                                               .device(DeviceOf(gpu))));
    buffers.values.emplace_back(ViewOf(tensors->back()));
  }
  buffers.owner = std::move(tensors);
  return buffers;
}

absl::StatusOr<c10::IValue> UnflattenOutputs(const Structure& structure,
                                             const OutputBuffers& outputs) {
  c10::IValue result;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInternal, "outputs", [&] {
        Nester nester(outputs);
        result = nester.Nest(structure);
        if (!nester.complete())
          return absl::InternalError(
              "the outputs do not fit the model's result");
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return result;
}

}  // namespace aitune::frontend
