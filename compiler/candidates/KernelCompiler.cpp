#include "compiler/candidates/KernelCompiler.h"

#include <time.h>

#include <filesystem>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compiler/candidates/GenerationProcesses.h"
#include "compiler/candidates/ImplementationProto.h"
#include "compiler/codegen/cpu/llvm/EmitObject.h"
#include "compiler/codegen/cpu/llvm/LowerToLLVM.h"
#include "compiler/codegen/cpu/target/Target.h"
#include "compiler/codegen/linalg/DescribeChecks.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/dialect/SizeExpressions.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/schedule/ScheduleProviders.h"
#include "compiler/support/Dump.h"
#include "compiler/support/Parallel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/cpu/kernel_loader.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// Collects what passes report while it lives.
class Diagnostics {
public:
  explicit Diagnostics(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
            if (!text.empty())
              text += "; ";
            text += diagnostic.str();
          }
          return success();
        }) {}

  absl::Status failure(const char *phase) const {
    return absl::InternalError(
        std::string(phase) + ": " +
        (text.empty() ? "failed without a diagnostic" : text));
  }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

/// The one function left by the kernel's lowering: generators may leave
/// private declarations beside it.
func::FuncOp findKernel(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (ait::isKernel(function))
      return function;
  return nullptr;
}

absl::Status readAttributes(func::FuncOp kernel, size_t inputs,
                            ImplementationStep &compiled) {
  const std::optional<ait::LaunchShape> shape = ait::getLaunchShape(kernel);
  if (!shape)
    return absl::InternalError(
        "code generation left no ait.grid and ait.grain");
  KernelLaunch &launch = *compiled.call.mutable_kernel();
  launch.set_symbol(kernel.getSymName().str());
  *launch.mutable_grid() = ToProto(ait::toSizeExpression(shape->units));
  launch.set_grain(shape->grain);
  const std::vector<CheckProto> checks = describeChecks(kernel);
  compiled.call.mutable_checks()->Add(checks.begin(), checks.end());
  launch.set_buffers(compiled.inputs.size() + compiled.outputs.size());
  launch.set_checks(checks.size());
  compiled.packings.resize(inputs);
  for (ait::PackingAttr packing : ait::getPackings(kernel)) {
    if (packing.getArgument() >= static_cast<int64_t>(inputs))
      return absl::InternalError(absl::StrCat("code generation packs argument ",
                                              packing.getArgument(),
                                              " of a kernel of ", inputs));
    compiled.packings[packing.getArgument()] = toProto(packing);
  }
  return absl::OkStatus();
}

/// The dialects of every phase. Built once: a context then loads them lazily.
const DialectRegistry &kernelDialects() {
  static const DialectRegistry *registry = [] {
    auto *dialects = new DialectRegistry();
    registerCompilerDialects(*dialects);
    registerTranslations(*dialects);
    return dialects;
  }();
  return *registry;
}

/// Seconds of processors' time that this thread has had.
double threadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

/// One kernel on its way down, phase by phase.
class KernelLowering {
public:
  explicit KernelLowering(const KernelCompilerOptions &options)
      : options(options),
        context(kernelDialects(), MLIRContext::Threading::DISABLED),
        diagnostics(context) {}

  absl::Status read(const std::string &text);
  absl::Status toLinalg();
  /// Also fills in `step`, the launch that the kernel becomes.
  absl::Status toLLVM(ImplementationStep &step);
  absl::StatusOr<KernelObject> toObject();
  std::string print() const { return printToString(*module); }
  func::FuncOp kernel() const { return findKernel(*module); }
  /// An error once the kernel has taken longer than it may.
  absl::Status checkTime() const;
  const Target &cpu() const { return *target; }

private:
  const KernelCompilerOptions &options;
  MLIRContext context;
  Diagnostics diagnostics;
  std::optional<Target> target;
  OwningOpRef<ModuleOp> module;
  std::string name;
  size_t inputs = 0;
  std::optional<Dump> dump;
  const double start = threadSeconds();
};

absl::Status KernelLowering::checkTime() const {
  const double most = options.generation.kernelSeconds;
  if (most <= 0 || threadSeconds() - start < most)
    return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the code generator took over ", most, " s of processors' time"));
}

absl::Status KernelLowering::read(const std::string &text) {
  AITUNE_ASSIGN_OR_RETURN(target, findTarget(options.target));
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return diagnostics.failure("reading the kernel");
  if (!kernel())
    return absl::InvalidArgumentError(
        "the kernel's text has no function with the attribute ait.kind");
  name = kernel().getSymName().str();
  inputs = kernel().getNumArguments();
  dump.emplace(options.dumpDirectory, "kernels/" + name);
  dump->write("0-ait.mlir", *module);
  return absl::OkStatus();
}

absl::Status KernelLowering::toLinalg() {
  PassManager passes(&context);
  buildKernelToLinalgPipeline(passes, options.emulateEagerCasts);
  if (failed(passes.run(*module)))
    return diagnostics.failure("lowering to linalg");
  dump->write("1-linalg.mlir", *module);
  return absl::OkStatus();
}

absl::Status KernelLowering::toLLVM(ImplementationStep &step) {
  PassManager passes(&context);
  buildKernelToLoopsPipeline(passes,
                             options.target.empty() ? "host" : options.target);
  if (failed(passes.run(*module)))
    return diagnostics.failure("scheduling loops");
  dump->write("2-loops.mlir", *module);
  AITUNE_RETURN_IF_ERROR(readAttributes(kernel(), inputs, step));
  if (failed(lowerToLLVM(*module, *target)))
    return diagnostics.failure("lowering to LLVM");
  dump->write("3-llvm.mlir", *module);
  return absl::OkStatus();
}

absl::StatusOr<KernelObject> KernelLowering::toObject() {
  if (dump->enabled())
    if (FailureOr<std::string> assembly = emitAssembly(*module, *target);
        succeeded(assembly))
      dump->write("4-assembly.s", *assembly);
  FailureOr<std::string> object = emitObject(*module, *target);
  if (failed(object))
    return diagnostics.failure("generating object code");
  dump->write("5-object.o", *object);
  // What can't be loaded is this kernel's error: another candidate, or
  // LibTorch, runs it then.
  AITUNE_RETURN_IF_ERROR(LoadKernels({*object}).status());
  return KernelObject{name, std::move(*object)};
}

} // namespace

absl::StatusOr<Target> findTarget(const std::string &name) {
  if (name.empty())
    return Target::host();
  FailureOr<Target> target = Target::named(name);
  if (failed(target))
    return absl::InvalidArgumentError(
        "unknown target '" + name +
        "'; known: host, avx2, avx512, avx512bf16, amx");
  return *target;
}

absl::StatusOr<KernelImplementation>
compileKernel(const std::string &text, const KernelCompilerOptions &options) {
  KernelLowering lowering(options);
  AITUNE_RETURN_IF_ERROR(lowering.read(text));
  ImplementationStep step;
  const int inputs = lowering.kernel().getNumArguments();
  for (int i = 0; i < inputs; ++i)
    step.inputs.push_back(i);
  for (unsigned i = 0; i < lowering.kernel().getNumResults(); ++i)
    step.outputs.push_back(inputs + i);
  absl::Status lowered = lowering.toLinalg();
  if (lowered.ok())
    lowered = lowering.checkTime();
  if (lowered.ok())
    lowered = lowering.toLLVM(step);
  if (lowered.ok())
    lowered = lowering.checkTime();
  if (!lowered.ok())
    return lowered;
  AITUNE_ASSIGN_OR_RETURN(KernelObject object, lowering.toObject());
  KernelImplementation implementation;
  implementation.name = "generated";
  implementation.steps.push_back(std::move(step));
  implementation.objects.push_back(std::move(object));
  return implementation;
}

absl::StatusOr<std::string> printKernel(const std::string &text,
                                        const KernelCompilerOptions &options,
                                        CompilePhase phase) {
  KernelLowering lowering(options);
  absl::Status lowered = lowering.read(text);
  if (lowered.ok())
    lowered = lowering.toLinalg();
  ImplementationStep step;
  if (lowered.ok() && phase != CompilePhase::Linalg)
    lowered = lowering.toLLVM(step);
  if (!lowered.ok())
    return lowered;
  return lowering.print();
}

absl::StatusOr<KernelSpace>
listKernelSchedules(const std::string &text,
                    const KernelCompilerOptions &options) {
  KernelLowering lowering(options);
  absl::Status lowered = lowering.read(text);
  if (lowered.ok())
    lowered = lowering.toLinalg();
  if (!lowered.ok())
    return lowered;
  std::string reason;
  FailureOr<KernelSpace> space =
      listSchedules(lowering.kernel(), lowering.cpu(), reason);
  if (failed(space))
    return absl::InvalidArgumentError(reason);
  addRegisteredSchedules(lowering.kernel(), *space);
  return *std::move(space);
}

/// Compiles in one of `processes`, or here where there is none.
static absl::StatusOr<KernelImplementation>
compileApart(const std::string &text, const KernelCompilerOptions &options,
             GenerationProcesses *processes) {
  if (!processes)
    return compileKernel(text, options);
  WorkerRequest request;
  WorkerCpuCode &code = *request.mutable_cpu_code();
  code.set_module(text);
  code.set_target(options.target);
  code.set_emulate_eager_casts(options.emulateEagerCasts);
  if (!options.dumpDirectory.empty())
    code.set_dump_directory(std::filesystem::absolute(options.dumpDirectory));
  const absl::StatusOr<WorkerReply> reply =
      processes->call(std::move(request), options.generation);
  if (absl::IsUnavailable(reply.status()))
    return compileKernel(text, options);
  if (!reply.ok())
    return reply.status();
  if (reply->implementations_size() != 1)
    return absl::InternalError("the code generator sent no code");
  return fromProto(reply->implementations(0));
}

std::vector<absl::StatusOr<KernelImplementation>>
compileKernels(const std::vector<std::string> &texts,
               const KernelCompilerOptions &options, int threads,
               const std::function<void(int)> &progress) {
  std::vector<absl::StatusOr<KernelImplementation>> results(
      texts.size(), absl::UnknownError("not compiled"));
  const std::shared_ptr<GenerationProcesses> processes =
      GenerationProcesses::get(options.generation.worker, threads);
  std::mutex progressMutex;
  int done = 0;
  inParallel(texts.size(), threads, [&](size_t i) {
    results[i] = compileApart(texts[i], options, processes.get());
    std::lock_guard<std::mutex> lock(progressMutex);
    ++done;
    if (progress)
      progress(done);
  });
  return results;
}

} // namespace aitune
