#include "compiler/codegen/cpu/testing/RunKernel.h"

#include <map>

#include "compiler/codegen/cpu/llvm/EmitObject.h"
#include "compiler/codegen/cpu/llvm/LowerToLLVM.h"
#include "compiler/codegen/cpu/loops/Passes.h"
#include "compiler/codegen/linalg/Passes.h"
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/cpu/kernel_loader.h"

using namespace mlir;

namespace aitune {
namespace testing {

struct RunnableKernel::State {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::map<std::string, AffineExpr> units;
  std::shared_ptr<const KernelLibrary> library;
};

RunnableKernel RunnableKernel::compile(const std::string &text,
                                       const std::string &targetName) {
  RunnableKernel kernel;
  kernel.state = std::make_shared<State>();
  MLIRContext &context = kernel.state->context;
  DialectRegistry registry;
  registry
      .insert<mlir::ait::AitDialect, func::FuncDialect, arith::ArithDialect>();
  registerTranslations(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return success();
  });
  auto fail = [&](const std::string &what) {
    kernel.errorText = what + ": " + diagnostics;
    return kernel;
  };

  FailureOr<Target> target = Target::named(targetName);
  if (failed(target))
    return fail("unknown target " + targetName);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return fail("parsing");
  PassManager passManager(&context);
  passManager.addPass(createLowerToLinalgPass());
  CpuLowerLoopsPassOptions options;
  options.target = targetName;
  passManager.addPass(createCpuLowerLoopsPass(options));
  if (failed(passManager.run(*module)))
    return fail("lowering");
  for (auto function : module->getOps<func::FuncOp>())
    if (auto shape = mlir::ait::getLaunchShape(function))
      kernel.state->units[function.getName().str()] = shape->units;
  if (failed(lowerToLLVM(*module, *target)))
    return fail("lowering to LLVM");
  FailureOr<std::string> object = emitObject(*module, *target);
  if (failed(object))
    return fail("emitting");
  auto library = LoadKernels({*object});
  if (!library.ok())
    return fail(library.status().ToString());
  kernel.state->library = *library;
  return kernel;
}

int64_t RunnableKernel::units(const std::string &name,
                              const std::vector<int64_t> &symbols) const {
  auto found = state->units.find(name);
  if (found == state->units.end())
    return -1;
  SmallVector<AffineExpr> values;
  for (int64_t symbol : symbols)
    values.push_back(getAffineConstantExpr(symbol, &state->context));
  AffineExpr units = found->second.replaceSymbols(values);
  return cast<AffineConstantExpr>(simplifyAffineExpr(units, 0, 0)).getValue();
}

bool RunnableKernel::run(const std::string &name,
                         const std::vector<void *> &buffers,
                         const std::vector<int64_t> &symbols,
                         int pieces) const {
  KernelFunction function =
      state->library ? state->library->Find(name) : nullptr;
  if (!function)
    return false;
  int64_t count = units(name, symbols);
  for (int piece = pieces - 1; piece >= 0; --piece)
    function(buffers.data(), symbols.data(), count * piece / pieces,
             count * (piece + 1) / pieces);
  return true;
}

} // namespace testing
} // namespace aitune
