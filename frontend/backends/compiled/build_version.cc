#include "frontend/backends/compiled/build_version.h"

#include <ATen/core/ivalue.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/backends/compiled/version_inputs.h"
#include "frontend/compiled_model/build_logs.h"
#include "frontend/values/gpu.h"
#include "runtime/device/device.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// How far beyond a call's size a dynamic axis is compiled for.
constexpr int kReach = 2;

// How long coordinate_descent_tuning searches where no budget is given. Chosen
// so that a build stays one to wait for; no measurement stands behind it.
constexpr double kSearchSeconds = 20;

using Built = absl::StatusOr<std::unique_ptr<CompiledModel>>;

// Whether the version takes the call that it is built for.
bool FitsCall(const CompiledModel& built, const VersionRequest& request) {
  return built.Fits(ToDevice(request.arguments, built.device()));
}

// The version that `request.asked` says; null where that does not describe the
// call.
Built BuildAsked(const VersionRequest& request, const BuildOptions& build) {
  if (request.is_first) {
    Built built = CompiledModel::Build(request.model, *request.asked, build);
    // The model may raise at the largest sizes of the ranges.
    if (!built.ok() && !absl::IsInvalidArgument(built.status())) return built;
    if (built.ok() && FitsCall(**built, request)) return built;
  }
  const absl::StatusOr<std::vector<int64_t>> sizes =
      SymbolSizes(request.asked->specs, request.arguments);
  if (!sizes.ok() || sizes->empty()) return nullptr;
  BuildOptions anchored = build;
  anchored.trace.anchor = *sizes;
  ModelInputs inputs = *request.asked;
  inputs.samples.reset();
  Built built = CompiledModel::Build(request.model, inputs, anchored);
  if (absl::IsInvalidArgument(built.status())) {
    // The model may raise at other sizes of the ranges only.
    AITUNE_ASSIGN_OR_RETURN(
        inputs.specs, WithSizesOf(request.asked->specs, request.arguments));
    Built fixed = CompiledModel::Build(request.model, inputs, build);
    if (fixed.ok()) built = std::move(fixed);
  }
  AITUNE_RETURN_IF_ERROR(built.status());
  if (!FitsCall(**built, request)) return nullptr;
  return built;
}

// `wanted` with fixed sizes where the model takes no others.
std::vector<InputDescription> WithoutFixedAxes(const VersionRequest& request) {
  // By symbol: whether the model can be traced with it alone dynamic.
  const auto only = [&](int symbol) {
    std::vector<InputDescription> inputs(request.wanted.begin(),
                                         request.wanted.end());
    ForEachDynamicAxis(inputs, request.arguments,
                       [&](AxisRange& range, int64_t size) {
                         if (range.symbol != symbol) range = {size, size, -1};
                       });
    return inputs;
  };
  const auto traces = [&](int symbol) {
    const ModelInputs inputs =
        InputsToBuild(only(symbol), request.arguments, kReach);
    absl::StatusOr<std::vector<int64_t>> sizes =
        SymbolSizes(inputs.specs, request.arguments);
    TraceOptions options;
    if (sizes.ok()) options.anchor = *std::move(sizes);
    return MakeTrace(request.model, inputs, options).ok();
  };
  std::map<int, bool> works;
  std::vector<InputDescription> result(request.wanted.begin(),
                                       request.wanted.end());
  ForEachDynamicAxis(result, request.arguments,
                     [&](AxisRange& range, int64_t size) {
                       auto [known, added] = works.emplace(range.symbol, false);
                       if (added && range.symbol >= 0)
                         known->second = traces(range.symbol);
                       if (!known->second) range = {size, size, -1};
                     });
  return result;
}

}  // namespace

CompileOptions OptionsOfVersion(const CompileSettings& settings,
                                const InductorOptions& configured,
                                const Device& device) {
  CompileOptions options = settings.options;
  options.compileTo = CompilePhase::Executable;
  options.device = device.ToString();
  options.measureCandidates &= configured.max_autotune;
  options.quantization = configured.quantization;
  options.emulateEagerCasts |= configured.emulate_precision_casts;
  options.uncheckedIndices |= configured.unchecked_indices;
  options.tf32Matmul |= configured.tf32_matmul;
  options.tf32Convolution &= configured.tf32_convolution;
  if (configured.cpp_threads > 0)
    options.threads = static_cast<int>(configured.cpp_threads);
  if (configured.coordinate_descent_tuning && options.tuning.budgetSeconds <= 0)
    options.tuning.budgetSeconds = kSearchSeconds;
  if (!configured.debug_dir.empty())
    options.dumpDirectory = configured.debug_dir;
  return options;
}

Built BuildVersion(const VersionRequest& request, const BuildOptions& asked) {
  BuildOptions build = asked;
  // The first one is fastest for the lengths of loops that it has unrolled, and
  // the next is for all.
  build.trace.rolled_loops = !request.is_first;
  const ModelInputs inputs =
      InputsToBuild(request.wanted, request.arguments, kReach);
  LogOutputCode(
      request.model,
      request.asked != nullptr && request.is_first ? *request.asked : inputs,
      build);
  if (request.asked != nullptr) {
    Built built = BuildAsked(request, build);
    if (!built.ok() || *built != nullptr) return built;
  }
  // The version must be right for this call, whatever else it is right for.
  const auto build_for = [&](const ModelInputs& wanted) -> Built {
    BuildOptions around = build;
    if (!wanted.samples.has_value()) {
      AITUNE_ASSIGN_OR_RETURN(around.trace.anchor,
                              SymbolSizes(wanted.specs, request.arguments));
    }
    return CompiledModel::Build(request.model, wanted, around);
  };
  Built compiled = build_for(inputs);
  if (compiled.ok() || inputs.samples.has_value() ||
      !absl::IsInvalidArgument(compiled.status()))
    return compiled;
  // The model itself may refuse sizes above those of the call (by a table of
  // positions, for example): try a version for sizes up to those of the call.
  compiled = build_for(InputsToBuild(request.wanted, request.arguments, 1));
  if (compiled.ok() || !absl::IsInvalidArgument(compiled.status()))
    return compiled;
  // Or an axis must have exactly its size (that of a weight, for example).
  const std::vector<InputDescription> possible = WithoutFixedAxes(request);
  Log(LogChannel::kDynamic,
      absl::StrCat(request.name, ": not every axis can be dynamic: ",
                   std::string(compiled.status().message())));
  return build_for(InputsToBuild(possible, request.arguments, kReach));
}

CompileOptionsProto ToProto(const CompileOptions& options) {
  CompileOptionsProto proto;
  proto.set_choose_by_rule(!options.measureCandidates);
  proto.set_emulate_eager_casts(options.emulateEagerCasts);
  proto.set_unchecked_indices(options.uncheckedIndices);
  proto.set_tf32_matmul(options.tf32Matmul);
  proto.set_exact_convolution(!options.tf32Convolution);
  proto.set_threads(options.threads);
  proto.set_target(options.target);
  return proto;
}

CompileOptions FromProto(const CompileOptionsProto& proto) {
  CompileOptions options;
  options.measureCandidates = !proto.choose_by_rule();
  options.emulateEagerCasts = proto.emulate_eager_casts();
  options.uncheckedIndices = proto.unchecked_indices();
  options.tf32Matmul = proto.tf32_matmul();
  options.tf32Convolution = !proto.exact_convolution();
  options.threads = proto.threads();
  options.target = proto.target();
  return options;
}

}  // namespace aitune::frontend
