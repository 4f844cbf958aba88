#include "compiler/driver/CollectKernels.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/plan/PlanBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace aitune {

std::vector<Kernel> collectKernels(ModuleOp module) {
  std::vector<Kernel> kernels;
  llvm::StringMap<size_t> numbers;
  for (auto function : module.getOps<func::FuncOp>())
    if (ait::isKernel(function)) {
      numbers[function.getSymName()] = kernels.size();
      kernels.emplace_back().function = function;
    }
  module.walk([&](ait::LaunchOp launch) {
    kernels[numbers.lookup(launch.getKernel())].launches.push_back(launch);
  });
  llvm::DenseSet<Value> known;
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    known = findKnownAtLoad(main);
  for (Kernel &kernel : kernels)
    for (unsigned i = 0; i < kernel.function.getNumArguments(); ++i) {
      auto every = [&](auto predicate) {
        return llvm::all_of(kernel.launches, [&](ait::LaunchOp launch) {
          return predicate(launch.getInputs()[i]);
        });
      };
      if (every([](Value input) {
            return input.getDefiningOp<ait::ConstantOp>() != nullptr;
          }))
        ait::setKnownAt(kernel.function, i, ait::KnownAt::Load);
      // What runs at load itself has inputs of its own call there.
      else if (every([&](Value input) { return known.contains(input); }) &&
               llvm::none_of(kernel.launches, [&](ait::LaunchOp launch) {
                 return known.contains(launch.getResult(0));
               }))
        ait::setKnownAt(kernel.function, i, ait::KnownAt::Initialization);
    }
  return kernels;
}

} // namespace aitune
