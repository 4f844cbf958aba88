// Inputs from specifications, and specifications from inputs.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/argument_types.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/values/repeated_elements.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// A bound of a range, or the nearest number of int64 that a double can be: the
// greatest of these has a next one in int64, which randint needs.
int64_t Integer(double bound) {
  constexpr double kLeast = -0x1p63, kMost = 0x1.fffffffffffffp62;
  return static_cast<int64_t>(std::clamp(bound, kLeast, kMost));
}

// Of one axis.
at::Tensor MakeElements(const InputSpec& spec, int64_t count,
                        const at::Generator& generator) {
  const c10::ScalarType type = ToScalarType(spec.dtype);
  if (IsFloatingPoint(spec.dtype)) {
    at::Tensor tensor = at::empty({count}, at::kFloat);
    if (spec.values) {
      tensor.uniform_(spec.values->first, spec.values->second, generator);
    } else {
      tensor.normal_(0, 1, generator);
    }
    return tensor.to(type);
  }
  const auto [low, high] = spec.values.value_or(std::make_pair(0.0, 1.0));
  return at::randint(Integer(low), Integer(high) + 1, {count}, generator,
                     at::TensorOptions().dtype(at::kLong))
      .to(type);
}

at::Tensor MakeTensor(const InputSpec& spec, const std::vector<int64_t>& sizes,
                      const at::Generator& generator) {
  return RepeatedElements(sizes, [&](int64_t count) {
    return MakeElements(spec, count, generator);
  });
}

class Maker {
 public:
  Maker(const SymbolAssignment& symbols, absl::Span<const int64_t> sizes,
        uint64_t seed)
      : symbols_(symbols),
        sizes_(sizes),
        generator_(at::detail::createCPUGenerator(seed)) {}

  c10::IValue Make(const InputSpec& spec) {
    switch (spec.kind) {
      case InputSpec::Kind::kTensor:
        return MakeTensor(spec, Sizes(spec), generator_);
      case InputSpec::Kind::kInt:
        return spec.int_value;
      case InputSpec::Kind::kFloat:
        return spec.float_value;
      case InputSpec::Kind::kBool:
        return spec.int_value != 0;
      case InputSpec::Kind::kString:
        return spec.text;
      case InputSpec::Kind::kNone:
        return c10::IValue();
      case InputSpec::Kind::kTuple:
        return c10::ivalue::Tuple::create(Children(spec));
      case InputSpec::Kind::kList: {
        const std::vector<c10::IValue> children = Children(spec);
        c10::impl::GenericList list(ElementType(children));
        for (const c10::IValue& child : children) list.push_back(child);
        return list;
      }
      case InputSpec::Kind::kDict:
        return MakeDict(spec);
    }
    return {};
  }

 private:
  c10::IValue MakeDict(const InputSpec& spec) {
    const std::vector<c10::IValue> children = Children(spec);
    c10::impl::GenericDict dict(spec.keys.empty()
                                    ? c10::TypePtr(c10::StringType::get())
                                    : Key(spec.keys[0]).type(),
                                ElementType(children));
    for (size_t i = 0; i < children.size(); ++i)
      dict.insert(Key(spec.keys[i]), children[i]);
    return dict;
  }

  static c10::IValue Key(const InputSpec::Key& key) {
    if (const auto* number = std::get_if<std::complex<double>>(&key))
      return c10::complex<double>(*number);
    if (const auto* number = std::get_if<int64_t>(&key)) return *number;
    if (const auto* number = std::get_if<double>(&key)) return *number;
    if (const auto* truth = std::get_if<bool>(&key)) return *truth;
    return std::get<std::string>(key);
  }

  // Without a parameter to say it.
  static c10::TypePtr ElementType(const std::vector<c10::IValue>& children) {
    if (children.empty()) return c10::TensorType::get();
    const c10::TypePtr common = CommonType(children);
    return common != nullptr ? common : c10::AnyType::get();
  }

  std::vector<c10::IValue> Children(const InputSpec& spec) {
    std::vector<c10::IValue> children;
    for (const InputSpec& child : spec.children)
      children.push_back(Make(child));
    return children;
  }

  std::vector<int64_t> Sizes(const InputSpec& spec) {
    const std::vector<int>& of = symbols_.of[next_tensor_++];
    std::vector<int64_t> sizes;
    for (size_t a = 0; a < spec.axes.size(); ++a) {
      sizes.push_back(of[a] < 0 ? spec.axes[a].min
                                : sizes_[static_cast<size_t>(of[a])]);
    }
    return sizes;
  }

  const SymbolAssignment& symbols_;
  absl::Span<const int64_t> sizes_;
  at::Generator generator_;
  size_t next_tensor_ = 0;
};

absl::StatusOr<InputSpec::Key> KeyOf(const c10::IValue& key) {
  if (key.isInt()) return InputSpec::Key(key.toInt());
  if (key.isString()) return InputSpec::Key(key.toStringRef());
  if (key.isDouble() && !std::isnan(key.toDouble()))
    return InputSpec::Key(key.toDouble());
  if (key.isBool()) return InputSpec::Key(key.toBool());
  if (key.isComplexDouble()) {
    const c10::complex<double> number = key.toComplexDouble();
    if (!std::isnan(number.real()) && !std::isnan(number.imag()))
      return InputSpec::Key(std::complex<double>(number.real(), number.imag()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no input specification describes a dict with the key ",
                   Describe(key), "; keys must be numbers or strings"));
}

absl::StatusOr<InputSpec> SpecOf(const c10::IValue& value) {
  InputSpec spec;
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!IsPlainTensor(tensor)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", Describe(value),
                       " is not a dense CPU tensor of a known dtype"));
    }
    spec.dtype = *FromScalarType(tensor.scalar_type());
    for (const int64_t size : tensor.sizes())
      spec.axes.push_back({size, size, ""});
    if (!IsFloatingPoint(spec.dtype) && tensor.numel() > 0) {
      const at::Tensor wide = tensor.to(at::kLong);
      spec.values = {static_cast<double>(wide.min().item<int64_t>()),
                     static_cast<double>(wide.max().item<int64_t>())};
    }
    return spec;
  }
  if (value.isInt()) {
    spec.kind = InputSpec::Kind::kInt;
    spec.int_value = value.toInt();
  } else if (value.isDouble()) {
    spec.kind = InputSpec::Kind::kFloat;
    spec.float_value = value.toDouble();
  } else if (value.isBool()) {
    spec.kind = InputSpec::Kind::kBool;
    spec.int_value = value.toBool();
  } else if (value.isString()) {
    spec.kind = InputSpec::Kind::kString;
    spec.text = value.toStringRef();
  } else if (value.isNone()) {
    spec.kind = InputSpec::Kind::kNone;
  } else if (value.isTuple() || value.isList()) {
    spec.kind =
        value.isTuple() ? InputSpec::Kind::kTuple : InputSpec::Kind::kList;
    const c10::ArrayRef<c10::IValue> elements =
        value.isTuple()
            ? c10::ArrayRef<c10::IValue>(value.toTupleRef().elements())
            : value.toListRef();
    for (const c10::IValue& element : elements) {
      AITUNE_ASSIGN_OR_RETURN(InputSpec child, SpecOf(element));
      spec.children.push_back(std::move(child));
    }
  } else if (value.isGenericDict()) {
    spec.kind = InputSpec::Kind::kDict;
    for (const auto& entry : value.toGenericDict()) {
      AITUNE_ASSIGN_OR_RETURN(InputSpec::Key key, KeyOf(entry.key()));
      AITUNE_ASSIGN_OR_RETURN(InputSpec child, SpecOf(entry.value()));
      spec.keys.push_back(std::move(key));
      spec.children.push_back(std::move(child));
    }
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("no input specification describes ", Describe(value)));
  }
  return spec;
}

}  // namespace

absl::StatusOr<std::vector<InputSpec>> SpecsOf(const ValueList& values) {
  std::vector<InputSpec> specs;
  absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "inputs", [&] {
        for (const c10::IValue& value : values.values()) {
          AITUNE_ASSIGN_OR_RETURN(InputSpec spec, SpecOf(value));
          specs.push_back(std::move(spec));
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return specs;
}

absl::StatusOr<ValueList> MakeInputs(absl::Span<const InputSpec> specs,
                                     absl::Span<const int64_t> sizes,
                                     uint64_t seed) {
  AITUNE_ASSIGN_OR_RETURN(SymbolAssignment symbols, AssignSymbols(specs));
  if (sizes.size() != symbols.symbols.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the inputs have ", symbols.symbols.size(), " symbols, ",
                     sizes.size(), " sizes were given"));
  }
  std::vector<c10::IValue> values;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "making inputs", [&] {
        Maker maker(symbols, sizes, seed);
        for (const InputSpec& spec : specs) values.push_back(maker.Make(spec));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return ValueList(std::move(values));
}

}  // namespace aitune::frontend
