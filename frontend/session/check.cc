#include "frontend/session/check.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/ivalue.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/session/gpu.h"
#include "frontend/session/nan_dependence.h"
#include "frontend/session/pytree.h"

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

bool AllAgree(const std::vector<Comparison>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const Comparison& output) { return output.agrees; });
}

ValueList Converted(const ValueList& arguments, at::ScalarType dtype) {
  std::vector<c10::IValue> converted;
  for (const c10::IValue& value : arguments.values()) {
    converted.push_back(
        MapTensors(value, [dtype](const at::Tensor& tensor, int) {
          return tensor.is_floating_point() ? tensor.to(dtype) : tensor;
        }));
  }
  return ValueList(std::move(converted));
}

std::string TypeText(const c10::IValue& value) {
  if (!value.isTensor()) return value.tagKind();
  const at::Tensor& tensor = value.toTensor();
  if (!tensor.defined()) return "undefined";
  std::string dtype = c10::toString(tensor.scalar_type());
  // The names that users write in --input.
  static const std::pair<const char*, const char*> kNames[] = {
      {"Float", "float32"},     {"Double", "float64"}, {"Half", "float16"},
      {"BFloat16", "bfloat16"}, {"Long", "int64"},     {"Int", "int32"},
      {"Short", "int16"},       {"Char", "int8"},      {"Byte", "uint8"},
      {"Bool", "bool"}};
  for (const auto& [torch, ours] : kNames) {
    if (dtype == torch) dtype = ours;
  }
  return absl::StrCat(dtype, "[", absl::StrJoin(tensor.sizes(), ","), "]");
}

absl::StatusOr<c10::IValue> RunReference(const CheckOptions& options,
                                         const ValueList& arguments,
                                         DataType dtype) {
  if (!options.reference) {
    return absl::UnavailableError("no reference model was given");
  }
  absl::StatusOr<const Model*> reference = options.reference(dtype);
  if (!reference.ok()) return reference.status();
  return (*reference)
      ->RunEager(Converted(
          arguments, dtype == DataType::kFloat64 ? at::kDouble : at::kFloat));
}

// Comparisons are made on the CPU.
absl::StatusOr<c10::IValue> OnCpu(absl::StatusOr<c10::IValue> result) {
  if (!result.ok()) return result;
  try {
    return ToCpu(*result);
  } catch (const std::exception& error) {
    // A kernel's failure is found here.
    return absl::InternalError(error.what());
  }
}

// Whether a second run of eager gives the same, within the tolerance.
bool AgreesWithItself(const Model& model, const ValueList& arguments,
                      const c10::IValue& eager) {
  absl::StatusOr<c10::IValue> again = OnCpu(model.RunEager(arguments));
  return again.ok() && AllAgree(CompareResults(*again, eager, nullptr));
}

// On the CPU LibTorch's fused attention takes a row of scores that holds a NaN
// for one that is masked throughout, and gives zeros.
absl::StatusOr<c10::IValue> RunWithPlainAttention(const Model& model,
                                                  const ValueList& arguments) {
  at::Context& context = at::globalContext();
  const bool fused = context.userEnabledFlashSDP();
  context.setSDPUseFlash(false);
  absl::StatusOr<c10::IValue> result = model.RunEager(arguments);
  context.setSDPUseFlash(fused);
  return result;
}

// `arguments` with each floating-point element changed by up to a rounding of
// itself or of the tensor's scale, of 1 if that is 0.
ValueList Rounded(const ValueList& arguments, at::Generator& generator) {
  std::vector<c10::IValue> rounded;
  for (const c10::IValue& value : arguments.values()) {
    rounded.push_back(MapTensors(value, [&](const at::Tensor& tensor, int) {
      if (!tensor.is_floating_point() || tensor.numel() == 0) return tensor;
      const double unit = tensor.scalar_type() == at::kDouble  ? 0x1p-53
                          : tensor.scalar_type() == at::kFloat ? 0x1p-24
                          : tensor.scalar_type() == at::kHalf  ? 0x1p-11
                                                               : 0x1p-8;
      const at::Tensor exact = tensor.to(at::kCPU, at::kDouble);
      const double scale = exact.square().mean().sqrt().item<double>();
      const at::Tensor change = at::rand(tensor.sizes(), generator,
                                         at::TensorOptions().dtype(at::kDouble))
                                    .sub(0.5)
                                    .mul(2 * unit);
      return exact.add(change.mul(exact.abs().clamp_min(scale > 0 ? scale : 1)))
          .to(tensor.options());
    }));
  }
  return ValueList(std::move(rounded));
}

// Runs eager again where ours does not agree: with inputs that differ by
// roundings, and with LibTorch's own convolutions and products in place of
// oneDNN's. Where these runs are as far from `truth`, or without one from
// `eager`, the input is ill-conditioned: no float arithmetic computes it.
void ExcuseIllConditioned(const Model& model, const ValueList& arguments,
                          const c10::IValue& eager, const c10::IValue* truth,
                          std::vector<Comparison>& outputs) {
  constexpr int kRuns = 20;
  at::Context& context = at::globalContext();
  const bool onednn = context.userEnabledMkldnn();
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  for (int run = 0; run < kRuns && !AllAgree(outputs); ++run) {
    context.setUserEnabledMkldnn(onednn && run % 2 == 1);
    const absl::StatusOr<c10::IValue> other =
        OnCpu(model.RunEager(Rounded(arguments, generator)));
    context.setUserEnabledMkldnn(onednn);
    if (!other.ok()) return;
    const std::vector<Comparison> others = CompareResults(*other, eager, truth);
    if (others.size() != outputs.size()) return;
    for (size_t i = 0; i < outputs.size(); ++i) Excuse(others[i], outputs[i]);
  }
}

CaseResult CheckCase(const CompiledModel& compiled, const Model& model,
                     const InputCase& input, const CheckOptions& options,
                     CheckReport& report) {
  CaseResult result;
  result.name = input.name;
  const ValueList arguments = compiled.gpu() < 0
                                  ? input.arguments
                                  : ToGpu(input.arguments, compiled.gpu());
  absl::StatusOr<c10::IValue> eager = OnCpu(model.RunEager(arguments));
  if (!eager.ok()) {
    result.skipped = true;
    result.note = absl::StrCat("eager raises: ", eager.status().message());
    return result;
  }
  absl::StatusOr<c10::IValue> ours = OnCpu(compiled.Run(arguments));
  if (ours.ok()) {
    // The copy waited for what the GPU may have found.
    const absl::Status failed = compiled.TakeFailedCheck();
    if (!failed.ok()) ours = failed;
  }
  if (!ours.ok()) {
    result.note = std::string(ours.status().message());
    return result;
  }
  const bool low_precision = HasLowPrecision(*eager);
  result.outputs = CompareResults(*ours, *eager, nullptr, options.tolerance);
  const bool agreed = AllAgree(result.outputs);
  if (!agreed && !AgreesWithItself(model, arguments, *eager)) {
    result.skipped = true;
    result.outputs.clear();
    result.note = "two runs of eager differ: the model draws random numbers";
    return result;
  }
  if (!agreed || low_precision) {
    // A GPU's float32 may be tf32, no more exact than float16.
    absl::StatusOr<c10::IValue> reference = OnCpu(
        RunReference(options, arguments,
                     low_precision && compiled.gpu() < 0 ? DataType::kFloat32
                                                         : DataType::kFloat64));
    if (!reference.ok() && report.no_reference.empty()) {
      report.no_reference = std::string(reference.status().message());
    }
    const c10::IValue* truth = reference.ok() ? &*reference : nullptr;
    result.outputs = CompareResults(*ours, *eager, truth, options.tolerance);
    if (!AllAgree(result.outputs) && compiled.gpu() < 0 &&
        HasNan(input.arguments)) {
      absl::StatusOr<WithoutOwnNans> expected =
          ReplaceIndependentNans(model, input.arguments, *eager, *ours);
      if (expected.ok() && expected->replaced > 0) {
        result.own_nans_of_eager = expected->replaced;
        result.outputs =
            CompareResults(*ours, *expected->result, truth, options.tolerance);
      }
    }
    if (!AllAgree(result.outputs) && compiled.gpu() < 0 &&
        HasNan(input.arguments)) {
      absl::StatusOr<c10::IValue> plain =
          RunWithPlainAttention(model, input.arguments);
      if (plain.ok()) {
        std::vector<Comparison> outputs =
            CompareResults(*ours, *plain, truth, options.tolerance);
        result.plain_attention = AllAgree(outputs);
        if (result.plain_attention) result.outputs = std::move(outputs);
      }
    }
    if (!AllAgree(result.outputs) && !options.tolerance) {
      ExcuseIllConditioned(model, arguments, *eager, truth, result.outputs);
      result.ill_conditioned = AllAgree(result.outputs);
    }
  }

  const std::vector<Leaf> leaves = Leaves(*eager);
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const Comparison& comparison = result.outputs[i];
    if (report.outputs.size() <= i) {
      report.outputs.push_back({comparison.output,
                                leaves.size() == result.outputs.size()
                                    ? TypeText(*leaves[i].value)
                                    : "",
                                comparison, input.name});
      continue;
    }
    OutputSummary& summary = report.outputs[i];
    const bool worse = comparison.agrees == summary.worst.agrees
                           ? comparison.max_error > summary.worst.max_error
                           : !comparison.agrees;
    if (worse) {
      summary.worst = comparison;
      summary.worst_case = input.name;
    }
  }
  return result;
}

}  // namespace

bool CaseResult::agrees() const {
  return skipped || (note.empty() && AllAgree(outputs));
}

bool CheckReport::compared() const {
  return std::any_of(cases.begin(), cases.end(),
                     [](const CaseResult& result) { return !result.skipped; });
}

bool CheckReport::agrees() const {
  return compared() &&
         std::all_of(cases.begin(), cases.end(),
                     [](const CaseResult& result) { return result.agrees(); });
}

CheckReport CheckAgainstEager(const CompiledModel& compiled, const Model& model,
                              absl::Span<const InputCase> cases,
                              const CheckOptions& options) {
  CheckReport report;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (options.progress) options.progress(static_cast<int>(i), cases.size());
    report.cases.push_back(
        CheckCase(compiled, model, cases[i], options, report));
  }
  return report;
}

}  // namespace aitune::frontend
