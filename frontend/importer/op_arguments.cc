// How an OpImporter reads the arguments of its call.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/importer/op_importer.h"
#include "frontend/importer/type_promotion.h"

namespace aitune::frontend {
namespace {

using llvm::SmallVector;

std::string Quote(std::string_view name) {
  return absl::StrCat("argument '", absl::string_view(name.data(), name.size()),
                      "'");
}

// The text a reason gives for what an argument is.
std::string Describe(const Argument* argument) {
  if (!argument) return "not in the schema";
  if (std::holds_alternative<NoneArgument>(*argument)) return "None";
  if (std::holds_alternative<ValueId>(*argument)) return "a tensor";
  if (std::holds_alternative<std::vector<ValueId>>(*argument))
    return "a list of tensors";
  if (std::holds_alternative<std::string>(*argument)) return "a string";
  if (std::holds_alternative<ScalarTypeArgument>(*argument)) return "a dtype";
  if (std::holds_alternative<double>(*argument)) return "a float";
  if (std::holds_alternative<bool>(*argument)) return "a bool";
  if (std::holds_alternative<SizeExpression>(*argument)) return "an int";
  return "a list of numbers";
}

absl::Status NotA(std::string_view name, absl::string_view wanted,
                  const Argument* argument) {
  return Reject(
      absl::StrCat(Quote(name), " is ", Describe(argument), ", not ", wanted));
}

}  // namespace

absl::Status Reject(std::string reason) {
  return absl::UnimplementedError(reason);
}

const Argument* OpImporter::Find(std::string_view name) const {
  for (size_t i = 0; i < op_.argument_names.size() && i < op_.arguments.size();
       ++i) {
    if (op_.argument_names[i] == name) return &op_.arguments[i];
  }
  return nullptr;
}

bool OpImporter::IsNone(std::string_view name) const {
  const Argument* argument = Find(name);
  if (!argument || std::holds_alternative<NoneArgument>(*argument)) return true;
  const ValueId* id = std::get_if<ValueId>(argument);
  return id && *id < 0;
}

absl::StatusOr<mlir::Value> OpImporter::Tensor(std::string_view name) {
  const Argument* argument = Find(name);
  const ValueId* id = argument ? std::get_if<ValueId>(argument) : nullptr;
  if (!id || *id < 0) return NotA(name, "a tensor", argument);
  const TraceValue& value = state_.trace().values[*id];
  if (value.kind == TraceValue::Kind::kOpaque) {
    return Reject(
        absl::StrCat(Quote(name), " is a value only LibTorch understands",
                     value.why_opaque.empty() ? "" : ": ", value.why_opaque));
  }
  mlir::Value tensor = state_.Value(*id);
  if (!tensor)
    return absl::InternalError(
        absl::StrCat(Quote(name), " reads a value that nothing produced"));
  return tensor;
}

absl::StatusOr<mlir::Value> OpImporter::OptionalTensor(std::string_view name) {
  if (IsNone(name)) return mlir::Value();
  return Tensor(name);
}

absl::StatusOr<SmallVector<mlir::Value>> OpImporter::Tensors(
    std::string_view name) {
  const Argument* argument = Find(name);
  const auto* ids =
      argument ? std::get_if<std::vector<ValueId>>(argument) : nullptr;
  if (!ids) return NotA(name, "a list of tensors", argument);
  SmallVector<mlir::Value> tensors;
  for (ValueId id : *ids) {
    if (id >= 0 &&
        state_.trace().values[id].kind == TraceValue::Kind::kOpaque) {
      return Reject(absl::StrCat(Quote(name),
                                 " holds a value only LibTorch understands: ",
                                 state_.trace().values[id].why_opaque));
    }
    tensors.push_back(id < 0 ? mlir::Value() : state_.Value(id));
    if (id >= 0 && !tensors.back()) {
      return absl::InternalError(
          absl::StrCat(Quote(name), " reads a value that nothing produced"));
    }
  }
  return tensors;
}

absl::StatusOr<Operand> OpImporter::TensorOrNumber(std::string_view name) {
  const Argument* argument = Find(name);
  Operand operand;
  if (const ValueId* id = argument ? std::get_if<ValueId>(argument) : nullptr) {
    AITUNE_ASSIGN_OR_RETURN(operand.tensor, Tensor(name));
    operand.dtype = DataTypeOf(operand.tensor);
    operand.has_axes = RankOf(operand.tensor) > 0;
    if (!operand.has_axes) operand.number = state_.ConstantNumber(*id);
    return operand;
  }
  AITUNE_ASSIGN_OR_RETURN(operand.number, Number(name));
  operand.dtype = operand.number->WrappedDataType();
  return operand;
}

absl::Status OpImporter::CheckFits(const Operand& value, DataType dtype) {
  if (value.number || !MayExceed(value.dtype, dtype)) return absl::OkStatus();
  return Reject(absl::StrCat("a number of ", std::string(Name(value.dtype)),
                             " may be beyond ", std::string(Name(dtype))));
}

absl::StatusOr<Scalar> OpImporter::Number(std::string_view name) {
  const Argument* argument = Find(name);
  if (!argument) return NotA(name, "a number", argument);
  if (const bool* value = std::get_if<bool>(argument)) return Scalar(*value);
  if (const double* value = std::get_if<double>(argument))
    return Scalar(*value);
  if (const SizeExpression* value = std::get_if<SizeExpression>(argument))
    return Scalar(state_.ToSize(*value));
  if (const ValueId* id = std::get_if<ValueId>(argument); id && *id >= 0) {
    if (std::optional<Scalar> number = state_.ConstantNumber(*id))
      return *number;
    return Reject(
        absl::StrCat(Quote(name), " is a number that depends on data"));
  }
  return NotA(name, "a number", argument);
}

absl::StatusOr<double> OpImporter::Double(std::string_view name) {
  AITUNE_ASSIGN_OR_RETURN(Scalar number, Number(name));
  if (!number.is_static())
    return Reject(
        absl::StrCat(Quote(name), " depends on the sizes of the inputs"));
  return number.AsDouble();
}

absl::StatusOr<bool> OpImporter::Bool(std::string_view name) {
  AITUNE_ASSIGN_OR_RETURN(double number, Double(name));
  return number != 0;
}

absl::StatusOr<int64_t> OpImporter::Int(std::string_view name) {
  AITUNE_ASSIGN_OR_RETURN(Scalar number, Number(name));
  if (number.kind() == Scalar::Kind::kFloat)
    return NotA(name, "an int", Find(name));
  if (!number.is_static())
    return Reject(
        absl::StrCat(Quote(name), " depends on the sizes of the inputs"));
  return number.AsInt();
}

absl::StatusOr<mlir::AffineExpr> OpImporter::Size(std::string_view name) {
  AITUNE_ASSIGN_OR_RETURN(Scalar number, Number(name));
  if (number.kind() == Scalar::Kind::kFloat)
    return NotA(name, "an int", Find(name));
  return number.is_static() ? Constant(number.AsInt()) : number.size();
}

absl::StatusOr<Sizes> OpImporter::SizeList(std::string_view name) {
  const Argument* argument = Find(name);
  if (!argument) return NotA(name, "a list of ints", argument);
  if (const auto* list = std::get_if<std::vector<SizeExpression>>(argument))
    return state_.ToSizes(*list);
  if (const auto* ids = std::get_if<std::vector<ValueId>>(argument)) {
    Sizes sizes;
    for (ValueId id : *ids) {
      std::optional<Scalar> number =
          id < 0 ? std::nullopt : state_.ConstantNumber(id);
      if (!number || number->kind() == Scalar::Kind::kFloat) {
        return Reject(
            absl::StrCat(Quote(name), " holds a number that depends on data"));
      }
      sizes.push_back(Constant(number->AsInt()));
    }
    return sizes;
  }
  if (const auto* list = std::get_if<std::vector<double>>(argument);
      list && list->empty())
    return Sizes();
  if (const auto* list = std::get_if<std::vector<bool>>(argument);
      list && list->empty())
    return Sizes();
  AITUNE_ASSIGN_OR_RETURN(mlir::AffineExpr single, Size(name));
  return Sizes{single};
}

absl::StatusOr<SmallVector<int64_t>> OpImporter::Ints(std::string_view name) {
  AITUNE_ASSIGN_OR_RETURN(Sizes sizes, SizeList(name));
  SmallVector<int64_t> ints;
  for (mlir::AffineExpr size : sizes) {
    std::optional<int64_t> value = StaticSize(size);
    if (!value)
      return Reject(
          absl::StrCat(Quote(name), " depends on the sizes of the inputs"));
    ints.push_back(*value);
  }
  return ints;
}

absl::StatusOr<SmallVector<int64_t>> OpImporter::Ints(std::string_view name,
                                                      size_t count) {
  AITUNE_ASSIGN_OR_RETURN(SmallVector<int64_t> ints, Ints(name));
  if (ints.size() == 1) ints.assign(count, int64_t{ints[0]});
  if (ints.size() != count)
    return Reject(absl::StrCat(Quote(name), " has ", ints.size(),
                               " numbers, not ", count));
  return ints;
}

absl::StatusOr<std::string> OpImporter::String(std::string_view name) {
  const Argument* argument = Find(name);
  const std::string* value =
      argument ? std::get_if<std::string>(argument) : nullptr;
  if (!value) return NotA(name, "a string", argument);
  return *value;
}

absl::StatusOr<int64_t> OpImporter::Dim(std::string_view name, int64_t rank) {
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, Int(name));
  const int64_t axes = std::max<int64_t>(rank, 1);
  if (dim < -axes || dim >= axes) {
    return Reject(absl::StrCat(Quote(name), " is ", dim,
                               ", which is no axis of a tensor of rank ",
                               rank));
  }
  return dim < 0 ? dim + axes : dim;
}

absl::StatusOr<SmallVector<int64_t>> OpImporter::Dims(std::string_view name,
                                                      int64_t rank,
                                                      bool empty_is_all) {
  SmallVector<int64_t> dims;
  if (!IsNone(name)) {
    AITUNE_ASSIGN_OR_RETURN(dims, Ints(name));
    for (int64_t& dim : dims) {
      const int64_t axes = std::max<int64_t>(rank, 1);
      if (dim < -axes || dim >= axes) {
        return Reject(absl::StrCat(Quote(name), " holds ", dim,
                                   ", which is no axis of a tensor of rank ",
                                   rank));
      }
      if (dim < 0) dim += axes;
    }
    llvm::sort(dims);
    if (std::adjacent_find(dims.begin(), dims.end()) != dims.end()) {
      return Reject(absl::StrCat(Quote(name), " names an axis twice"));
    }
    if (!dims.empty() || !empty_is_all) {
      if (rank == 0) dims.clear();
      return dims;
    }
  }
  for (int64_t dim = 0; dim < rank; ++dim) dims.push_back(dim);
  return dims;
}

}  // namespace aitune::frontend
