#include "compiler/candidates/KernelCompiler.h"

#include <mutex>

#include "absl/status/status.h"
#include "compiler/codegen/cpu/llvm/EmitObject.h"
#include "compiler/codegen/cpu/llvm/LowerToLLVM.h"
#include "compiler/codegen/cpu/target/Target.h"
#include "compiler/codegen/linalg/DescribeChecks.h"
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/SizeExpressions.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/schedule/ScheduleProviders.h"
#include "compiler/support/Dump.h"
#include "compiler/support/Parallel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/plan/plan.h"

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
    if (function->hasAttr("ait.kind"))
      return function;
  return nullptr;
}

PackingProto::Kind packingKind(StringRef name) {
  std::string upper = name.upper();
  PackingProto::Kind kind = PackingProto::NONE;
  PackingProto::Kind_Parse(upper, &kind);
  return kind;
}

absl::Status readAttributes(func::FuncOp kernel, size_t inputs,
                            CompiledKernel &compiled) {
  auto grid = kernel->getAttrOfType<AffineMapAttr>("ait.grid");
  auto grain = kernel->getAttrOfType<IntegerAttr>("ait.grain");
  if (!grid || !grain || grid.getValue().getNumResults() != 1)
    return absl::InternalError(
        "code generation left no ait.grid and ait.grain");
  compiled.launch.set_symbol(kernel.getSymName().str());
  *compiled.launch.mutable_grid() =
      ToProto(ait::toSizeExpression(grid.getValue().getResult(0)));
  compiled.launch.set_grain(grain.getInt());
  compiled.checks = describeChecks(kernel);
  compiled.packings.resize(inputs);
  auto packings = kernel->getAttrOfType<ArrayAttr>("ait.packings");
  if (!packings)
    return absl::OkStatus();
  for (auto packing : packings.getAsRange<DictionaryAttr>()) {
    PackingProto &proto =
        compiled.packings[packing.getAs<IntegerAttr>("argument").getInt()];
    proto.set_kind(packingKind(packing.getAs<StringAttr>("kind").getValue()));
    if (auto blockN = packing.getAs<IntegerAttr>("block_n"))
      proto.set_block_n(blockN.getInt());
    proto.set_transposed(packing.contains("transposed"));
    if (proto.kind() == PackingProto::NONE)
      return absl::InternalError(
          "code generation asks for a packing that the plan does not know");
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

absl::StatusOr<CompiledKernel>
compileKernel(const std::string &text, const KernelCompilerOptions &options) {
  absl::StatusOr<Target> target = findTarget(options.target);
  if (!target.ok())
    return target.status();

  MLIRContext context(kernelDialects(), MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return diagnostics.failure("reading the kernel");
  func::FuncOp kernel = findKernel(*module);
  if (!kernel)
    return absl::InvalidArgumentError(
        "the kernel's text has no function with the attribute ait.kind");
  const std::string name = kernel.getSymName().str();
  const size_t inputs = kernel.getNumArguments();
  const Dump dump(options.dumpDirectory, "kernels/" + name);
  dump.write("0-ait.mlir", *module);

  CompiledKernel compiled;
  PassManager toLinalg(&context);
  buildKernelToLinalgPipeline(toLinalg, options.emulateEagerCasts);
  if (failed(toLinalg.run(*module)))
    return diagnostics.failure("lowering to linalg");
  dump.write("1-linalg.mlir", *module);
  if (options.compileTo == CompilePhase::Linalg) {
    compiled.ir = printToString(*module);
    return compiled;
  }

  PassManager toLoops(&context);
  buildKernelToLoopsPipeline(toLoops,
                             options.target.empty() ? "host" : options.target);
  if (failed(toLoops.run(*module)))
    return diagnostics.failure("scheduling loops");
  dump.write("2-loops.mlir", *module);
  if (absl::Status status =
          readAttributes(findKernel(*module), inputs, compiled);
      !status.ok())
    return status;

  if (failed(lowerToLLVM(*module, *target)))
    return diagnostics.failure("lowering to LLVM");
  dump.write("3-llvm.mlir", *module);
  if (options.compileTo == CompilePhase::LLVM) {
    compiled.ir = printToString(*module);
    return compiled;
  }
  if (dump.enabled())
    if (FailureOr<std::string> assembly = emitAssembly(*module, *target);
        succeeded(assembly))
      dump.write("4-assembly.s", *assembly);
  FailureOr<std::string> object = emitObject(*module, *target);
  if (failed(object))
    return diagnostics.failure("generating object code");
  dump.write("5-object.o", *object);
  compiled.object = {name, std::move(*object)};
  return compiled;
}

absl::StatusOr<KernelSpace>
listKernelSchedules(const std::string &text,
                    const KernelCompilerOptions &options) {
  absl::StatusOr<Target> target = findTarget(options.target);
  if (!target.ok())
    return target.status();
  MLIRContext context(kernelDialects(), MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module || !findKernel(*module))
    return diagnostics.failure("reading the kernel");
  PassManager toLinalg(&context);
  buildKernelToLinalgPipeline(toLinalg, options.emulateEagerCasts);
  if (failed(toLinalg.run(*module)))
    return diagnostics.failure("lowering to linalg");
  std::string reason;
  FailureOr<KernelSpace> space =
      listSchedules(findKernel(*module), *target, reason);
  if (failed(space) ||
      failed(addRegisteredSchedules(findKernel(*module), *space, reason)))
    return absl::InvalidArgumentError(reason);
  return *std::move(space);
}

std::vector<absl::StatusOr<CompiledKernel>>
compileKernels(const std::vector<std::string> &texts,
               const KernelCompilerOptions &options, int threads,
               const std::function<void(int)> &progress) {
  std::vector<absl::StatusOr<CompiledKernel>> results(
      texts.size(), absl::UnknownError("not compiled"));
  std::mutex progressMutex;
  int done = 0;
  inParallel(texts.size(), threads, [&](size_t i) {
    results[i] = compileKernel(texts[i], options);
    std::lock_guard<std::mutex> lock(progressMutex);
    ++done;
    if (progress)
      progress(done);
  });
  return results;
}

} // namespace aitune
