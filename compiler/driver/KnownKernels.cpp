#include "compiler/driver/KnownKernels.h"

#include "absl/strings/str_cat.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace aitune {
namespace {

void rename(Kernel &kernel, StringRef name) {
  kernel.function.setSymName(name);
  for (ait::LaunchOp launch : kernel.launches)
    launch.setKernel(name);
}

} // namespace

KnownKernels::KnownKernels(ModuleOp module, ArrayRef<Kernel> kernels,
                           const ChosenKernels &chosen) {
  for (const Kernel &kernel : kernels) {
    func::FuncOp function = kernel.function;
    if (auto found = chosen.best.find(function.getSymName());
        found != chosen.best.end())
      entries[digestOf(function, ait::getModuleSymbols(module))] = {
          function.getSymName().str(), found->second};
  }
}

std::vector<Kernel> KnownKernels::take(ModuleOp module,
                                       std::vector<Kernel> &kernels,
                                       ChosenKernels &chosen) const {
  std::vector<Kernel> known, others;
  std::vector<const Entry *> found;
  llvm::StringSet<> taken;
  for (Kernel &kernel : kernels) {
    auto entry =
        entries.find(digestOf(kernel.function, ait::getModuleSymbols(module)));
    if (entry == entries.end() || kernel.launches.empty()) {
      taken.insert(kernel.function.getSymName());
      others.push_back(std::move(kernel));
      continue;
    }
    found.push_back(&entry->second);
    known.push_back(std::move(kernel));
  }
  for (const Entry *entry : found)
    taken.insert(entry->name);
  for (Kernel &kernel : others) {
    const std::string name = kernel.function.getSymName().str();
    if (llvm::none_of(found, [&](auto *entry) { return entry->name == name; }))
      continue;
    std::string unique;
    int number = 0;
    do
      unique = absl::StrCat(name, "_", ++number);
    while (!taken.insert(unique).second);
    rename(kernel, unique);
  }
  for (auto [kernel, entry] : llvm::zip_equal(known, found)) {
    rename(kernel, entry->name);
    kernel.chosenCut = entry->implementation.cut;
    chosen.best[entry->name] = entry->implementation;
    chosen.unsearched[entry->name] = entry->implementation;
  }
  kernels = std::move(others);
  return known;
}

} // namespace aitune
