#include "frontend/torchscript/model_inputs.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/ivalue.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "frontend/torchscript/argument_types.h"
#include "frontend/torchscript/keyword_arguments.h"
#include "frontend/values/pytree.h"
#include "frontend/values/repeated_elements.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Fill = std::function<at::Tensor(const at::Tensor&, int)>;

ValueList Map(const ValueList& values, const Fill& fill) {
  std::vector<c10::IValue> mapped;
  int base = 0;
  for (const c10::IValue& value : values.values()) {
    int count = 0;
    mapped.push_back(MapTensors(value, [&](const at::Tensor& tensor, int i) {
      count = i + 1;
      return fill(tensor, base + i);
    }));
    base += count;
  }
  return ValueList(std::move(mapped));
}

void ConvertSpec(DataType dtype, InputSpec& spec) {
  if (spec.kind == InputSpec::Kind::kTensor && IsFloatingPoint(spec.dtype)) {
    spec.dtype = dtype;
  }
  for (InputSpec& child : spec.children) ConvertSpec(dtype, child);
}

// Takes the range of values that the samples show where the user gave none:
// indices must stay indices.
void AdoptValues(const InputSpec& sample, InputSpec& spec) {
  if (spec.kind == InputSpec::Kind::kTensor &&
      sample.kind == InputSpec::Kind::kTensor && !spec.values) {
    spec.values = sample.values;
  }
  for (size_t i = 0; i < spec.children.size() && i < sample.children.size();
       ++i) {
    AdoptValues(sample.children[i], spec.children[i]);
  }
}

bool FileExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

// The range of elements of each tensor, in the order of Map.
void CollectRanges(const std::vector<InputSpec>& specs,
                   std::vector<std::optional<std::pair<double, double>>>& to) {
  for (const InputSpec& spec : specs) {
    if (spec.kind == InputSpec::Kind::kTensor) to.push_back(spec.values);
    CollectRanges(spec.children, to);
  }
}

std::string SamplesBeside(const std::string& model_file) {
  if (!absl::EndsWith(model_file, ".pt")) return "";
  std::string path = absl::StrCat(
      absl::StripSuffix(absl::string_view(model_file), ".pt"), ".inputs.pt");
  return FileExists(path) ? path : "";
}

absl::Status CheckCount(const Model& model, size_t given,
                        const std::string& source) {
  size_t required = 0;
  for (const Parameter& parameter : model.parameters()) {
    required += !parameter.has_default;
  }
  const size_t most = model.parameters().size();
  if (given >= required && given <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      source,
      given == 1 ? " gives 1 input" : absl::StrCat(" gives ", given, " inputs"),
      ", but the model takes ",
      required == most ? absl::StrCat(most)
                       : absl::StrCat(required, " to ", most),
      ": ", model.Signature()));
}

// Elements of `tensor` in random order: in its range, and as often.
at::Tensor Shuffled(const at::Tensor& tensor, at::Generator& generator) {
  if (tensor.numel() < 2) return tensor;
  at::Tensor order = at::randperm(tensor.numel(), generator, at::kLong);
  return tensor.flatten().index_select(0, order).view(tensor.sizes());
}

// Normally distributed elements in a tensor of that one's sizes and dtype.
at::Tensor NormalLike(const at::Tensor& tensor, at::Generator& generator) {
  return RepeatedElements(tensor.sizes(), [&](int64_t count) {
    return at::randn({count}, generator, at::TensorOptions().dtype(at::kFloat))
        .to(tensor.scalar_type());
  });
}

std::vector<int64_t> Sizes(const std::vector<SymbolSpec>& symbols,
                           const std::function<int64_t(const SymbolSpec&)>& f) {
  std::vector<int64_t> sizes;
  for (const SymbolSpec& symbol : symbols) sizes.push_back(f(symbol));
  return sizes;
}

// Gives dynamic axes of `specs` the sizes of `described`. Fixed ones stay.
void FixAxes(const std::vector<InputSpec>& described,
             std::vector<InputSpec>& specs) {
  for (size_t i = 0; i < specs.size() && i < described.size(); ++i) {
    std::vector<AxisSpec>& axes = specs[i].axes;
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      if (axes[axis].dynamic() && axis < described[i].axes.size())
        axes[axis] = described[i].axes[axis];
    }
    FixAxes(described[i].children, specs[i].children);
  }
}

// Whether a dict with these keys gives arguments by name: a key that is none is
// then an error. Other dicts give them in order.
bool NameParameters(const std::vector<std::string>& names, const Model& model) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::any_of(
        model.parameters().begin(), model.parameters().end(),
        [&](const Parameter& parameter) { return parameter.name == name; });
  });
}

void CollectTensors(const InputSpec& spec,
                    std::vector<const InputSpec*>& tensors) {
  if (spec.kind == InputSpec::Kind::kTensor) tensors.push_back(&spec);
  for (const InputSpec& child : spec.children) CollectTensors(child, tensors);
}

// kInvalidArgument names the first axis of the samples whose size is not the
// one of --input, nor that of the other axes of its name.
absl::Status CheckSampleSizes(absl::Span<const InputSpec> specs,
                              const ValueList& samples,
                              const std::string& source) {
  AITUNE_ASSIGN_OR_RETURN(const SymbolAssignment assignment,
                          AssignSymbols(specs));
  std::vector<const InputSpec*> asked;
  for (const InputSpec& spec : specs) CollectTensors(spec, asked);
  const std::vector<at::Tensor> given = TensorLeaves(samples);
  // By symbol: the size of its first axis.
  std::map<int, int64_t> known;
  for (size_t i = 0; i < asked.size() && i < given.size(); ++i) {
    const std::vector<AxisSpec>& axes = asked[i]->axes;
    const auto differs = [&](const std::string& why) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": tensor ", i, ", ", Describe(given[i]),
                       ", is not one of --input ", ToString(*asked[i]), why));
    };
    if (given[i].defined() &&
        given[i].scalar_type() != ToScalarType(asked[i]->dtype))
      return differs("");
    if (!given[i].defined() ||
        given[i].dim() != static_cast<int64_t>(axes.size()))
      return differs("");
    for (size_t a = 0; a < axes.size(); ++a) {
      const int64_t size = given[i].size(static_cast<int64_t>(a));
      const int symbol = assignment.of[i][a];
      if (symbol < 0) {
        if (size != axes[a].min) return differs("");
        continue;
      }
      const SymbolSpec& range = assignment.symbols[symbol];
      if (size < range.min || size > range.max) return differs("");
      const int64_t first = known.try_emplace(symbol, size).first->second;
      if (size != first)
        return differs(
            absl::StrCat(": axis ", a, " is ", first, " in a tensor before"));
    }
  }
  return absl::OkStatus();
}

// The same without elements in its tensors, which says of which type it is.
InputSpec WithoutElements(InputSpec spec) {
  if (spec.kind == InputSpec::Kind::kTensor) spec.axes = {{0, 0, ""}};
  for (InputSpec& child : spec.children) child = WithoutElements(child);
  return spec;
}

// kInvalidArgument names the first spec that is of another type than its
// parameter.
absl::Status CheckTypes(const Model& model,
                        const std::vector<InputSpec>& specs) {
  const std::vector<c10::TypePtr> types = ParameterTypes(model);
  for (size_t i = 0; i < specs.size() && i < types.size(); ++i) {
    AITUNE_ASSIGN_OR_RETURN(
        const ValueList made,
        MakeInputs({WithoutElements(specs[i])}, /*sizes=*/{}, /*seed=*/0));
    AITUNE_RETURN_IF_ERROR(
        CatchExceptions(absl::StatusCode::kInvalidArgument, "--input", [&] {
          const c10::IValue typed = WithTypes({types[i]}, made).values()[0];
          if (typed.type()->isSubtypeOf(*types[i])) return absl::OkStatus();
          return absl::InvalidArgumentError(absl::StrCat(
              "--input ", ToString(specs[i]), " is ",
              typed.type()->annotation_str(), ", but the parameter ",
              model.parameters()[i].name, " is ", types[i]->annotation_str(),
              "; the model is ", model.Signature()));
        }));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ValueList> MakeInputs(const ModelInputs& inputs,
                                     absl::Span<const int64_t> sizes,
                                     uint64_t seed) {
  AITUNE_ASSIGN_OR_RETURN(ValueList made,
                          MakeInputs(inputs.specs, sizes, seed));
  if (!inputs.with_types) return made;
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInvalidArgument, "making inputs", [&] {
        made = inputs.with_types(made);
        return absl::OkStatus();
      }));
  return made;
}

absl::StatusOr<ModelInputs> ChooseInputs(const Model& model,
                                         const InputChoice& choice) {
  ModelInputs inputs;
  inputs.with_types = [types = ParameterTypes(model)](const ValueList& values) {
    return WithTypes(types, values);
  };
  std::string file = choice.samples_file;
  if (!file.empty()) {
    inputs.source = file;
  } else if (!choice.specs.empty()) {
    inputs.source = "--input";
  } else {
    // Recorded inputs have no elements of their own: samples say more.
    file = SamplesBeside(choice.model_file);
    inputs.source = file;
    if (file.empty()) {
      inputs.samples = model.RecordedInputs();
      inputs.source = "the inputs recorded in the model";
    }
    if (file.empty() && !inputs.samples && !model.parameters().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no inputs given for ", model.Signature(),
          "; add --input \"float32[1,3,224,224]\" (one for each tensor) or "
          "--inputs FILE"));
    }
  }
  if (!file.empty()) {
    std::vector<std::string> names;
    AITUNE_ASSIGN_OR_RETURN(inputs.samples, LoadSamples(file, &names));
    if (NameParameters(names, model)) {
      AITUNE_ASSIGN_OR_RETURN(
          inputs.samples,
          WithKeywordArguments(model, ValueList(), names, *inputs.samples));
    }
  }
  if (inputs.samples) {
    AITUNE_RETURN_IF_ERROR(
        CatchExceptions(absl::StatusCode::kInvalidArgument, inputs.source, [&] {
          inputs.samples = WithParameterTypes(model, *inputs.samples);
          return absl::OkStatus();
        }));
    if (auto status =
            CheckCount(model, inputs.samples->values().size(), inputs.source);
        !status.ok()) {
      return status;
    }
    if (choice.dtype) {
      const at::ScalarType dtype = ToScalarType(*choice.dtype);
      inputs.samples = Map(*inputs.samples, [&](const at::Tensor& tensor, int) {
        return tensor.is_floating_point() ? tensor.to(dtype) : tensor;
      });
    }
  }
  for (const std::string& text : choice.specs) {
    AITUNE_ASSIGN_OR_RETURN(InputSpec spec, ParseInputSpec(text));
    if (choice.dtype) ConvertSpec(*choice.dtype, spec);
    inputs.specs.push_back(std::move(spec));
  }
  if (!inputs.specs.empty()) {
    if (auto status = CheckCount(model, inputs.specs.size(), "--input");
        !status.ok()) {
      return status;
    }
    AITUNE_RETURN_IF_ERROR(CheckTypes(model, inputs.specs));
  }
  if (!inputs.samples) return inputs;
  if (!inputs.specs.empty()) {
    AITUNE_RETURN_IF_ERROR(
        CheckSampleSizes(inputs.specs, *inputs.samples, inputs.source));
  }
  absl::StatusOr<std::vector<InputSpec>> described = SpecsOf(*inputs.samples);
  if (inputs.specs.empty()) {
    // Not every value can be described; samples alone are enough then.
    if (described.ok()) inputs.specs = *std::move(described);
  } else if (described.ok()) {
    for (size_t i = 0; i < inputs.specs.size() && i < described->size(); ++i) {
      AdoptValues((*described)[i], inputs.specs[i]);
    }
  }
  return inputs;
}

absl::StatusOr<ValueList> TypicalArguments(const ModelInputs& inputs,
                                           uint64_t seed) {
  if (inputs.samples) return *inputs.samples;
  AITUNE_ASSIGN_OR_RETURN(SymbolAssignment symbols,
                          AssignSymbols(inputs.specs));
  return MakeInputs(inputs,
                    Sizes(symbols.symbols,
                          [](const SymbolSpec& symbol) { return symbol.max; }),
                    seed);
}

absl::StatusOr<std::vector<int64_t>> SymbolSizes(
    absl::Span<const InputSpec> specs, const ValueList& arguments) {
  AITUNE_ASSIGN_OR_RETURN(SymbolAssignment assignment, AssignSymbols(specs));
  const std::vector<at::Tensor> tensors = TensorLeaves(arguments);
  std::vector<int64_t> sizes;
  for (const SymbolSpec& symbol : assignment.symbols) {
    const auto input = static_cast<size_t>(symbol.input);
    if (input >= tensors.size() || !tensors[input].defined() ||
        tensors[input].dim() <= symbol.axis) {
      return absl::InvalidArgumentError(
          absl::StrCat("the arguments have no axis ", symbol.axis,
                       " of tensor input ", symbol.input));
    }
    sizes.push_back(tensors[input].size(symbol.axis));
    if (sizes.back() < symbol.min || sizes.back() > symbol.max) {
      return absl::InvalidArgumentError(absl::StrCat(
          "axis ", symbol.axis, " of input ", symbol.input, " must be in ",
          symbol.min, "..", symbol.max, ", got ", sizes.back()));
    }
  }
  return sizes;
}

absl::StatusOr<std::vector<InputSpec>> WithSizesOf(std::vector<InputSpec> specs,
                                                   const ValueList& arguments) {
  AITUNE_ASSIGN_OR_RETURN(const std::vector<InputSpec> described,
                          SpecsOf(arguments));
  FixAxes(described, specs);
  return specs;
}

std::vector<SizeCombination> SizesToCheck(
    absl::Span<const SymbolSpec> symbols) {
  const auto combination = [&](const std::string& name, const auto& size) {
    SizeCombination made;
    made.name = name;
    for (const SymbolSpec& symbol : symbols) made.sizes.push_back(size(symbol));
    return made;
  };
  const auto largest = [](const SymbolSpec& symbol) { return symbol.max; };
  std::vector<SizeCombination> combinations = {
      combination("random", largest), combination("random 2", largest)};
  if (symbols.empty()) return combinations;
  combinations.push_back(combination(
      "smallest sizes", [](const SymbolSpec& symbol) { return symbol.min; }));
  combinations.push_back(combination(
      "middle sizes",
      [](const SymbolSpec& symbol) { return (symbol.min + symbol.max) / 2; }));
  return combinations;
}

absl::StatusOr<std::vector<InputCase>> RandomCases(
    const ModelInputs& inputs, absl::Span<const SizeCombination> combinations,
    uint64_t seed) {
  std::vector<InputCase> cases;
  for (const SizeCombination& combination : combinations) {
    // Elements of their own for each.
    AITUNE_ASSIGN_OR_RETURN(ValueList arguments,
                            MakeInputs(inputs, combination.sizes, ++seed));
    cases.push_back({combination.name, std::move(arguments)});
  }
  return cases;
}

absl::StatusOr<std::vector<InputCase>> CheckCases(
    const ModelInputs& inputs, uint64_t seed,
    absl::Span<const std::vector<int64_t>> more_sizes) {
  std::vector<InputCase> cases;
  if (inputs.samples)
    cases.push_back({std::string(kSampleCase), *inputs.samples});
  AITUNE_ASSIGN_OR_RETURN(ValueList base, TypicalArguments(inputs, seed));
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);

  if (!inputs.specs.empty()) {
    AITUNE_ASSIGN_OR_RETURN(SymbolAssignment symbols,
                            AssignSymbols(inputs.specs));
    std::vector<SizeCombination> combinations = SizesToCheck(symbols.symbols);
    for (const std::vector<int64_t>& sizes : more_sizes)
      combinations.push_back(
          {absl::StrCat("sizes ", absl::StrJoin(sizes, ", ")), sizes});
    AITUNE_ASSIGN_OR_RETURN(std::vector<InputCase> random,
                            RandomCases(inputs, combinations, seed));
    std::move(random.begin(), random.end(), std::back_inserter(cases));
  } else {
    for (const char* name : {"random", "random 2"}) {
      cases.push_back({name, Map(base, [&](const at::Tensor& tensor, int) {
                         return tensor.is_floating_point()
                                    ? NormalLike(tensor, generator)
                                    : Shuffled(tensor, generator);
                       })});
    }
  }

  // The range of elements that the user gave holds for these cases too: a mask
  // that is never 0 would be all 0, for which LibTorch's kernels differ from
  // each other. The range of elements of samples is not known.
  std::vector<std::optional<std::pair<double, double>>> ranges;
  if (!inputs.samples) CollectRanges(inputs.specs, ranges);
  for (const auto& [name, value] : {std::pair("zeros", 0.0), {"ones", 1.0}}) {
    cases.push_back(
        {name, Map(base, [&, value = value](const at::Tensor& tensor, int i) {
           const bool given =
               i < static_cast<int>(ranges.size()) && ranges[i].has_value();
           return at::full_like(
               tensor,
               given ? std::clamp(value, ranges[i]->first, ranges[i]->second)
                     : value);
         })});
  }
  bool floating = false;
  Map(base, [&](const at::Tensor& tensor, int) {
    floating |= tensor.is_floating_point() && tensor.numel() > 0;
    return tensor;
  });
  if (!floating) return cases;
  // Beyond the range of exp, within that of every dtype's products.
  cases.push_back({"large", Map(base, [&](const at::Tensor& tensor, int) {
                     return tensor.is_floating_point()
                                ? NormalLike(tensor, generator).mul_(100)
                                : tensor;
                   })});
  cases.push_back({"NaN", Map(base, [](const at::Tensor& tensor, int) {
                     if (!tensor.is_floating_point() || tensor.numel() == 0) {
                       return tensor;
                     }
                     at::Tensor copy =
                         tensor.clone(at::MemoryFormat::Contiguous);
                     copy.view({-1})[copy.numel() / 2].fill_(
                         std::numeric_limits<double>::quiet_NaN());
                     return copy;
                   })});
  return cases;
}

}  // namespace aitune::frontend
