#include "frontend/tracing/operator_traits.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <set>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "frontend/torchscript/hidden_writes.h"
#include "frontend/torchscript/operator_tags.h"

namespace aitune::frontend {
namespace {

// The boolean or number that this is.
std::optional<double> NumberIn(const c10::IValue& value) {
  if (value.isBool()) return value.toBool() ? 1 : 0;
  if (value.isDouble()) return value.toDouble();
  if (value.isInt()) return static_cast<double>(value.toInt());
  return std::nullopt;
}

// The one boolean or number that an argument holds in all probes.
std::optional<double> UniformNumber(const ProbedValue& value) {
  if (value.kind != ProbedValue::Kind::kPlain || !value.uniform)
    return std::nullopt;
  return NumberIn(value.probes[0]);
}

void CollectInts(const ProbedValue& value, std::vector<int64_t>& ints) {
  if (value.kind == ProbedValue::Kind::kPlain && value.uniform &&
      value.probes[0].isInt()) {
    ints.push_back(value.probes[0].toInt());
  }
  for (const ProbedRef& element : value.elements) CollectInts(*element, ints);
}

}  // namespace

std::string LocationOf(const torch::jit::Node& node) {
  torch::jit::SourceRange range = node.sourceRange();
  if (const auto original = range.findSourceRangeThatGenerated())
    range = *original;
  const auto place = range.file_line_col();
  return place ? absl::StrCat(std::get<0>(*place), ":", std::get<1>(*place))
               : std::string();
}

bool IsMetadataQuery(const c10::FunctionSchema& schema) {
  static const auto* const kNames =
      new std::set<std::string>{"aten::size",
                                "aten::sym_size",
                                "aten::dim",
                                "aten::ndimension",
                                "aten::numel",
                                "aten::sym_numel",
                                "aten::stride",
                                "aten::sym_stride",
                                "aten::storage_offset",
                                "aten::is_contiguous",
                                "aten::is_floating_point",
                                "aten::is_complex",
                                "aten::is_signed",
                                "aten::get_device",
                                "aten::is_same_size",
                                "aten::is_conj",
                                "aten::is_neg",
                                "aten::result_type",
                                "aten::element_size",
                                "prim::dtype",
                                "prim::device",
                                "prim::shape",
                                "prim::layout",
                                "prim::is_cuda",
                                "prim::is_cpu",
                                "prim::is_sparse",
                                "prim::is_quantized",
                                "prim::is_mkldnn",
                                "prim::is_meta",
                                "prim::is_nested",
                                "prim::is_xpu",
                                "prim::is_mps",
                                "prim::is_vulkan",
                                "prim::is_ipu",
                                "prim::is_maia",
                                "prim::is_xla",
                                "prim::is_mtia",
                                "prim::is_sparse_csr",
                                "prim::requires_grad",
                                "prim::itemsize",
                                "prim::nbytes",
                                "prim::index",
                                "aten::requires_grad",
                                "aten::result_type"};
  if (kNames->count(schema.name()) > 0) return true;
  // len(tensor), and containers of tensors.
  return schema.name() == "aten::len";
}

bool IsTypeQuery(const c10::FunctionSchema& schema) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::dim",           "aten::ndimension",   "aten::is_floating_point",
      "aten::is_complex",    "aten::is_signed",    "prim::dtype",
      "prim::device",        "prim::layout",       "prim::is_cuda",
      "prim::is_cpu",        "prim::is_sparse",    "prim::is_quantized",
      "prim::requires_grad", "aten::requires_grad"};
  return kNames->count(schema.name()) > 0;
}

bool IsSizeQuery(const c10::FunctionSchema& schema) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::size",      "aten::sym_size", "aten::dim", "aten::ndimension",
      "aten::numel",     "prim::shape",    "aten::len", "aten::is_same_size",
      "aten::sym_numel", "prim::nbytes"};
  return kNames->count(schema.name()) > 0;
}

bool NeedsView(const c10::FunctionSchema& schema) {
  return schema.name() == "aten::view" || schema.name() == "aten::view_as" ||
         schema.name() == "aten::_unsafe_view" ||
         schema.name() == "aten::view_as_complex";
}

bool KeepsSizesOfSelf(const c10::FunctionSchema& schema) {
  return schema.name() == "aten::index_put" ||
         schema.name() == "aten::masked_scatter";
}

namespace {

// Whether the sizes of results follow from elements of arguments for which
// `counts` is true.
bool SizesFollow(const c10::FunctionSchema& schema,
                 const std::vector<ProbedRef>& arguments,
                 absl::FunctionRef<bool(const ProbedValue&)> counts) {
  const std::string& name = schema.name();
  if (name == "aten::where") return arguments.size() == 1;
  if (name == "aten::one_hot") {
    return arguments.size() < 2 ||
           UniformNumber(*arguments[1]).value_or(-1) < 0;
  }
  if (KeepsSizesOfSelf(schema)) return false;
  if (name.rfind("aten::index", 0) == 0 && arguments.size() > 1 &&
      arguments[1]->kind == ProbedValue::Kind::kList) {
    // Only masks select a number of elements that depends on their content.
    return std::any_of(arguments[1]->elements.begin(),
                       arguments[1]->elements.end(),
                       [&](const ProbedRef& index) {
                         return index->IsTensor() && counts(*index) &&
                                (index->type.dtype == DataType::kBool ||
                                 index->type.dtype == DataType::kUInt8);
                       });
  }
  // By what numbers in a tensor say; of repeat_interleave it may be the first.
  if (name == "aten::repeat_interleave" || name == "aten::tensor_split") {
    const bool alone = schema.overload_name() == "Tensor";
    return std::any_of(
        arguments.begin() + (alone ? 0 : 1), arguments.end(),
        [&](const ProbedRef& a) { return a->IsTensor() && counts(*a); });
  }
  return HasSizesOfData(schema);
}

}  // namespace

bool HasDataDependentSizes(const c10::FunctionSchema& schema,
                           const std::vector<ProbedRef>& arguments) {
  return SizesFollow(schema, arguments, IsTainted);
}

bool HasSizesOfElements(const c10::FunctionSchema& schema,
                        const std::vector<ProbedRef>& arguments) {
  return SizesFollow(schema, arguments,
                     [](const ProbedValue&) { return true; });
}

namespace {

bool MayBeRandom(const c10::FunctionSchema& schema) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::dropout_",      "aten::feature_dropout",
      "aten::alpha_dropout", "aten::feature_alpha_dropout",
      "aten::lstm",          "aten::gru",
      "aten::rnn_tanh",      "aten::rnn_relu"};
  return HasTag(schema, at::Tag::nondeterministic_seeded) ||
         kNames->count(schema.name()) > 0;
}

// `number` gives the number that the argument at a position is, if it is known.
bool IsRandom(
    const c10::FunctionSchema& schema,
    absl::FunctionRef<std::optional<double>(size_t position)> number) {
  if (!MayBeRandom(schema)) return false;
  // Those that drop elements do so only in training or with a probability.
  for (const char* name : {"train", "training", "dropout_p", "dropout"}) {
    const std::optional<size_t> position = FindArgument(schema, name);
    if (position && number(*position) == 0.0) return false;
  }
  return true;
}

}  // namespace

bool IsRandom(const c10::FunctionSchema& schema,
              const std::vector<ProbedRef>& arguments) {
  return IsRandom(schema, [&](size_t position) -> std::optional<double> {
    if (position >= arguments.size()) return std::nullopt;
    return UniformNumber(*arguments[position]);
  });
}

bool IsRandom(const torch::jit::Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  return schema != nullptr &&
         IsRandom(*schema, [&](size_t position) -> std::optional<double> {
           if (position >= node.inputs().size()) return std::nullopt;
           const std::optional<c10::IValue> value =
               torch::jit::toIValue(node.inputs()[position]);
           return value ? NumberIn(*value) : std::nullopt;
         });
}

bool DrawsRandomNumbers(const torch::jit::Block& block) {
  const auto nodes = block.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const torch::jit::Node* node) {
                       const auto blocks = node->blocks();
                       return IsRandom(*node) ||
                              std::any_of(blocks.begin(), blocks.end(),
                                          [](const torch::jit::Block* inner) {
                                            return DrawsRandomNumbers(*inner);
                                          });
                     });
}

bool WritesTensors(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(),
                     [](const c10::Argument& argument) {
                       return argument.alias_info() != nullptr &&
                              argument.alias_info()->isWrite();
                     });
}

bool WritesHidden(const c10::FunctionSchema& schema,
                  const std::vector<ProbedRef>& arguments) {
  const HiddenWrites hidden = HiddenWritesOf(schema);
  if (hidden.flag && *hidden.flag < arguments.size() &&
      UniformNumber(*arguments[*hidden.flag]) == 0.0)
    return false;
  return std::any_of(
      hidden.arguments.begin(), hidden.arguments.end(), [&](size_t i) {
        return i < arguments.size() &&
               !(arguments[i]->kind == ProbedValue::Kind::kPlain &&
                 arguments[i]->probes[0].isNone());
      });
}

bool TakesArgumentCount(const c10::FunctionSchema& schema) {
  if (!schema.is_vararg()) return false;
  // What is made for a node, as prim::tolist, knows the number from that.
  const auto found = torch::jit::findOperatorFor(schema.operator_name());
  return found == nullptr || found->hasOperation();
}

std::optional<size_t> FindArgument(const c10::FunctionSchema& schema,
                                   const std::string& name) {
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (schema.arguments()[i].name() == name) return i;
  }
  return std::nullopt;
}

std::vector<int64_t> SizeDivisors(const c10::FunctionSchema& schema,
                                  const std::vector<ProbedRef>& arguments) {
  std::vector<int64_t> divisors;
  for (const char* name : {"stride", "step", "split_size", "chunks",
                           "downscale_factor", "hop_length", "kernel_size"}) {
    const std::optional<size_t> position = FindArgument(schema, name);
    if (!position || *position >= arguments.size()) continue;
    CollectInts(*arguments[*position], divisors);
    // Pooling strides by the kernel when no stride is given.
    if (!divisors.empty()) break;
  }
  divisors.erase(std::remove_if(divisors.begin(), divisors.end(),
                                [](int64_t d) { return d < 2; }),
                 divisors.end());
  return divisors;
}

bool GivesViewOrCopy(const std::string& name) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::reshape",    "aten::flatten", "aten::unflatten",
      "aten::reshape_as", "aten::ravel",   "aten::contiguous",
      "aten::view_as"};
  return kNames->count(name) > 0;
}

bool HasDataDependentType(const c10::FunctionSchema& schema,
                          const std::vector<ProbedRef>& arguments) {
  const size_t count = std::min(arguments.size(), schema.arguments().size());
  for (size_t i = 0; i < count; ++i) {
    if (arguments[i]->kind != ProbedValue::Kind::kOpaque) continue;
    const c10::Argument& parameter = schema.arguments()[i];
    c10::TypePtr type = parameter.type();
    if (const auto optional = type->cast<c10::OptionalType>())
      type = optional->getElementType();
    const bool lengths =
        type->kind() == c10::TypeKind::ListType &&
        type->containedType(0)->kind() == c10::TypeKind::IntType;
    // keepdim and the like; view(sizes); squeeze(axis).
    if (lengths || type->kind() == c10::TypeKind::BoolType ||
        parameter.name() == "dtype" || schema.name() == "aten::squeeze" ||
        schema.name() == "aten::squeeze_" || schema.name() == "aten::flatten")
      return true;
  }
  return false;
}

bool MayBeOfSeveralTypes(const c10::Type& type) {
  return type.kind() == c10::TypeKind::OptionalType ||
         type.kind() == c10::TypeKind::UnionType ||
         type.kind() == c10::TypeKind::AnyType;
}

}  // namespace aitune::frontend
