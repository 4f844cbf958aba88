// Kernels as functions; identical ones are one function.
#include "compiler/fusion/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/fusion/KernelFunction.h"
#include "compiler/fusion/KernelName.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace aitune {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "compiler/fusion/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
/// A function with the kernel's body under a neutral name, not in any module.
OwningOpRef<func::FuncOp> makeFunction(KernelOp kernel) {
  OpBuilder builder(kernel.getContext());
  auto type = builder.getFunctionType(kernel.getInputs().getTypes(),
                                      kernel.getResults().getTypes());
  func::FuncOp function = aitune::createKernelFunction(
      builder, kernel.getLoc(), "kernel", type, kernel.getKind());
  function.getBody().takeBody(kernel.getBody());
  auto yield = cast<YieldOp>(function.getBody().front().getTerminator());
  builder.setInsertionPoint(yield);
  func::ReturnOp::create(builder, yield.getLoc(), yield.getValues());
  yield.erase();
  return function;
}

/// Numbers the function's checks, in order. Their locations, by number.
SmallVector<std::string> numberChecks(func::FuncOp function) {
  SmallVector<std::string> locations;
  OpBuilder builder(function.getContext());
  function.walk([&](CheckOp check) {
    check.setNumberAttr(builder.getI64IntegerAttr(locations.size()));
    locations.push_back(aitune::describeSource(check.getLoc()));
  });
  return locations;
}

/// Equal exactly for functions that compute the same in the same way:
/// attributes, types and operations in order, without locations.
std::string getStructure(func::FuncOp function) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  function.print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

struct OutlineKernels : aitune::impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::StringMap<func::FuncOp> functionOfStructure;
    llvm::StringMap<unsigned> countOfName;

    SmallVector<KernelOp> kernels;
    module.walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels) {
      std::string name = kernel.getName().empty()
                             ? aitune::describeKernel(kernel.getBody().front())
                             : kernel.getName().str();
      OwningOpRef<func::FuncOp> candidate = makeFunction(kernel);
      SmallVector<std::string> checks = numberChecks(*candidate);
      func::FuncOp &function = functionOfStructure[getStructure(*candidate)];
      if (!function) {
        std::string unique;
        do
          unique = name + "_" + std::to_string(countOfName[name]++);
        while (symbols.lookup(unique));
        function = candidate.release();
        function.setSymName(unique);
        symbols.insert(function);
      }
      OpBuilder builder(kernel);
      auto launch =
          LaunchOp::create(builder, kernel.getLoc(), kernel.getResultTypes(),
                           function.getSymName(), kernel.getInputs(),
                           /*check_locations=*/ArrayAttr());
      if (!checks.empty()) {
        SmallVector<StringRef> locations(checks.begin(), checks.end());
        launch.setCheckLocationsAttr(builder.getStrArrayAttr(locations));
      }
      kernel.replaceAllUsesWith(launch.getResults());
      kernel.erase();
    }
  }
};
} // namespace
