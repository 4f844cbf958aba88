// The pass that prints what generateCuda makes.
#include "compiler/codegen/gpu/Generate.h"
#include "compiler/codegen/gpu/Nvrtc.h"
#include "compiler/codegen/gpu/Passes.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace aitune {

#define GEN_PASS_DEF_GPUPRINTCUDAPASS
#include "compiler/codegen/gpu/Passes.h.inc"

namespace {

/// The text from its first kernel on.
StringRef withoutPrelude(StringRef text, StringRef symbol) {
  size_t at = text.find(("// " + symbol + ":").str());
  return at == StringRef::npos ? text : text.substr(at);
}

class GpuPrintCuda : public impl::GpuPrintCudaPassBase<GpuPrintCuda> {
public:
  using GpuPrintCudaPassBase::GpuPrintCudaPassBase;

  void runOnOperation() override {
    absl::StatusOr<GpuTarget> found = GpuTarget::named(target);
    if (!found.ok()) {
      getOperation().emitError() << found.status().ToString();
      return signalPassFailure();
    }
    found->allowTf32 = allowTf32;
    auto symbols = getOperation()->getAttrOfType<ArrayAttr>("ait.symbols");
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr("ait.kind"))
        print(kernel, symbols, *found);
  }

private:
  void print(func::FuncOp kernel, ArrayAttr symbols, const GpuTarget &gpu) {
    absl::StatusOr<std::vector<GeneratedCandidate>> candidates =
        generateCuda(kernel, symbols, gpu);
    if (!candidates.ok()) {
      kernel.emitError() << "no CUDA text: "
                         << std::string(candidates.status().message());
      return signalPassFailure();
    }
    for (const GeneratedCandidate &candidate : *candidates) {
      llvm::outs() << "=== " << kernel.getName() << ": "
                   << candidate.description << "\n";
      if (compile) {
        absl::StatusOr<std::string> cubin = compileToCubin(candidate.text, gpu);
        if (!cubin.ok()) {
          kernel.emitError() << "candidate '" << candidate.description
                             << "': " << std::string(cubin.status().message());
          signalPassFailure();
          continue;
        }
      }
      if (quiet)
        continue;
      for (const GeneratedStep &step : candidate.steps)
        llvm::outs() << "launch " << step.launch.ShortDebugString() << "\n";
      llvm::outs() << withoutPrelude(candidate.text,
                                     candidate.steps.front().symbol)
                   << "\n";
    }
  }
};

} // namespace
} // namespace aitune
