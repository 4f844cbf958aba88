// Nodes that build and take apart values without computing on tensors: they
// leave no operator in the trace.
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/region_runner.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using torch::jit::Node;
using Kind = ProbedValue::Kind;

bool IsNone(const ProbedValue& value) {
  return value.kind == Kind::kPlain && value.probes[0].isNone();
}

// "layer1.0.conv1.weight" from the value's name "self.layer1.0.conv1.weight".
std::string WeightName(const Node* node) {
  const torch::jit::Value* output = node->output();
  if (!output->hasDebugName()) return "";
  return std::string(absl::StripPrefix(output->debugName(), "self."));
}

void MarkKept(ProbedValue& value) {
  value.kept_by_module = value.IsContainer();
  for (const ProbedRef& element : value.elements) MarkKept(*element);
}

ProbedRef SliceTuple(const Node& node, const ProbedValue& tuple) {
  const int64_t size = static_cast<int64_t>(tuple.elements.size());
  const int64_t begin = std::clamp<int64_t>(node.i(c10::attr::beg), 0, size);
  const int64_t end = std::clamp<int64_t>(node.i(c10::attr::end), begin, size);
  return MakeContainer(
      Kind::kTuple,
      {tuple.elements.begin() + begin, tuple.elements.begin() + end}, nullptr);
}

}  // namespace

ModuleState Interpreter::StateAfter() const {
  ModuleState state;
  for (const auto& [key, value] : attributes_set_)
    state.emplace(key, ValueInProbe(*value, 0));
  return state;
}

ProbedRef Interpreter::MakePlain(std::vector<c10::IValue> probes) {
  auto plain = std::make_shared<ProbedValue>();
  plain->uniform = true;
  for (const c10::IValue& probe : probes) {
    // Objects and the like are compared by identity.
    const bool number = probe.isInt() || probe.isDouble() || probe.isBool() ||
                        probe.isString() || probe.isNone() || probe.isDevice();
    plain->uniform =
        plain->uniform &&
        (probe.is(probes[0]) || (number && SamePlainValue(probe, probes[0])));
  }
  plain->probes = std::move(probes);
  return plain;
}

ProbedRef Interpreter::MakeModelConstant(const c10::IValue& value,
                                         const std::string& name) {
  const std::vector<c10::IValue> probes(fitter_.probes().size(), value);
  if (value.isTensor() && value.toTensor().defined()) {
    if (ProbedRef state = FindState(value.toTensor(), name)) return state;
    auto tensor = std::make_shared<ProbedValue>();
    tensor->kind = Kind::kTensor;
    tensor->probes = probes;
    tensor->uniform = true;
    tensor->name = name;
    tensor->has_type = IsPlainTensor(value.toTensor());
    if (tensor->has_type) {
      tensor->type.dtype = *FromScalarType(value.toTensor().scalar_type());
      tensor->type.sizes.assign(value.toTensor().sizes().begin(),
                                value.toTensor().sizes().end());
    }
    functionalizer_.OwnStorage(tensor, /*tainted=*/false, /*constant=*/true,
                               writes_own_);
    return tensor;
  }
  std::vector<ProbedRef> elements;
  if (value.isList()) {
    for (const c10::IValue& item : value.toListRef())
      elements.push_back(MakeModelConstant(item, name));
    return MakeContainer(Kind::kList, std::move(elements), value.type());
  }
  if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements())
      elements.push_back(MakeModelConstant(item, name));
    return MakeContainer(Kind::kTuple, std::move(elements), value.type());
  }
  if (value.isGenericDict()) {
    std::vector<c10::IValue> keys;
    for (const auto& entry : value.toGenericDict()) {
      keys.push_back(entry.key());
      elements.push_back(MakeModelConstant(entry.value(), name));
    }
    ProbedRef dict =
        MakeContainer(Kind::kDict, std::move(elements), value.type());
    dict->keys = std::move(keys);
    return dict;
  }
  return MakePlain(probes);
}

ProbedRef Interpreter::MakeInput(std::vector<c10::IValue> probes,
                                 TensorType type) {
  auto tensor = std::make_shared<ProbedValue>();
  tensor->kind = Kind::kTensor;
  tensor->probes = std::move(probes);
  const ValueId id = builder_.AddTensor(type);
  tensor->type = std::move(type);
  tensor->has_type = true;
  std::vector<ValueId>& inputs = builder_.trace().inputs;
  const size_t place = inputs.size();
  inputs.push_back(id);
  const bool is_written = findings_.written_inputs.count(place) > 0;
  if (!is_written) tensor->id = id;
  functionalizer_.OwnStorage(tensor, /*tainted=*/true, /*constant=*/false,
                             "the model writes to one of its inputs");
  tensor->storage->input = static_cast<int>(place);
  if (is_written)
    ShareInput(*tensor->storage, id, &findings_.overwritten_inputs[place]);
  return tensor;
}

Interpreter::NodeResults Interpreter::RunContainerNode(Node* node) {
  using Optional = std::optional<Results>;
  const Inputs inputs = GetAll(node->inputs());
  const bool opaque = std::any_of(
      inputs.begin(), inputs.end(),
      [](const ProbedRef& input) { return input->kind == Kind::kOpaque; });
  switch (node->kind()) {
    case c10::prim::Constant:
      return RunConstant(node);
    case c10::prim::CreateObject:
      return Optional(
          {MakeContainer(Kind::kObject, {}, node->output()->type())});
    case c10::prim::GetAttr:
      return RunGetAttribute(node, *inputs[0]);
    case c10::prim::SetAttr:
      return RunSetAttribute(node, *inputs[0], inputs[1]);
    case c10::prim::ListConstruct:
      return Optional(
          {MakeContainer(Kind::kList, inputs, node->output()->type())});
    case c10::prim::TupleConstruct:
      return Optional(
          {MakeContainer(Kind::kTuple, inputs, node->output()->type())});
    case c10::prim::DictConstruct:
      return MakeDict(node, inputs);
    case c10::prim::TupleUnpack:
    case c10::prim::ListUnpack:
      if (opaque) return UnpackOpaque(node);
      if (!inputs[0]->IsContainer() ||
          inputs[0]->elements.size() != node->outputs().size()) {
        return absl::InvalidArgumentError(
            "the model unpacks a list or tuple of another length");
      }
      return Optional(inputs[0]->elements);
    case c10::prim::TupleIndex: {
      if (opaque) return UnpackOpaque(node);
      AITUNE_ASSIGN_OR_RETURN(int64_t index,
                              UniformInt(inputs[1], "the index of a tuple"));
      const std::optional<size_t> position =
          PositionOf(index, inputs[0]->elements.size());
      if (!position)
        return absl::InvalidArgumentError(
            "the model reads a list or tuple out of its range");
      return Optional({inputs[0]->elements[*position]});
    }
    case c10::prim::TupleSlice:
      if (opaque) return UnpackOpaque(node);
      return Optional({SliceTuple(*node, *inputs[0])});
    case c10::prim::unchecked_cast:
      return Optional({inputs[0]});
    case c10::prim::unchecked_unwrap_optional:
    case c10::aten::_unwrap_optional:
      if (IsNone(*inputs[0]))
        return absl::InvalidArgumentError(
            "the model unwraps an optional value that is None");
      return Optional({inputs[0]});
    case c10::prim::Uninitialized:
      return Optional({Everywhere(c10::IValue())});
    case c10::prim::Print:
    case c10::aten::warn:
      return Optional(Results());
    case c10::prim::RaiseException: {
      // A text that names sizes names those that were asked for.
      const SizeFunctionRef text = FunctionOf(inputs[0]);
      const absl::StatusOr<c10::IValue> at_anchor =
          text == nullptr
              ? absl::UnavailableError("")
              : SizeEvaluator(region_.anchor(), /*real=*/false).Evaluate(text);
      const c10::IValue message =
          at_anchor.ok() ? *at_anchor : ValueInProbe(*inputs[0], 0);
      return absl::InvalidArgumentError(absl::StrCat(
          "the model raises: ",
          message.isString() ? message.toStringRef() : Describe(message)));
    }
    case c10::aten::__is__:
    case c10::aten::__isnot__:
      return RunIs(node, inputs[0], inputs[1]);
    case c10::prim::isinstance:
      return RunIsInstance(node, *inputs[0]);
    default:
      break;
  }
  if (node->kind().is_prim() && node->maybeOperator() == nullptr && opaque)
    return UnpackOpaque(node);
  return RunContainerOperator(node, inputs);
}

Interpreter::NodeResults Interpreter::UnpackOpaque(Node* node) {
  AITUNE_RETURN_IF_ERROR(RegionRunner(*this).Run(
      node, "it takes apart a value that depends on data"));
  return std::optional<Results>(GetAll(node->outputs()));
}

Interpreter::NodeResults Interpreter::RunConstant(Node* node) {
  ProbedRef& constant = constants_[node];
  // Lists of constants may be changed by the program: made anew each time.
  if (constant == nullptr || constant->IsContainer()) {
    std::optional<c10::IValue> value = torch::jit::toIValue(node->output());
    // A constant None of an optional type has no attribute.
    if (!value && node->numAttributes() == 0) value = c10::IValue();
    if (!value)
      return absl::UnimplementedError(
          "a constant of a type that LibTorch cannot give");
    constant = MakeModelConstant(*value, WeightName(node));
  }
  return std::optional<Results>({constant});
}

Interpreter::NodeResults Interpreter::RunGetAttribute(
    Node* node, const ProbedValue& owner) {
  using Optional = std::optional<Results>;
  const std::string& name = node->s(c10::attr::name);
  if (owner.kind == Kind::kObject) {
    if (const std::optional<size_t> position = FindKey(owner, name))
      return Optional({owner.elements[*position]});
    return absl::InvalidArgumentError(absl::StrCat(
        "the model reads the attribute ", name, " before it is set"));
  }
  if (owner.kind != Kind::kPlain || !owner.probes[0].isObject()) {
    return absl::UnimplementedError(
        "an attribute of something that is no module");
  }
  const c10::ivalue::Object& object = owner.probes[0].toObjectRef();
  const ModuleState::key_type key(&object, name);
  if (const auto set = attributes_set_.find(key); set != attributes_set_.end())
    return Optional({set->second});
  // In a loop one node reads those of several objects.
  ProbedRef& attribute = attributes_[{node, &object}];
  if (attribute == nullptr || attribute->IsContainer()) {
    const std::string path =
        owner.name.empty() ? name : absl::StrCat(owner.name, ".", name);
    const auto held = state_.find(key);
    attribute = MakeModelConstant(
        held != state_.end() ? held->second : object.getAttr(name), path);
    if (attribute->kind == Kind::kPlain) attribute->name = path;
    MarkKept(*attribute);
  }
  return Optional({attribute});
}

Interpreter::NodeResults Interpreter::RunSetAttribute(Node* node,
                                                      ProbedValue& owner,
                                                      const ProbedRef& value) {
  const std::string& name = node->s(c10::attr::name);
  if (owner.kind == Kind::kObject) {
    SetKey(owner, name, value);
    return std::optional<Results>(Results());
  }
  AITUNE_RETURN_IF_ERROR(Settle(value, "an attribute"));
  if (!IsUniform(*value) || IsTainted(*value) || owner.kind != Kind::kPlain ||
      !owner.probes[0].isObject())
    return absl::UnimplementedError(absl::StrCat(
        "the model sets its own attribute ", name, " to what depends on data"));
  attributes_set_[{&owner.probes[0].toObjectRef(), name}] = value;
  return std::optional<Results>(Results());
}

Interpreter::NodeResults Interpreter::MakeDict(Node* node,
                                               const Inputs& inputs) {
  ProbedRef dict = MakeContainer(Kind::kDict, {}, node->output()->type());
  for (size_t i = 0; i + 1 < inputs.size(); i += 2) {
    if (inputs[i]->kind != Kind::kPlain) {
      return absl::UnimplementedError(
          "a dict whose keys are not known without data");
    }
    AITUNE_RETURN_IF_ERROR(Settle(inputs[i], "the key of a dict"));
    SetKey(*dict, inputs[i]->probes[0], inputs[i + 1]);
  }
  return std::optional<Results>({dict});
}

Interpreter::NodeResults Interpreter::RunIs(Node* node, const ProbedRef& a,
                                            const ProbedRef& b) {
  using Optional = std::optional<Results>;
  // A result of control flow may be another tensor, by data.
  const bool may_be_same = a->IsTensor() && b->IsTensor() &&
                           a->storage->unknown_views &&
                           b->storage->unknown_views;
  const bool opaque = a->kind == Kind::kOpaque || b->kind == Kind::kOpaque;
  const bool depends = (opaque || may_be_same) && a != b;
  if (depends && !IsNone(*a) && !IsNone(*b)) {
    return absl::UnimplementedError(
        "whether two names denote one object depends on data");
  }
  if (depends && (MayBeOfSeveralTypes(*node->input(0)->type()) ||
                  MayBeOfSeveralTypes(*node->input(1)->type()))) {
    AITUNE_RETURN_IF_ERROR(RegionRunner(*this).Run(
        node, "whether a value is None depends on data"));
    return Optional(GetAll(node->outputs()));
  }
  // Numbers of sizes are compared as operators compare them.
  const auto is_number = [](const ProbedValue& value) {
    return value.kind == Kind::kPlain && value.probes[0].isScalar();
  };
  if (is_number(*a) && is_number(*b) && !(a->uniform && b->uniform))
    return Optional();
  const bool same = a == b || (IsNone(*a) && IsNone(*b)) ||
                    (a->kind == Kind::kPlain && b->kind == Kind::kPlain &&
                     a->probes[0].is(b->probes[0]));
  return Optional({Everywhere(same == (node->kind() == c10::aten::__is__))});
}

Interpreter::NodeResults Interpreter::RunIsInstance(Node* node,
                                                    const ProbedValue& value) {
  using Optional = std::optional<Results>;
  if (value.kind == Kind::kOpaque &&
      MayBeOfSeveralTypes(*node->input(0)->type())) {
    AITUNE_RETURN_IF_ERROR(
        RegionRunner(*this).Run(node, "the type of a value depends on data"));
    return Optional(GetAll(node->outputs()));
  }
  const c10::TypePtr type = ValueInProbe(value, 0).type();
  const std::vector<c10::TypePtr>& candidates = node->tys(c10::attr::types);
  const bool is = std::any_of(candidates.begin(), candidates.end(),
                              [&](const c10::TypePtr& candidate) {
                                return type->isSubtypeOf(*candidate);
                              });
  return Optional({Everywhere(is)});
}

}  // namespace aitune::frontend
