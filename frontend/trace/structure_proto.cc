#include "frontend/trace/structure_proto.h"

#include <ATen/core/function_schema.h>

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "frontend/trace/structure_internal.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = Structure::Kind;

constexpr int kDeepest = 64;

absl::Status NotStorable(const std::string& what) {
  return absl::UnimplementedError(
      absl::StrCat("the nesting of inputs or outputs can't be stored: ", what));
}

absl::Status Damaged(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the stored nesting of inputs or outputs is damaged: ", what));
}

absl::StatusOr<ScalarProto> ToScalar(const c10::IValue& value) {
  ScalarProto proto;
  if (value.isNone()) {
    proto.set_none(true);
  } else if (value.isInt()) {
    proto.set_integer(value.toInt());
  } else if (value.isDouble()) {
    proto.set_number(value.toDouble());
  } else if (value.isBool()) {
    proto.set_boolean(value.toBool());
  } else if (value.isString()) {
    proto.set_text(value.toStringRef());
  } else if (value.isComplexDouble()) {
    const c10::complex<double> number = value.toComplexDouble();
    proto.mutable_complex()->set_real(number.real());
    proto.mutable_complex()->set_imaginary(number.imag());
  } else {
    return NotStorable(absl::StrCat("it holds a ", value.tagKind()));
  }
  return proto;
}

absl::StatusOr<c10::IValue> FromScalar(const ScalarProto& proto) {
  switch (proto.value_case()) {
    case ScalarProto::kNone:
      return c10::IValue();
    case ScalarProto::kInteger:
      return c10::IValue(proto.integer());
    case ScalarProto::kNumber:
      return c10::IValue(proto.number());
    case ScalarProto::kBoolean:
      return c10::IValue(proto.boolean());
    case ScalarProto::kText:
      return c10::IValue(proto.text());
    case ScalarProto::kComplex:
      return c10::IValue(c10::complex<double>(proto.complex().real(),
                                              proto.complex().imaginary()));
    case ScalarProto::VALUE_NOT_SET:
      break;
  }
  return Damaged("a number or string is missing");
}

// By their qualified names.
using NamedTuples = absl::flat_hash_map<std::string, c10::TypePtr>;

// Reads the types that values of a model's inputs and outputs have, as
// annotation_str writes them.
class TypeParser {
 public:
  TypeParser(absl::string_view text, const NamedTuples& named)
      : rest_(text), named_(named) {}

  // Null when the text is no such type.
  c10::TypePtr Parse() {
    c10::TypePtr type = ParseType(0);
    return rest_.empty() ? type : nullptr;
  }

 private:
  c10::TypePtr ParseType(int depth) {
    if (depth > kDeepest) return nullptr;
    size_t length = 0;
    while (length < rest_.size() &&
           (absl::ascii_isalnum(rest_[length]) || rest_[length] == '_' ||
            rest_[length] == '.'))
      ++length;
    const absl::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (name == "Tensor") return c10::TensorType::get();
    if (name == "int") return c10::IntType::get();
    if (name == "float") return c10::FloatType::get();
    if (name == "complex") return c10::ComplexType::get();
    if (name == "bool") return c10::BoolType::get();
    if (name == "str") return c10::StringType::get();
    if (name == "NoneType") return c10::NoneType::get();
    if (const auto found = named_.find(name); found != named_.end())
      return found->second;
    if (!absl::ConsumePrefix(&rest_, "[")) return nullptr;
    std::vector<c10::TypePtr> arguments;
    do {
      arguments.push_back(ParseType(depth + 1));
      if (arguments.back() == nullptr) return nullptr;
    } while (absl::ConsumePrefix(&rest_, ", "));
    if (!absl::ConsumePrefix(&rest_, "]")) return nullptr;
    if (name == "Tuple") return c10::TupleType::create(arguments);
    if (name == "List" && arguments.size() == 1)
      return c10::ListType::create(arguments[0]);
    if (name == "Union" && arguments.size() > 1)
      return c10::UnionType::create(arguments);
    if (name == "Optional" && arguments.size() == 1)
      return c10::OptionalType::create(arguments[0]);
    if (name == "Dict" && arguments.size() == 2)
      return c10::DictType::create(arguments[0], arguments[1]);
    return nullptr;
  }

  absl::string_view rest_;
  const NamedTuples& named_;
};

// The type that `text` describes, if it does; it may name tuples of `named`.
c10::TypePtr Parse(const std::string& text, const NamedTuples& named) {
  c10::TypePtr type = TypeParser(text, named).Parse();
  return type != nullptr && type->annotation_str() == text ? type : nullptr;
}

// The tuple if it has a name and names of its fields, else null.
c10::TupleTypePtr AsNamedTuple(const c10::TypePtr& type) {
  const auto tuple = type->cast<c10::TupleType>();
  return tuple != nullptr && tuple->schema() && tuple->name() ? tuple : nullptr;
}

// Sets `text` to that of `type`, and adds the named tuples in it to `proto` and
// `named`.
absl::Status WriteType(const c10::TypePtr& type, StructureProto* proto,
                       NamedTuples& named, std::string* text) {
  for (const c10::TypePtr& part : type->containedTypes()) {
    std::string ignored;
    AITUNE_RETURN_IF_ERROR(WriteType(part, proto, named, &ignored));
  }
  *text = type->annotation_str();
  const c10::TupleTypePtr tuple = AsNamedTuple(type);
  if (tuple != nullptr && named.insert({*text, type}).second) {
    NamedTupleProto* const stored = proto->add_named_tuples();
    stored->set_name(*text);
    for (size_t i = 0; i < tuple->elements().size(); ++i) {
      stored->add_field_names(tuple->schema()->arguments()[i].name());
      stored->add_field_types(tuple->elements()[i]->annotation_str());
    }
  }
  if (Parse(*text, named) == nullptr)
    return NotStorable(absl::StrCat("the type ", *text));
  return absl::OkStatus();
}

absl::StatusOr<c10::TypePtr> MakeNamedTuple(
    const std::string& name,
    const google::protobuf::RepeatedPtrField<std::string>& fields,
    const google::protobuf::RepeatedPtrField<std::string>& texts,
    const NamedTuples& named) {
  std::vector<c10::TypePtr> types;
  for (const std::string& text : texts) {
    types.push_back(Parse(text, named));
    if (types.back() == nullptr)
      return Damaged(absl::StrCat("the type '", text, "'"));
  }
  if (fields.size() != texts.size())
    return Damaged("a named tuple with other fields than values");
  return c10::TypePtr(c10::TupleType::createNamed(
      c10::QualifiedName(name),
      std::vector<std::string>(fields.begin(), fields.end()), types));
}

absl::StatusOr<NamedTuples> ReadNamedTuples(const StructureProto& proto) {
  NamedTuples named;
  for (const NamedTupleProto& stored : proto.named_tuples()) {
    AITUNE_ASSIGN_OR_RETURN(named[stored.name()],
                            MakeNamedTuple(stored.name(), stored.field_names(),
                                           stored.field_types(), named));
  }
  return named;
}

absl::Status AddType(const Structure& structure, StructureProto* proto) {
  const c10::TypePtr& type = InfoOf(structure).type;
  NamedTuples named;
  if (structure.kind != Kind::kTuple) {
    if (type == nullptr) return NotStorable("a list or dict without a type");
    return WriteType(type, proto, named, proto->mutable_container_type());
  }
  const c10::TupleTypePtr tuple =
      type == nullptr ? nullptr : AsNamedTuple(type);
  if (tuple == nullptr) return absl::OkStatus();
  proto->set_tuple_name(tuple->name()->qualifiedName());
  for (size_t i = 0; i < tuple->elements().size(); ++i) {
    proto->add_field_names(tuple->schema()->arguments()[i].name());
    AITUNE_RETURN_IF_ERROR(WriteType(tuple->elements()[i], proto, named,
                                     proto->add_field_types()));
  }
  return absl::OkStatus();
}

absl::Status Write(const Structure& structure, StructureProto* proto) {
  proto->set_kind(static_cast<int32_t>(structure.kind));
  proto->set_type_name(structure.type_name);
  switch (structure.kind) {
    case Kind::kTensor:
      return absl::OkStatus();
    case Kind::kNone:
    case Kind::kConstant: {
      AITUNE_ASSIGN_OR_RETURN(ScalarProto constant,
                              ToScalar(ConstantOf(structure)));
      *proto->mutable_constant() = std::move(constant);
      return absl::OkStatus();
    }
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kDict:
      break;
  }
  AITUNE_RETURN_IF_ERROR(AddType(structure, proto));
  for (const c10::IValue& key : InfoOf(structure).keys) {
    AITUNE_ASSIGN_OR_RETURN(ScalarProto stored, ToScalar(key));
    *proto->add_keys() = std::move(stored);
  }
  for (const Structure& child : structure.children) {
    AITUNE_RETURN_IF_ERROR(Write(child, proto->add_children()));
  }
  return absl::OkStatus();
}

absl::StatusOr<c10::TypePtr> ReadType(const StructureProto& proto, Kind kind) {
  AITUNE_ASSIGN_OR_RETURN(const NamedTuples named, ReadNamedTuples(proto));
  if (kind != Kind::kTuple) {
    c10::TypePtr type = Parse(proto.container_type(), named);
    const c10::TypeKind wanted =
        kind == Kind::kList ? c10::TypeKind::ListType : c10::TypeKind::DictType;
    if (type == nullptr || type->kind() != wanted)
      return Damaged(absl::StrCat("the type '", proto.container_type(), "'"));
    return type;
  }
  if (proto.tuple_name().empty()) return c10::TypePtr();
  if (proto.field_types_size() != proto.children_size())
    return Damaged("a named tuple with other fields than values");
  return MakeNamedTuple(proto.tuple_name(), proto.field_names(),
                        proto.field_types(), named);
}

absl::StatusOr<Structure> Read(const StructureProto& proto, int depth) {
  if (depth > kDeepest) return Damaged("it is nested too deeply");
  if (proto.kind() < 0 || proto.kind() > static_cast<int>(Kind::kDict))
    return Damaged("an unknown kind");
  const Kind kind = static_cast<Kind>(proto.kind());
  Structure structure;
  switch (kind) {
    case Kind::kTensor:
      structure.type_name = proto.type_name();
      return structure;
    case Kind::kNone:
    case Kind::kConstant: {
      AITUNE_ASSIGN_OR_RETURN(c10::IValue constant,
                              FromScalar(proto.constant()));
      return ConstantStructure(constant);
    }
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kDict:
      break;
  }
  ContainerInfo info;
  AITUNE_ASSIGN_OR_RETURN(c10::TypePtr type, ReadType(proto, kind));
  info.type = std::move(type);
  for (const ScalarProto& key : proto.keys()) {
    AITUNE_ASSIGN_OR_RETURN(c10::IValue read, FromScalar(key));
    info.keys.push_back(std::move(read));
  }
  if (kind == Kind::kDict && proto.keys_size() != proto.children_size())
    return Damaged("a dict with other keys than values");
  std::vector<Structure> children;
  for (const StructureProto& child : proto.children()) {
    AITUNE_ASSIGN_OR_RETURN(Structure read, Read(child, depth + 1));
    children.push_back(std::move(read));
  }
  return ContainerStructure(kind, std::move(children), std::move(info));
}

}  // namespace

absl::StatusOr<StructureProto> ToProto(const Structure& structure) {
  StructureProto proto;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kUnimplemented, "",
                      [&] { return Write(structure, &proto); });
  if (!status.ok()) return status;
  return proto;
}

absl::StatusOr<Structure> FromProto(const StructureProto& proto) {
  absl::StatusOr<Structure> structure;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        structure = Read(proto, 0);
        return structure.status();
      });
  if (!status.ok()) return status;
  return structure;
}

}  // namespace aitune::frontend
