// What a module knows of its calls before they come: its parameters, and calls
// that make it ready for them.
#include <ATen/core/ivalue.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/module.h"
#include "frontend/api/module_calls.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/values/gpu.h"
#include "frontend/values/torch_util.h"
#include "runtime/control/control.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

using aitune::frontend::ValueList;

// The runs of each call: the first compiles, finds what memory it needs, and
// captures a CUDA graph; the second has the memory that the first gave back;
// the third is as all that follow.
constexpr int kWarmUpRuns = 3;

// The most elements of a tensor that is made of nothing but its signature.
constexpr int64_t kMostElements = int64_t{1} << 28;

// `range` that has `size` too.
void Add(int64_t size, aitune::SizeRange& range) {
  range.min = std::min(range.min, size);
  range.max = std::max(range.max, size);
}

// What is known of `parameter` with that it may be `dtype` of `axes`, too. Of
// other dtypes or ranks nothing is known then.
void Widen(std::optional<aitune::DataType> dtype,
           const std::vector<aitune::SizeRange>& axes, bool is_first,
           ParameterSignature& parameter) {
  if (is_first) {
    parameter.dtype = dtype;
    if (dtype) parameter.axes = axes;
    return;
  }
  if (parameter.dtype != dtype) parameter.dtype.reset();
  if (!parameter.axes || parameter.axes->size() != axes.size()) {
    parameter.axes.reset();
    return;
  }
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    Add(axes[axis].min, (*parameter.axes)[axis]);
    Add(axes[axis].max, (*parameter.axes)[axis]);
  }
}

// A tensor of zeros of the largest sizes, or the smallest where the largest are
// too many elements. Null without a dtype.
std::optional<at::Tensor> ZerosOf(const aitune::TensorSignature& tensor) {
  if (!tensor.dtype) return std::nullopt;
  std::vector<int64_t> most, least;
  int64_t elements = 1;
  bool fits = true;
  for (const aitune::SizeRange& axis : tensor.axes) {
    most.push_back(axis.max);
    least.push_back(
        std::max<int64_t>(axis.min, std::min<int64_t>(axis.max, 1)));
    fits &= !__builtin_mul_overflow(elements, axis.max, &elements) &&
            elements <= kMostElements;
  }
  return at::zeros(fits ? most : least,
                   aitune::frontend::ToScalarType(*tensor.dtype));
}

}  // namespace

std::vector<ParameterSignature> Module::Parameters() const {
  const std::shared_ptr<aitune::frontend::TorchScriptSource> source =
      this->source();
  const std::vector<aitune::BatchedSample> samples = Samples();
  std::vector<ParameterSignature> parameters;
  for (const aitune::frontend::Parameter& from : source->model().parameters())
    parameters.push_back({from.name, from.type, from.has_default, {}, {}});
  std::map<std::string, int> seen;  // tensors, by parameter
  for (const aitune::Signature& version : Signatures()) {
    for (const aitune::TensorSignature& input : version.inputs) {
      for (ParameterSignature& parameter : parameters) {
        if (parameter.name != input.name) continue;
        Widen(input.dtype, input.axes, seen[input.name]++ == 0, parameter);
      }
    }
  }
  if (!seen.empty()) return parameters;
  for (const aitune::BatchedSample& sample : samples) {
    const absl::StatusOr<ValueList> values = source->Unflatten(sample.inputs);
    if (!values.ok()) continue;
    for (size_t i = 0; i < values->values().size() && i < parameters.size();
         ++i) {
      const c10::IValue& value = values->values()[i];
      if (!value.isTensor() || !value.toTensor().defined()) continue;
      std::vector<aitune::SizeRange> axes;
      for (const int64_t size : value.toTensor().sizes())
        axes.push_back({size, size});
      Widen(aitune::frontend::FromScalarType(value.toTensor().scalar_type()),
            axes, seen[parameters[i].name]++ == 0, parameters[i]);
    }
  }
  return parameters;
}

absl::StatusOr<std::vector<ValueList>> Module::KnownCalls() const {
  const std::shared_ptr<aitune::frontend::TorchScriptSource> source =
      this->source();
  std::vector<ValueList> calls;
  for (const aitune::BatchedSample& sample : Samples()) {
    AITUNE_ASSIGN_OR_RETURN(ValueList call, source->Unflatten(sample.inputs));
    calls.push_back(std::move(call));
  }
  if (!calls.empty()) return calls;
  const auto& parameters = source->model().parameters();
  for (const aitune::Signature& version : Signatures()) {
    std::vector<c10::IValue> arguments;
    for (const aitune::TensorSignature& input : version.inputs) {
      // Only a call whose arguments are tensors, each of them one, can be made.
      if (arguments.size() >= parameters.size() ||
          parameters[arguments.size()].name != input.name)
        break;
      const std::optional<at::Tensor> zeros = ZerosOf(input);
      if (!zeros) break;
      arguments.emplace_back(*zeros);
    }
    const bool is_whole =
        arguments.size() == version.inputs.size() &&
        std::all_of(parameters.begin() + arguments.size(), parameters.end(),
                    [](const auto& more) { return more.has_default; });
    if (is_whole) calls.emplace_back(std::move(arguments));
  }
  if (!calls.empty()) return calls;
  return absl::FailedPreconditionError(absl::StrCat(
      name(),
      " can't be warmed up without inputs: it has neither samples nor "
      "versions whose arguments are all tensors; give the arguments of "
      "a call"));
}

absl::Status Module::WarmUp(absl::Span<const ValueList> calls) const {
  std::vector<ValueList> known;
  // A call at the bounds of a version may be one that it does not take, which
  // is no reason to compile another.
  bool is_guessed = false;
  if (calls.empty()) {
    AITUNE_ASSIGN_OR_RETURN(known, KnownCalls());
    calls = known;
    std::lock_guard<std::mutex> lock(mutex_);
    is_guessed = samples_.empty();
  }
  std::optional<aitune::ScopedStance> stance;
  if (is_guessed)
    stance.emplace(aitune::Stance::kFailOnRecompile);
  else if (aitune::CurrentStance() == aitune::Stance::kEagerWhileCompiling)
    stance.emplace(aitune::Stance::kDefault);
  AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                          aitune::Device::ParseCpuOrGpu(options_.device));
  const std::shared_ptr<aitune::frontend::TorchScriptSource> source =
      this->source();
  std::function<absl::Status()> put_back;  // after a call
  const auto run = [&](const ValueList& call) -> absl::Status {
    AITUNE_RETURN_IF_ERROR(RunNow(call, /*compile_now=*/true).status());
    if (device.is_gpu()) aitune::frontend::WaitForStream(device);
    return TakeFailedCheck();
  };
  const auto run_all = [&]() -> absl::Status {
    absl::Status refused;
    bool has_run = calls.empty();
    for (const ValueList& call : calls) {
      absl::Status ran;
      AITUNE_ASSIGN_OR_RETURN(put_back, source->SaveState(call));
      for (int i = 0; i < kWarmUpRuns && ran.ok(); ++i) {
        ran = run(call);
        if (put_back) AITUNE_RETURN_IF_ERROR(put_back());
      }
      if (!ran.ok() && !is_guessed) return ran;
      has_run |= ran.ok();
      refused.Update(ran);
    }
    return has_run ? absl::OkStatus() : refused;
  };
  try {
    return run_all();
  } catch (const std::exception& error) {
    absl::Status status = aitune::frontend::StatusOf(
        error, absl::StatusCode::kInternal, "a call to warm up raised");
    if (put_back) status.Update(put_back());
    return status;
  }
}

absl::Status Module::WarmUpInputs(const aitune::frontend::ModelInputs& inputs,
                                  uint64_t seed) const {
  if (inputs.specs.empty()) {
    AITUNE_ASSIGN_OR_RETURN(const ValueList call,
                            aitune::frontend::TypicalArguments(inputs, seed));
    return WarmUp({call});
  }
  AITUNE_ASSIGN_OR_RETURN(const aitune::frontend::SymbolAssignment assignment,
                          aitune::frontend::AssignSymbols(inputs.specs));
  std::vector<int64_t> most, least;
  for (const aitune::frontend::SymbolSpec& symbol : assignment.symbols) {
    most.push_back(symbol.max);
    least.push_back(symbol.min);
  }
  std::vector<ValueList> calls;
  for (const std::vector<int64_t>& sizes : {most, least}) {
    AITUNE_ASSIGN_OR_RETURN(ValueList call,
                            aitune::frontend::MakeInputs(inputs, sizes, seed));
    calls.push_back(std::move(call));
    if (least == most) break;
  }
  return WarmUp(calls);
}

}  // namespace ait
