#include "frontend/check/judge.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/types/span.h"
#include "frontend/check/arithmetic.h"
#include "frontend/check/dense_numbers.h"
#include "frontend/check/nan_dependence.h"
#include "frontend/check/tf32_operands.h"
#include "frontend/tracing/build_trace.h"
#include "frontend/values/pytree.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

bool HasLowPrecision(const c10::IValue& result) {
  for (const at::Tensor& tensor : TensorLeaves(result)) {
    if (tensor.defined() && (tensor.scalar_type() == at::kHalf ||
                             tensor.scalar_type() == at::kBFloat16)) {
      return true;
    }
  }
  return false;
}

// Whether an output in float16 is not finite where the reference is.
bool Overflows(const c10::IValue& eager, const c10::IValue& reference) {
  const std::vector<at::Tensor> outputs = TensorLeaves(eager),
                                truths = TensorLeaves(reference);
  for (size_t i = 0; i < outputs.size() && i < truths.size(); ++i) {
    if (outputs[i].defined() && outputs[i].scalar_type() == at::kHalf &&
        IsDenseNumbers(outputs[i]) && IsDenseNumbers(truths[i]) &&
        truths[i].sizes() == outputs[i].sizes() &&
        truths[i]
            .to(at::kHalf)
            .isfinite()
            .logical_and(outputs[i].isfinite().logical_not())
            .any()
            .item<bool>())
      return true;
  }
  return false;
}

bool HasOtherNonFinite(const std::vector<Comparison>& outputs) {
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const Comparison& output) {
                       return !output.agrees && output.other_non_finite;
                     });
}

// Where ours differs, as many other runs of eager are looked at; so few, where
// those of all inputs have taken so many seconds. SSDLite's take up to 3.7
// seconds each.
constexpr int kOtherRuns = 20, kFewestOtherRuns = 4;
constexpr double kSecondsOfOtherRuns = 30;

// Where both are finite, or not finite in the same way.
at::Tensor AlikeFinite(const at::Tensor& a, const at::Tensor& b) {
  return a.isfinite()
      .logical_and(b.isfinite())
      .logical_or(a.isnan().logical_and(b.isnan()))
      .logical_or(a.eq(b));
}

// Whether elements of both can be put in place of each other.
bool AreOfOneKind(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() && a.is_floating_point() &&
         a.layout() == at::kStrided && b.layout() == at::kStrided &&
         a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes();
}

// `first`, but each element that is finite where that of `like` is not, or not
// finite where it is, from the first of `others` that is as `like`.
c10::IValue WithFiniteElementsOf(const c10::IValue& like,
                                 const c10::IValue& first,
                                 absl::Span<const c10::IValue> others) {
  const std::vector<at::Tensor> wanted = TensorLeaves(like);
  std::vector<std::vector<at::Tensor>> runs;
  for (const c10::IValue& other : others) runs.push_back(TensorLeaves(other));
  return MapTensors(first, [&](const at::Tensor& tensor, int index) {
    const auto i = static_cast<size_t>(index);
    if (i >= wanted.size() || !AreOfOneKind(tensor, wanted[i])) return tensor;
    at::Tensor chosen = tensor;
    at::Tensor missing = AlikeFinite(tensor, wanted[i]).logical_not();
    for (const std::vector<at::Tensor>& run : runs) {
      if (!missing.any().item<bool>()) break;
      if (i >= run.size() || !AreOfOneKind(run[i], wanted[i])) continue;
      const at::Tensor take =
          missing.logical_and(AlikeFinite(run[i], wanted[i]));
      chosen = at::where(take, run[i], chosen);
      missing = missing.logical_and(take.logical_not());
    }
    return chosen;
  });
}

}  // namespace

Judge::Judge(const Model& model, const CheckOptions& options,
             const Draws& draws, EagerRuns& eager)
    : model_(model), options_(options), draws_(draws), eager_(eager) {
  if (options.with_casts != nullptr)
    with_casts_ = std::make_unique<EagerRuns>(*options.with_casts, draws_);
}

std::vector<Comparison> Judge::CompareWith(const c10::IValue& ours,
                                           const c10::IValue& eager,
                                           const c10::IValue* truth) const {
  ComparisonOptions comparison;
  comparison.relative = options_.tolerance;
  comparison.bound = options_.bound;
  return CompareResults(ours, eager, truth, comparison, arithmetic_);
}

absl::StatusOr<c10::IValue> Judge::RunReference(const Subject& subject,
                                                DataType dtype) {
  if (!options_.reference)
    return absl::UnavailableError("no reference model was given");
  AITUNE_ASSIGN_OR_RETURN(const Model* model, options_.reference(dtype));
  std::unique_ptr<EagerRuns>& runs = references_[model];
  if (runs == nullptr) runs = std::make_unique<EagerRuns>(*model, draws_);
  return runs->Run(Converted(subject.arguments, dtype), subject.call);
}

void Judge::LearnArithmetic(const ValueList& arguments) {
  if (arithmetic_known_) return;
  arithmetic_known_ = true;
  const Model& source = options_.source != nullptr ? *options_.source : model_;
  ModelState state(source);
  const ScopedModelState restore(state);
  const absl::StatusOr<Trace> trace = BuildTrace(source, arguments, {});
  // Without a trace, the tolerances are those of the outputs' own dtypes.
  if (trace.ok()) arithmetic_ = ArithmeticOfOutputs(*trace);
}

std::vector<Comparison> Judge::JudgeNarrowed(const Subject& subject) {
  ComparisonOptions comparison;
  comparison.arithmetic = options_.narrowed_to;
  comparison.finite_as_reference = true;
  comparison.relative = DefaultTolerance(*options_.narrowed_to).relative;
  std::vector<Comparison> outputs =
      CompareResults(subject.ours, subject.eager, nullptr, comparison);
  if (AllAgree(outputs) || with_casts_ == nullptr) return outputs;
  const absl::StatusOr<c10::IValue> casts =
      with_casts_->Run(subject.arguments, subject.call);
  if (!casts.ok()) return outputs;
  // Convert to the dtypes of ours, which are those of the model.
  const std::vector<at::Tensor> wanted = TensorLeaves(subject.eager);
  const c10::IValue restored =
      MapTensors(*casts, [&](const at::Tensor& tensor, int index) {
        return static_cast<size_t>(index) < wanted.size() && tensor.defined() &&
                       tensor.is_floating_point()
                   ? tensor.to(wanted[index].scalar_type())
                   : tensor;
      });
  comparison.relative.reset();
  const std::vector<Comparison> beside =
      CompareResults(subject.ours, restored, &subject.eager, comparison);
  for (size_t i = 0; i < outputs.size() && i < beside.size(); ++i) {
    if (!outputs[i].agrees) outputs[i] = beside[i];
  }
  return outputs;
}

void Judge::JudgeNotFinite(const Subject& subject, const c10::IValue* truth,
                           CaseResult& result,
                           std::vector<Comparison>& outputs) {
  const RunFunction run = [&](const ValueList& arguments) {
    return eager_.Run(arguments, subject.call);
  };
  const absl::StatusOr<WithoutOwnNans> expected = ReplaceIndependentNans(
      run, subject.arguments, subject.eager, subject.ours);
  if (expected.ok() && expected->replaced > 0) {
    result.own_nans_of_eager = expected->replaced;
    outputs = CompareWith(subject.ours, *expected->result, truth);
  }
}

void Judge::JudgeBesidePlainAttention(const Subject& subject,
                                      const c10::IValue* truth,
                                      CaseResult& result,
                                      std::vector<Comparison>& outputs) {
  const RunFunction run = [&](const ValueList& arguments) {
    return eager_.Run(arguments, subject.call);
  };
  const RunFunction run_plain = [&](const ValueList& arguments) {
    return WithPlainAttention(run, arguments);
  };
  const absl::StatusOr<c10::IValue> plain = run_plain(subject.arguments);
  if (!plain.ok()) return;
  std::vector<Comparison> beside_plain =
      CompareWith(subject.ours, *plain, truth);
  if (!AllAgree(beside_plain) && !AllFinite(subject.arguments)) {
    const absl::StatusOr<WithoutOwnNans> expected = ReplaceIndependentNans(
        run_plain, subject.arguments, *plain, subject.ours);
    if (!expected.ok()) return;
    beside_plain = CompareWith(subject.ours, *expected->result, truth);
    if (AllAgree(beside_plain)) result.own_nans_of_eager = expected->replaced;
  }
  if (!AllAgree(beside_plain)) return;
  result.plain_attention = true;
  outputs = std::move(beside_plain);
}

// A reference in float32 says nothing of two kinds of outputs. Those in float32
// are what it gives: LibTorch's norm of ten million elements is wrong in both.
// And where ours or eager alone is not finite, it may be wrong as eager is:
// GELU of an infinity is NaN in LibTorch's vectors of float32 and bfloat16, and
// infinite in those of float64.
void Judge::JudgeInFloat64(const Subject& subject,
                           std::vector<Comparison>& outputs) {
  const std::vector<at::Tensor> eager = TensorLeaves(subject.eager);
  const auto is_open = [&](size_t i) {
    const bool is_float32 = eager.size() == outputs.size() &&
                            eager[i].defined() &&
                            eager[i].scalar_type() == at::kFloat;
    return !outputs[i].agrees && (outputs[i].other_non_finite || is_float32);
  };
  bool any_open = false;
  for (size_t i = 0; i < outputs.size(); ++i) any_open |= is_open(i);
  if (!any_open) return;
  const absl::StatusOr<c10::IValue> wide =
      RunReference(subject, DataType::kFloat64);
  if (!wide.ok()) return;
  std::vector<Comparison> beside =
      CompareWith(subject.ours, subject.eager, &*wide);
  if (beside.size() != outputs.size()) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_open(i) && beside[i].agrees) outputs[i] = std::move(beside[i]);
  }
}

// Eager's float16 overflows, so its distance from `truth` says nothing.
// bfloat16 does not overflow and has fewer bits: ours is right if it is about
// as near.
void Judge::JudgeInBfloat16(const Subject& subject, const c10::IValue& truth,
                            CaseResult& result,
                            std::vector<Comparison>& outputs) {
  const absl::StatusOr<c10::IValue> narrow =
      RunReference(subject, DataType::kBFloat16);
  if (!narrow.ok()) return;
  const std::vector<at::Tensor> eager = TensorLeaves(subject.eager),
                                ours = TensorLeaves(subject.ours);
  const c10::IValue beside =
      MapTensors(*narrow, [&](const at::Tensor& tensor, int index) {
        const auto i = static_cast<size_t>(index);
        if (i >= eager.size() || i >= ours.size() || !tensor.defined() ||
            !tensor.is_floating_point() || !IsDenseNumbers(tensor) ||
            !IsDenseNumbers(eager[i]) || !IsDenseNumbers(ours[i]) ||
            tensor.sizes() != eager[i].sizes() ||
            ours[i].sizes() != eager[i].sizes())
          return tensor;
        // Ours may overflow where eager does.
        return at::where(ours[i].isfinite().logical_or(eager[i].isfinite()),
                         tensor.to(eager[i].scalar_type()), eager[i]);
      });
  std::vector<Comparison> compared = CompareWith(subject.ours, beside, &truth);
  if (!AllAgree(compared)) return;
  result.in_bfloat16 = true;
  outputs = std::move(compared);
}

// What LibTorch's own devices do not agree about, such as which of equal
// elements is first in an order that need not be stable, nobody is held to:
// ours may be as eager is on the CPU.
void Judge::JudgeBesideCpu(const Subject& subject, const c10::IValue* truth,
                           CaseResult& result,
                           std::vector<Comparison>& outputs) {
  if (options_.source == nullptr) return;
  if (on_cpu_ == nullptr)
    on_cpu_ = std::make_unique<EagerRuns>(*options_.source,
                                          Draws{draws_.seed, Device()});
  const absl::StatusOr<c10::IValue> eager =
      on_cpu_->Run(subject.arguments, subject.call);
  if (!eager.ok()) return;
  std::vector<Comparison> beside = CompareWith(subject.ours, *eager, truth);
  if (beside.size() != outputs.size()) return;
  ExcuseTf32(subject, *eager, truth, beside);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].agrees || !beside[i].agrees) continue;
    outputs[i] = std::move(beside[i]);
    result.as_on_cpu = true;
  }
}

// Ours may round operands to tf32 where eager could and did not
// (tf32_operands.h).
void Judge::ExcuseTf32(const Subject& subject, const c10::IValue& eager,
                       const c10::IValue* truth,
                       std::vector<Comparison>& outputs) {
  if (AllAgree(outputs)) return;
  const at::Context& context = at::globalContext();
  if (tf32_model_ == nullptr)
    tf32_model_ = std::make_unique<absl::StatusOr<Model>>(
        WithTf32Operands(model_, context.allowTF32CuDNN(at::Float32Op::CONV),
                         context.allowTF32CuBLAS()));
  if (!tf32_model_->ok()) return;
  if (tf32_ == nullptr)
    tf32_ = std::make_unique<EagerRuns>(**tf32_model_, draws_);
  const absl::StatusOr<c10::IValue> rounded =
      tf32_->Run(subject.arguments, subject.call);
  if (!rounded.ok()) return;
  const std::vector<Comparison> others = CompareWith(*rounded, eager, truth);
  if (others.size() != outputs.size()) return;
  for (size_t i = 0; i < outputs.size(); ++i)
    Excuse(others[i], /*ties_kept=*/true, outputs[i]);
}

// Runs eager again where ours does not agree. Where these runs are as far from
// `truth`, or without one from eager, the input is ill-conditioned: no float
// arithmetic computes it. Half of them keep the ties of the inputs, as integers
// need. Runs that raise, as for a matrix that is now singular, say nothing.
void Judge::ExcuseIllConditioned(const Subject& subject,
                                 const c10::IValue* truth,
                                 std::vector<Comparison>& outputs) {
  const auto most = [&] {
    return other_seconds_ < kSecondsOfOtherRuns ? kOtherRuns : kFewestOtherRuns;
  };
  for (int run = 0; run < most() && !AllAgree(outputs); ++run) {
    const bool keep_ties = run / 2 % 2 == 1;
    const auto begin = std::chrono::steady_clock::now();
    const absl::StatusOr<c10::IValue> other =
        eager_.RunOtherwise(subject.arguments, subject.call, run, keep_ties);
    other_seconds_ +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    if (!other.ok()) continue;
    const std::vector<Comparison> others =
        CompareWith(*other, subject.eager, truth);
    if (others.size() != outputs.size()) return;
    for (size_t i = 0; i < outputs.size(); ++i)
      Excuse(others[i], keep_ties, outputs[i]);
  }
  if (truth == nullptr && AllFinite(subject.arguments))
    JudgeSingular(subject, outputs);
}

// Ours or eager alone is not finite, so there is no distance. Where a step of
// the inputs to a number beside them decides whether eager is, as it does for
// the inverse of a singular matrix, ours is judged by its distance to such a
// run of eager that is as ours there, beside the distances of other runs. Some
// move the inputs by more, as a compiled model rounds several times on the way
// to the result.
void Judge::JudgeSingular(const Subject& subject,
                          std::vector<Comparison>& outputs) {
  constexpr int kFarther = 4;
  if (!HasOtherNonFinite(outputs)) return;
  std::vector<c10::IValue> runs = {subject.eager};
  const auto add_runs = [&](int steps) {
    for (int run = 0; run < kOtherRuns; ++run) {
      absl::StatusOr<c10::IValue> moved =
          eager_.RunMoved(subject.arguments, subject.call, run, steps);
      if (moved.ok()) runs.push_back(*std::move(moved));
    }
  };
  add_runs(1);
  const c10::IValue base =
      WithFiniteElementsOf(subject.ours, subject.eager, runs);
  std::vector<Comparison> beside = CompareWith(subject.ours, base, nullptr);
  if (beside.size() != outputs.size() || HasOtherNonFinite(beside)) return;
  add_runs(kFarther);
  for (const c10::IValue& run : runs) {
    const std::vector<Comparison> distances = CompareWith(
        WithFiniteElementsOf(base, run, absl::MakeConstSpan(&base, 1)), base,
        nullptr);
    if (distances.size() != beside.size()) return;
    for (size_t i = 0; i < beside.size(); ++i)
      Excuse(distances[i], /*ties_kept=*/false, beside[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].other_non_finite && beside[i].agrees)
      outputs[i] = std::move(beside[i]);
  }
}

std::optional<std::vector<Comparison>> Judge::Compare(const Subject& subject,
                                                      CaseResult& result) {
  if (std::string sizes = subject.arguments.Describe();
      sizes != arithmetic_of_) {
    arithmetic_of_ = std::move(sizes);
    arithmetic_known_ = false;
    arithmetic_.clear();
  }
  std::vector<Comparison> outputs =
      CompareWith(subject.ours, subject.eager, nullptr);
  const bool agreed = AllAgree(outputs);
  if (!agreed) {
    const absl::StatusOr<c10::IValue> again =
        eager_.RunWithOtherDraws(subject.arguments, subject.call);
    if (!again.ok() ||
        !AllAgree(CompareResults(*again, subject.eager, nullptr)))
      return std::nullopt;
  }
  if (options_.narrowed_to && !HasBound()) return JudgeNarrowed(subject);
  const bool low_precision = HasLowPrecision(subject.eager);
  if (agreed && !low_precision) return outputs;
  if (!agreed && !HasBound()) LearnArithmetic(subject.arguments);
  // A GPU's float32 may be tf32, no more exact than float16.
  const bool has_tf32 = options_.device.is_gpu();
  const bool in_float32 = low_precision && !has_tf32;
  absl::StatusOr<c10::IValue> reference = RunReference(
      subject, in_float32 ? DataType::kFloat32 : DataType::kFloat64);
  // Not every operator has a kernel for float64.
  if (!reference.ok() && low_precision && has_tf32)
    reference = RunReference(subject, DataType::kFloat32);
  if (!reference.ok() && no_reference_.empty())
    no_reference_ = std::string(reference.status().message());
  const c10::IValue* truth = reference.ok() ? &*reference : nullptr;
  outputs = CompareWith(subject.ours, subject.eager, truth);
  if (!AllAgree(outputs)) {
    const bool all_finite = AllFinite(subject.arguments);
    if (!all_finite) JudgeNotFinite(subject, truth, result, outputs);
    if (!AllAgree(outputs) && (!all_finite || options_.device.is_gpu()))
      JudgeBesidePlainAttention(subject, truth, result, outputs);
    if (!AllAgree(outputs) && in_float32) JudgeInFloat64(subject, outputs);
    if (!AllAgree(outputs) && !HasBound() && truth != nullptr &&
        Overflows(subject.eager, *truth))
      JudgeInBfloat16(subject, *truth, result, outputs);
  }
  if (!AllAgree(outputs) && !HasBound() && has_tf32) {
    ExcuseTf32(subject, subject.eager, truth, outputs);
    result.in_tf32 = AllAgree(outputs);
    if (!AllAgree(outputs)) JudgeBesideCpu(subject, truth, result, outputs);
  }
  if (!AllAgree(outputs) && !HasBound()) {
    ExcuseIllConditioned(subject, truth, outputs);
    result.ill_conditioned = AllAgree(outputs);
  }
  return outputs;
}

}  // namespace aitune::frontend
