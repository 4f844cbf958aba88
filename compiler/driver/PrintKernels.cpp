#include "compiler/driver/PrintKernels.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/candidates/KernelCompiler.h"
#include "compiler/plan/Provenance.h"
#include "compiler/support/Parallel.h"

using namespace mlir;

namespace aitune {

void printKernels(llvm::MutableArrayRef<Kernel> kernels, ArrayAttr symbols,
                  const CompileOptions &options, CompileResult &result) {
  std::vector<std::string> texts;
  for (const Kernel &kernel : kernels)
    texts.push_back(moduleText(kernel.function, symbols));
  std::vector<absl::StatusOr<std::string>> outcomes(
      texts.size(), absl::UnknownError("not printed"));
  inParallel(texts.size(), threadsOrAll(options.threads), [&](size_t i) {
    outcomes[i] = printKernel(
        texts[i],
        {options.emulateEagerCasts, options.target, options.dumpDirectory},
        options.compileTo);
  });
  for (auto [kernel, printed] : llvm::zip_equal(kernels, outcomes)) {
    if (printed.ok())
      absl::StrAppend(&result.ir, *printed);
    else
      result.failures.push_back({kernel.function.getSymName().str(),
                                 std::string(printed.status().message()),
                                 traceOps(kernel.function, kernel.launches)});
  }
}

} // namespace aitune
