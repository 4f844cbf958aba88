#include "frontend/check/eager_runs.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/ivalue.h>

#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "frontend/torchscript/input_queries.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"
#include "frontend/values/random_numbers.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// On the CPU, in memory of its own.
absl::StatusOr<c10::IValue> CopyOf(const absl::StatusOr<c10::IValue>& result) {
  if (!result.ok()) return result;
  try {
    return MapTensors(ToCpu(*result), [](const at::Tensor& tensor, int) {
      return tensor.clone();
    });
  } catch (const std::exception& error) {
    // A GPU kernel's failure is found here.
    return absl::InternalError(error.what());
  }
}

bool SameElements(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.layout() != at::kStrided || b.layout() != at::kStrided)
    return a.layout() == b.layout();
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         a.eq(b).logical_or(a.ne(a).logical_and(b.ne(b))).all().item<bool>();
}

absl::StatusOr<c10::IValue> Call(const RunFunction& run,
                                 const ValueList& arguments,
                                 const Draws& draws) {
  if (!draws.seed) return run(arguments.Clone());
  ScopedRandomNumbers restored(draws.device);
  restored.Seed(*draws.seed);
  return run(arguments.Clone());
}

// The runs that change the inputs alone, which takes less time.
constexpr int kRunsWithItsWeights = 4;

// The largest relative change that rounding to `dtype` makes.
double UnitRoundoff(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return 0x1p-53;
    case at::kFloat:
      return 0x1p-24;
    case at::kHalf:
      return 0x1p-11;
    default:
      return 0x1p-8;
  }
}

// Between -1 and 1 for each element, equal for elements of equal size: a hash
// of the size, as the fraction of a large multiple of a sine.
at::Tensor HashOfSizes(const at::Tensor& exact, double scale, int seed) {
  return exact.abs().mul(1e4 / scale).add(seed).sin().mul(43758.5453).frac();
}

// Each floating-point element changed by up to a rounding of itself or of the
// tensor's scale, of 1 if that is 0. `change` makes numbers between -1 and 1 of
// the exact elements and the scale.
at::Tensor Rounded(
    const at::Tensor& tensor,
    const std::function<at::Tensor(const at::Tensor&, double)>& change) {
  const at::Tensor exact = tensor.to(at::kDouble);
  const double mean_square = exact.square().nanmean().item<double>();
  const double scale = std::isfinite(mean_square) && mean_square > 0
                           ? std::sqrt(mean_square)
                           : 1;
  return exact
      .add(change(exact, scale)
               .mul(UnitRoundoff(tensor.scalar_type()))
               .mul(exact.abs().clamp_min(scale)))
      .to(tensor.options());
}

// Equal elements stay equal.
at::Tensor RoundedBySize(const at::Tensor& tensor, int seed) {
  return Rounded(tensor, [seed](const at::Tensor& exact, double scale) {
    return HashOfSizes(exact, scale, seed).mul(exact.sign());
  });
}

at::Tensor RoundedAtRandom(const at::Tensor& tensor, at::Generator& generator) {
  return Rounded(tensor, [&](const at::Tensor& exact, double) {
    return at::rand(exact.sizes(), generator, at::kDouble)
        .sub(0.5)
        .mul(2)
        .to(exact.device());
  });
}

bool CanRound(const at::Tensor& tensor) {
  return tensor.is_floating_point() && tensor.numel() > 0 &&
         tensor.layout() == at::kStrided;
}

// Changes the weights of a model, and puts them back when it goes. Nobody else
// may use the model meanwhile.
class RoundedWeights {
 public:
  RoundedWeights(const Model& model, int seed) {
    const c10::NoGradGuard no_grad;
    std::set<const void*> seen;
    for (const c10::IValue& value :
         model.impl().module().attributes(/*recurse=*/true)) {
      if (!value.isTensor() || !value.toTensor().defined() ||
          !CanRound(value.toTensor()) ||
          !seen.insert(value.toTensor().const_data_ptr()).second)
        continue;
      const at::Tensor& tensor = value.toTensor();
      originals_.emplace_back(tensor, tensor.clone());
      tensor.copy_(RoundedBySize(tensor, seed));
    }
  }
  ~RoundedWeights() {
    const c10::NoGradGuard no_grad;
    // The last first, as tensors may share memory.
    for (auto it = originals_.rbegin(); it != originals_.rend(); ++it)
      it->first.copy_(it->second);
  }
  RoundedWeights(const RoundedWeights&) = delete;
  RoundedWeights& operator=(const RoundedWeights&) = delete;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> originals_;
};

}  // namespace

bool SameTensors(const c10::IValue& a, const c10::IValue& b) {
  const std::vector<at::Tensor> mine = TensorLeaves(a),
                                theirs = TensorLeaves(b);
  if (mine.size() != theirs.size()) return false;
  for (size_t i = 0; i < mine.size(); ++i) {
    if (!SameElements(mine[i], theirs[i])) return false;
  }
  return true;
}

TwoCalls CallTwice(const RunFunction& run, absl::Span<ModelState* const> states,
                   const ValueList& arguments, const Draws& draws) {
  for (ModelState* state : states) state->Save();
  TwoCalls calls;
  const absl::StatusOr<c10::IValue> held = Call(run, arguments, draws);
  calls.first = CopyOf(held);
  calls.second = CopyOf(Call(run, arguments, draws));
  if (calls.first.ok()) {
    const absl::StatusOr<c10::IValue> after = CopyOf(held);
    calls.first_changed = !after.ok() || !SameTensors(*after, *calls.first);
  }
  for (ModelState* state : states) state->Restore();
  return calls;
}

RunFunction EagerRuns::AsCompared(RunFunction run) const {
  if (!writes_arguments_) return run;
  return [run = std::move(run)](
             const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
    // The call may change the lists and dicts that it is given.
    const ValueList tensors =
        arguments.MapTensors([](const at::Tensor& tensor) { return tensor; });
    AITUNE_ASSIGN_OR_RETURN(c10::IValue result, run(arguments));
    std::vector<c10::IValue> all = {std::move(result)};
    all.insert(all.end(), tensors.values().begin(), tensors.values().end());
    return c10::ivalue::Tuple::create(std::move(all));
  };
}

EagerRuns::EagerRuns(const Model& model, const Draws& draws)
    : draws_(draws),
      writes_arguments_(!FindInputQueries(model).write.empty()),
      model_(model),
      state_(model) {
  run_ = AsCompared([this](const ValueList& arguments) {
    return model_.RunEager(arguments);
  });
}

TwoCalls EagerRuns::Twice(const ValueList& arguments) {
  if (state_.exists()) {
    const ValueList there =
        draws_.device.is_gpu() ? ToDevice(arguments, draws_.device) : arguments;
    ModelState* const states[] = {&state_};
    return CallTwice(run_, states, there, draws_);
  }
  TwoCalls calls;
  calls.first = calls.second = Run(arguments, 1);
  return calls;
}

absl::StatusOr<c10::IValue> EagerRuns::RunWithOtherDraws(
    const ValueList& arguments, int calls) {
  Draws other = draws_;
  if (other.seed) ++*other.seed;
  return Run(arguments, calls, other);
}

absl::StatusOr<c10::IValue> EagerRuns::Run(const ValueList& arguments,
                                           int calls, const Draws& draws) {
  const ScopedModelState restore(state_);
  if (!state_.exists()) calls = 1;
  absl::StatusOr<c10::IValue> result;
  for (int call = 0; call < calls; ++call) {
    result = CopyOf(Call(
        [&](const ValueList& inputs) {
          return run_(draws.device.is_gpu() ? ToDevice(inputs, draws.device)
                                            : inputs);
        },
        arguments, draws));
    if (!result.ok()) break;
  }
  return result;
}

absl::StatusOr<c10::IValue> EagerRuns::RunOtherwise(const ValueList& arguments,
                                                    int calls, int number,
                                                    bool keep_ties) {
  at::Context& context = at::globalContext();
  const bool onednn = context.userEnabledMkldnn();
  auto generator = at::make_generator<at::CPUGeneratorImpl>(number + 1);
  const ValueList rounded = arguments.MapTensors([&](const at::Tensor& tensor) {
    return !CanRound(tensor) ? tensor
           : keep_ties       ? RoundedBySize(tensor, number)
                             : RoundedAtRandom(tensor, generator);
  });
  std::optional<RoundedWeights> weights;
  if (number >= kRunsWithItsWeights) weights.emplace(model_, number);
  context.setUserEnabledMkldnn(onednn && number % 2 == 1);
  const absl::Cleanup restore = [&] { context.setUserEnabledMkldnn(onednn); };
  return Run(rounded, calls);
}

absl::StatusOr<c10::IValue> EagerRuns::RunMoved(const ValueList& arguments,
                                                int calls, int number,
                                                int steps) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(number + 1);
  return Run(arguments.MapTensors([&](const at::Tensor& tensor) {
    if (!CanRound(tensor)) return tensor;
    const at::Tensor exact = tensor.to(at::kDouble);
    // A step is at most two roundings.
    return at::rand(exact.sizes(), generator, at::kDouble)
        .sub(0.5)
        .mul(4 * steps * UnitRoundoff(tensor.scalar_type()))
        .to(exact.device())
        .add(1)
        .mul(exact)
        .to(tensor.options());
  }),
             calls);
}

ValueList Converted(const ValueList& arguments, DataType dtype) {
  const at::ScalarType type = dtype == DataType::kFloat64    ? at::kDouble
                              : dtype == DataType::kBFloat16 ? at::kBFloat16
                                                             : at::kFloat;
  return arguments.MapTensors([type](const at::Tensor& tensor) {
    return tensor.is_floating_point() ? tensor.to(type) : tensor;
  });
}

}  // namespace aitune::frontend
