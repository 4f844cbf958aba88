#include "compiler/codegen/cpu/llvm/EmitObject.h"

#include <mutex>

#include "compiler/codegen/cpu/llvm/SelectionDefects.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/CodeGen/CommandFlags.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

using namespace mlir;

namespace aitune {
namespace {

std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Target &target,
                                                         std::string &error) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(target.triple);
  const llvm::Target *llvmTarget =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvmTarget)
    return nullptr;
  llvm::TargetOptions options;
  // Sums of products that are to be fused say so (llvm.intr.fma). A product may
  // be computed once to reduce it and once more to subtract what it was reduced
  // to: x * y - mean(x * y) of one element is 0 only if both are rounded.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  // Kernels never trap nor read errno.
  options.NoTrappingFPMath = true;
  return std::unique_ptr<llvm::TargetMachine>(llvmTarget->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      /*CodeModel=*/std::nullopt, llvm::CodeGenOptLevel::Default,
      /*JIT=*/false));
}

void addFunctionAttributes(llvm::Module &module, const Target &target) {
  for (llvm::Function &function : module) {
    // LLVM 22 takes fmod(x, y) for a number where it knows that x is finite and
    // y is not 0; y may be NaN.
    if (function.getName() == "fmod" || function.getName() == "fmodf")
      function.addFnAttr(llvm::Attribute::NoBuiltin);
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    // LLVM would split 512-bit vectors on some CPUs; the schedule has decided.
    function.addFnAttr("prefer-vector-width",
                       std::to_string(target.vectorBits));
    function.addFnAttr("min-legal-vector-width",
                       std::to_string(target.vectorBits));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

/// Kernels are vectorised and scheduled already. LLVM only has to clean up
/// scalar code, move loop invariants, reduce strength and unroll small loops;
/// its loop and SLP vectorisers would only cost compile time.
void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  tuning.LoopUnrolling = true;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

struct Emitted {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

LogicalResult translate(ModuleOp op, const Target &target, Emitted &emitted) {
  std::string error;
  emitted.machine = createTargetMachine(target, error);
  if (!emitted.machine)
    return op.emitError() << "no code generator for " << target.triple << ": "
                          << error;
  emitted.module = translateModuleToLLVMIR(op, emitted.context, "kernels");
  if (!emitted.module)
    return op.emitError("cannot be translated to LLVM IR");
  emitted.module->setTargetTriple(llvm::Triple(target.triple));
  emitted.module->setDataLayout(emitted.machine->createDataLayout());
  addFunctionAttributes(*emitted.module, target);
  optimize(*emitted.module, *emitted.machine);
  avoidSelectionDefects(*emitted.module);
  return success();
}

FailureOr<std::string> emitFile(ModuleOp op, const Target &target,
                                llvm::CodeGenFileType fileType) {
  Emitted emitted;
  if (failed(translate(op, target, emitted)))
    return failure();
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (emitted.machine->addPassesToEmitFile(passes, stream, nullptr, fileType))
    return op.emitError("the code generator cannot write this kind of file"),
           failure();
  passes.run(*emitted.module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace

FailureOr<std::string> emitObject(ModuleOp module, const Target &target) {
  return emitFile(module, target, llvm::CodeGenFileType::ObjectFile);
}

FailureOr<std::string> emitAssembly(ModuleOp module, const Target &target) {
  return emitFile(module, target, llvm::CodeGenFileType::AssemblyFile);
}

FailureOr<std::string> emitLLVMIR(ModuleOp module, const Target &target) {
  Emitted emitted;
  if (failed(translate(module, target, emitted)))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  emitted.module->print(stream, nullptr);
  return text;
}

void registerTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

} // namespace aitune
