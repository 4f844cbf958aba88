#include "compiler/candidates/CudaKernelCompiler.h"

#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/candidates/CubinStore.h"
#include "compiler/candidates/GenerationProcesses.h"
#include "compiler/candidates/ImplementationProto.h"
#include "compiler/codegen/gpu/Generate.h"
#include "compiler/codegen/gpu/target/Nvrtc.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/schedule/CudaSpace.h"
#include "compiler/schedule/ScheduleProviders.h"
#include "compiler/support/Dump.h"
#include "compiler/support/Parallel.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

using CudaTexts = absl::StatusOr<std::vector<CudaText>>;

/// `kernel` is what its symbols start with.
CudaText toText(GeneratedCandidate &&candidate, StringRef kernel) {
  KernelImplementation implementation;
  implementation.name = "generated";
  implementation.description = std::move(candidate.description);
  implementation.steps = std::move(candidate.steps);
  for (RankedTensorType type : candidate.temporaries)
    implementation.temporaries.push_back(toProto(type));
  implementation.objects.push_back({kernel.str(), ""});
  return {std::move(implementation), std::move(candidate.text)};
}

bool isConvolution(func::FuncOp function) {
  return ait::getKernelKind(function) == ait::KernelKind::Convolution;
}

/// A kernel as linalg, in a context of its own.
class CudaLowering {
public:
  CudaLowering()
      : context(dialects(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            absl::StrAppend(&errors, errors.empty() ? "" : "; ",
                            diagnostic.str());
          return success();
        }) {}

  /// Reads and lowers; sets whether `target` may use tf32.
  absl::Status run(const std::string &text, const CudaCompilerOptions &options,
                   GpuTarget &target);

  func::FuncOp kernel;
  std::optional<Dump> dump;
  ArrayAttr symbols() const { return ait::getModuleSymbols(*module); }

private:
  static DialectRegistry dialects() {
    DialectRegistry registry;
    registerCompilerDialects(registry);
    return registry;
  }

  std::string errors;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};

absl::Status CudaLowering::run(const std::string &text,
                               const CudaCompilerOptions &options,
                               GpuTarget &target) {
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return absl::InternalError(absl::StrCat("reading the kernel: ", errors));
  dump.emplace(
      options.dumpDirectory,
      "kernels/" +
          (*module->getOps<func::FuncOp>().begin()).getSymName().str());
  dump->write("0-ait.mlir", *module);
  target.allowTf32 = llvm::any_of(module->getOps<func::FuncOp>(), isConvolution)
                         ? options.tf32Convolution
                         : options.tf32Matmul;
  PassManager passes(&context);
  buildKernelToLinalgPipeline(passes, options.emulateEagerCasts);
  if (failed(passes.run(*module)))
    return absl::InternalError(absl::StrCat("lowering to linalg: ", errors));
  dump->write("1-linalg.mlir", *module);
  for (auto function : module->getOps<func::FuncOp>())
    if (ait::isKernel(function))
      kernel = function;
  return kernel ? absl::OkStatus()
                : absl::InternalError("lowering to linalg left no kernel");
}

/// Generates in one of `processes`, or here where there is none.
CudaTexts generateTextsApart(const std::string &text, const GpuTarget &target,
                             const CudaCompilerOptions &options,
                             GenerationProcesses *processes) {
  if (!processes)
    return generateCudaTexts(text, target, options);
  WorkerRequest request;
  WorkerCudaTexts &asked = *request.mutable_cuda_texts();
  asked.set_module(text);
  *asked.mutable_gpu() = toProto(target);
  asked.set_emulate_eager_casts(options.emulateEagerCasts);
  asked.set_tf32_matmul(options.tf32Matmul);
  asked.set_tf32_convolution(options.tf32Convolution);
  if (!options.dumpDirectory.empty())
    asked.set_dump_directory(std::filesystem::absolute(options.dumpDirectory));
  const absl::StatusOr<WorkerReply> reply =
      processes->call(std::move(request), options.generation);
  if (absl::IsUnavailable(reply.status()))
    return generateCudaTexts(text, target, options);
  if (!reply.ok())
    return reply.status();
  std::vector<CudaText> texts;
  for (const WorkerImplementation &message : reply->implementations())
    texts.push_back({fromProto(message), message.text()});
  return texts;
}

absl::StatusOr<std::string> toCubinApart(const std::string &text,
                                         const GpuTarget &target,
                                         const CudaCompilerOptions &options,
                                         GenerationProcesses *processes) {
  if (!processes)
    return compileToCubin(text, target);
  WorkerRequest request;
  request.mutable_cubin()->set_text(text);
  *request.mutable_cubin()->mutable_gpu() = toProto(target);
  absl::StatusOr<WorkerReply> reply =
      processes->call(std::move(request), options.generation);
  if (absl::IsUnavailable(reply.status()))
    return compileToCubin(text, target);
  if (!reply.ok())
    return reply.status();
  return std::move(*reply->mutable_cubin());
}

/// `implementation` with the code of `entry`, which it calls by its name there.
absl::StatusOr<KernelImplementation>
withCode(KernelImplementation implementation, const CubinStore::Entry &entry) {
  if (!entry.cubin.ok())
    return absl::Status(entry.cubin.status().code(),
                        absl::StrCat("candidate '", implementation.description,
                                     "': ", entry.cubin.status().message()));
  KernelObject &object = implementation.objects.front();
  for (ImplementationStep &step : implementation.steps) {
    CudaKernelLaunch &launch = *step.call.mutable_cuda_kernel();
    launch.set_symbol(
        renameSymbol(launch.symbol(), object.symbol, entry.symbol));
  }
  object = {entry.symbol, *entry.cubin};
  return implementation;
}

} // namespace

CudaTexts generateCudaTexts(const std::string &text, GpuTarget target,
                            const CudaCompilerOptions &options) {
  CudaLowering lowering;
  AITUNE_RETURN_IF_ERROR(lowering.run(text, options, target));
  AITUNE_ASSIGN_OR_RETURN(
      auto generated,
      generateCuda(lowering.kernel, lowering.symbols(), target));
  std::vector<CudaText> candidates;
  for (GeneratedCandidate &candidate : generated) {
    lowering.dump->write(
        absl::StrCat("2-candidate-", candidates.size(), ".cu"),
        absl::StrCat("// ", candidate.description, "\n", candidate.text));
    candidates.push_back(
        toText(std::move(candidate), lowering.kernel.getSymName()));
  }
  return candidates;
}

std::vector<std::vector<absl::StatusOr<KernelImplementation>>>
compileCudaKernels(const std::vector<std::string> &texts,
                   const GpuTarget &target, const CudaCompilerOptions &options,
                   CubinStore &store) {
  std::mutex progressMutex;
  size_t done = 0;
  auto report = [&](const char *phase, size_t total) {
    std::lock_guard<std::mutex> lock(progressMutex);
    ++done;
    if (options.progress)
      options.progress(phase, static_cast<int>(done), static_cast<int>(total));
  };
  const std::shared_ptr<GenerationProcesses> processes =
      GenerationProcesses::get(options.generation.worker, options.threads);
  std::vector<CudaTexts> outcomes(texts.size(),
                                  absl::UnknownError("not generated"));
  inParallel(texts.size(), options.threads, [&](size_t i) {
    outcomes[i] =
        generateTextsApart(texts[i], target, options, processes.get());
    report("generating code", texts.size());
  });

  std::vector<CubinStore::Entry *> work;
  std::vector<std::vector<CubinStore::Entry *>> codes(texts.size());
  for (auto [outcome, code] : llvm::zip_equal(outcomes, codes))
    if (outcome.ok())
      for (const CudaText &candidate : *outcome) {
        const auto [entry, isNew] = store.find(
            candidate.text, candidate.implementation.objects.front().symbol);
        code.push_back(entry);
        if (isNew)
          work.push_back(entry);
      }
  done = 0;
  const size_t calls = options.loadLibraries ? 1 : 0;
  inParallel(calls + work.size(), options.threads, [&](size_t i) {
    if (i < calls)
      return options.loadLibraries();
    CubinStore::Entry &entry = *work[i - calls];
    entry.cubin = toCubinApart(std::exchange(entry.text, ""), target, options,
                               processes.get());
    report("compiling kernels", work.size());
  });

  std::vector<std::vector<absl::StatusOr<KernelImplementation>>> results;
  for (auto [outcome, code] : llvm::zip_equal(outcomes, codes)) {
    auto &result = results.emplace_back();
    if (!outcome.ok()) {
      result.push_back(outcome.status());
      continue;
    }
    for (auto [candidate, entry] : llvm::zip_equal(*outcome, code))
      result.push_back(withCode(std::move(candidate.implementation), *entry));
  }
  return results;
}

absl::StatusOr<KernelSpace>
listCudaKernelSchedules(const std::string &text, GpuTarget target,
                        const CudaCompilerOptions &options) {
  CudaLowering lowering;
  AITUNE_RETURN_IF_ERROR(lowering.run(text, options, target));
  AITUNE_ASSIGN_OR_RETURN(
      KernelSpace space,
      listCudaSpace(lowering.kernel, lowering.symbols(), target));
  addRegisteredSchedules(lowering.kernel, space);
  return space;
}

} // namespace aitune
