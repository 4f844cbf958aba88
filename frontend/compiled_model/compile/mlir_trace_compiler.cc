// CompileTrace with MLIR: the one place of the session that includes it.
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/dialect/Ait.h"
#include "frontend/compiled_model/compile/libtorch_layers.h"
#include "frontend/compiled_model/compile/libtorch_parts.h"
#include "frontend/compiled_model/compile/worker_program.h"
#include "frontend/compiled_model/compile_trace.h"
#include "frontend/importer/importer.h"
#include "frontend/values/gpu_region_recorder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "quant/options.h"
#include "runtime/cuda/device.h"
#include "runtime/device/device.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Each attempt gives at least one more operator to LibTorch, so the limit only
// bounds the time spent on a model that the compiler hardly supports.
constexpr int kMaxAttempts = 8;

template <typename T>
std::vector<T> Integers(llvm::ArrayRef<int64_t> numbers) {
  return std::vector<T>(numbers.begin(), numbers.end());
}

std::vector<RegionDefinition> RegionsOf(mlir::ModuleOp module) {
  std::vector<RegionDefinition> regions;
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main) return regions;
  main.walk([&](mlir::ait::FallbackOp op) {
    regions.push_back({Integers<int>(op.getTraceOps()),
                       Integers<ValueId>(op.getInputValues()),
                       Integers<ValueId>(op.getOutputValues())});
  });
  return regions;
}

// Adds the operators of `failures` to those that LibTorch runs. Whether there
// was a new one.
bool GiveToLibTorch(const std::vector<KernelFailure>& failures,
                    std::map<int, std::string>& libtorch_ops) {
  bool added = false;
  for (const KernelFailure& failure : failures) {
    for (int64_t op : failure.traceOps) {
      added |=
          libtorch_ops.emplace(static_cast<int>(op), failure.reason).second;
    }
  }
  return added;
}

absl::Status NoCode(const std::vector<KernelFailure>& failures) {
  return absl::InternalError(
      absl::StrCat("no code could be generated for ", failures.front().kernel,
                   ": ", failures.front().reason,
                   failures.size() > 1
                       ? absl::StrCat(" (and ", failures.size() - 1, " more)")
                       : ""));
}

// What the compiler races kernels against. Without measurements there is no
// race, and IR has no speed.
absl::StatusOr<LibTorchOptions> LibTorchFor(const Trace& trace,
                                            const CompileOptions& options) {
  LibTorchOptions libtorch;
  libtorch.makeRegions = [&trace](mlir::ModuleOp module) {
    std::vector<std::unique_ptr<FallbackRegion>> regions;
    for (const RegionDefinition& region : RegionsOf(module))
      regions.push_back(trace.make_fallback_region(region.ops, region.inputs,
                                                   region.outputs));
    return regions;
  };
  if (!options.measureCandidates ||
      options.compileTo != CompilePhase::Executable)
    return libtorch;
  AITUNE_ASSIGN_OR_RETURN(const Device device,
                          Device::ParseCpuOrGpu(options.device));
  if (device.is_gpu()) {
    // What can't be part of a CUDA graph is not worth a race.
    auto recorder = LibTorchRegionRecorder(device);
    if (!recorder.ok()) return libtorch;
    libtorch.recorder = *std::move(recorder);
  }
  *trace.region_place = {device, /*is_trial=*/true};
  libtorch.makePart =
      [parts = std::make_shared<LibTorchParts>(trace, device.is_gpu())](
          absl::Span<const int64_t> ops, const std::set<int64_t>& others) {
        return parts->Make(ops, others);
      };
  return libtorch;
}

// The GPU that is compiled for, as the current one until the compiler is done;
// nothing on the CPU, or where text alone is asked for, which needs no GPU.
absl::StatusOr<std::optional<cuda::ContextScope>> EnterGpu(
    const Device& device, const CompileOptions& options) {
  std::optional<cuda::ContextScope> scope;
  if (!device.is_gpu() || options.compileTo != CompilePhase::Executable)
    return scope;
  AITUNE_ASSIGN_OR_RETURN(const cuda::Device* gpu,
                          cuda::Device::Open(device.gpu()));
  AITUNE_ASSIGN_OR_RETURN(cuda::ContextScope entered,
                          cuda::ContextScope::Enter(*gpu));
  scope.emplace(std::move(entered));
  return scope;
}

// The layers that are not quantised as LibTorch runs them from the start. What
// LibTorch runs because it is faster is looked at before. Tells `known` of
// their weights.
absl::StatusOr<std::vector<QuantizedLayer>> FindLayersOfLibTorch(
    const Trace& trace, const ImportReport& report,
    const std::string& quantization, LayerKnowledge& known) {
  known.elsewhere.clear();
  if (quantization.empty()) return std::vector<QuantizedLayer>();
  AITUNE_ASSIGN_OR_RETURN(const quant::QuantizationOptions asked,
                          quant::ParseQuantizationOptions(quantization));
  std::map<int, std::string> reasons;
  for (const FallbackOp& op : report.fallbacks)
    reasons.emplace(op.trace_op, op.reason);
  return LayersOfLibTorch(
      trace, reasons,
      asked.scheme ? std::string(quant::Name(*asked.scheme)) : "auto",
      &known.elsewhere);
}

absl::StatusOr<CompiledTrace> ImportAndCompile(const Trace& trace,
                                               const CompileOptions& asked) {
  CompileOptions options = asked;
  AITUNE_ASSIGN_OR_RETURN(const Device device,
                          Device::ParseCpuOrGpu(options.device));
  AITUNE_ASSIGN_OR_RETURN(const auto gpu, EnterGpu(device, options));
  AITUNE_ASSIGN_OR_RETURN(options.libtorch, LibTorchFor(trace, asked));
  if (options.generation.worker.empty())
    options.generation.worker = FindWorkerProgram();
  if (options.tuning.worker.empty() && !options.generation.worker.empty())
    options.tuning.worker = {options.generation.worker.front(),
                             "measure-schedules"};
  // On a GPU they would need LibTorch's streams.
  if (options.device == "cpu")
    options.audit.makeRegions = options.libtorch.makeRegions;
  CompiledTrace compiled;
  ImportOptions import_options;
  import_options.is_for_gpu = device.is_gpu();
  double import_seconds = 0;
  std::vector<WrongCandidate> wrong;  // of kernels that LibTorch runs instead
  for (int attempt = 0;; ++attempt) {
    // Its verifier alone would use more threads, and make them without an error
    // where the system gives none.
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    ImportReport report;
    const auto start = std::chrono::steady_clock::now();
    if (options.progress) options.progress("import", 0, 0);
    AITUNE_ASSIGN_OR_RETURN(
        auto module, ImportTrace(trace, context, &report, import_options));
    import_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    ImportReport report_again;
    mlir::OwningOpRef<mlir::ModuleOp> module_again;
    options.libtorch.importAgain =
        [&](const std::map<int64_t, std::string>& reasons)
        -> absl::StatusOr<mlir::ModuleOp> {
      ImportOptions more = import_options;
      for (const auto& [op, reason] : reasons)
        more.libtorch_ops.emplace(static_cast<int>(op), reason);
      AITUNE_ASSIGN_OR_RETURN(module_again,
                              ImportTrace(trace, context, &report_again, more));
      return *module_again;
    };

    AITUNE_ASSIGN_OR_RETURN(
        std::vector<QuantizedLayer> more_layers,
        FindLayersOfLibTorch(trace, report, options.quantization,
                             options.layers));
    AITUNE_ASSIGN_OR_RETURN(auto result,
                            compile(*module, trace.constants, options));
    for (WrongCandidate& candidate : result.wrong) {
      // Those of kernels that are compiled again come again.
      if (candidate.replacement == "LibTorch")
        wrong.push_back(std::move(candidate));
    }
    if (!result.failures.empty()) {
      if (attempt + 1 < kMaxAttempts &&
          GiveToLibTorch(result.failures, import_options.libtorch_ops)) {
        continue;
      }
      return NoCode(result.failures);
    }
    compiled.result = std::move(result);
    compiled.result.wrong.insert(compiled.result.wrong.begin(),
                                 std::make_move_iterator(wrong.begin()),
                                 std::make_move_iterator(wrong.end()));
    auto& layers = compiled.result.quantizedLayers;
    layers.insert(layers.end(), std::make_move_iterator(more_layers.begin()),
                  std::make_move_iterator(more_layers.end()));
    const bool again = !compiled.result.libtorchWins.empty();
    compiled.fallbacks = std::move((again ? report_again : report).fallbacks);
    compiled.regions = RegionsOf(again ? *module_again : *module);
    break;
  }
  auto& phases = compiled.result.phaseSeconds;
  phases.insert(phases.begin(), {"import", import_seconds});
  return compiled;
}

[[maybe_unused]] const bool registered =
    RegisterTraceCompiler(&ImportAndCompile);

}  // namespace
}  // namespace aitune::frontend
