// The pass that prints what generateCuda makes.
#include "compiler/codegen/gpu/Generate.h"
#include "compiler/codegen/gpu/Passes.h"
#include "compiler/codegen/gpu/target/Nvrtc.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/plan/plan.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

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
    ArrayAttr symbols = mlir::ait::getModuleSymbols(getOperation());
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (mlir::ait::isKernel(kernel))
        print(kernel, symbols, *found);
    if (!bundle.empty())
      write(
          "kernels.json",
          llvm::formatv("{0:2}", llvm::json::Value(std::move(kernels))).str());
  }

private:
  void write(const std::string &name, const std::string &content) {
    std::error_code error = llvm::sys::fs::create_directories(bundle);
    llvm::raw_fd_ostream stream(bundle + "/" + name, error);
    if (!error)
      stream << content;
    if (error || stream.has_error()) {
      stream.clear_error();
      getOperation().emitError() << "cannot write " << bundle << "/" << name;
      signalPassFailure();
    }
  }

  static std::string elementName(Type type) {
    std::string name;
    llvm::raw_string_ostream(name)
        << cast<RankedTensorType>(type).getElementType();
    return name;
  }

  llvm::json::Value toJson(const ImplementationStep &step,
                           ArrayRef<int64_t> symbols) {
    const CudaKernelLaunch &launch = step.call.cuda_kernel();
    llvm::json::Array grid;
    for (const SizeExpressionProto *axis :
         {&launch.grid_x(), &launch.grid_y(), &launch.grid_z()}) {
      absl::StatusOr<SizeExpression> size =
          FromProto(*axis, static_cast<int>(symbols.size()));
      absl::StatusOr<int64_t> value =
          size.ok() ? EvaluateSize(*size, {symbols.data(), symbols.size()})
                    : absl::StatusOr<int64_t>(size.status());
      grid.push_back(value.ok() && *value > 0 ? *value : 1);
    }
    llvm::json::Array packings;
    for (const PackingProto &packing : step.packings)
      packings.push_back(PackingProto::Kind_Name(packing.kind()));
    return llvm::json::Object{{"symbol", launch.symbol()},
                              {"inputs", llvm::json::Array(step.inputs)},
                              {"outputs", llvm::json::Array(step.outputs)},
                              {"grid", std::move(grid)},
                              {"block", launch.block_x()},
                              {"shared", launch.shared_memory()},
                              {"programmatic", launch.programmatic()},
                              {"packings", std::move(packings)}};
  }

  /// Adds a kernel and its candidates' machine code to the bundle.
  void
  addToBundle(func::FuncOp kernel, ArrayAttr symbols,
              ArrayRef<std::pair<GeneratedCandidate, std::string>> candidates) {
    SmallVector<int64_t> values(symbols ? symbols.size() : 0, symbolValue);
    llvm::json::Array list, outputs;
    for (Type type : kernel.getResultTypes())
      outputs.push_back(elementName(type));
    for (auto [number, entry] : llvm::enumerate(candidates)) {
      const auto &[candidate, cubin] = entry;
      std::string file =
          kernel.getName().str() + "." + std::to_string(number) + ".cubin";
      write(file, cubin);
      llvm::json::Array steps, temporaries;
      for (const ImplementationStep &step : candidate.steps)
        steps.push_back(toJson(step, values));
      for (RankedTensorType type : candidate.temporaries) {
        SmallVector<AffineExpr> replacements(
            values.size(),
            getAffineConstantExpr(symbolValue, kernel.getContext()));
        llvm::json::Array sizes;
        for (AffineExpr size : mlir::ait::getSymbolicSizes(type))
          sizes.push_back(
              cast<AffineConstantExpr>(size.replaceSymbols(replacements))
                  .getValue());
        temporaries.push_back(
            llvm::json::Array{std::move(sizes), elementName(type)});
      }
      list.push_back(
          llvm::json::Object{{"description", candidate.description},
                             {"cubin", file},
                             {"steps", std::move(steps)},
                             {"temporaries", std::move(temporaries)}});
    }
    kernels.push_back(llvm::json::Object{{"kernel", kernel.getName().str()},
                                         {"symbols", llvm::json::Array(values)},
                                         {"outputs", std::move(outputs)},
                                         {"candidates", std::move(list)}});
  }

  llvm::json::Array kernels;

  void print(func::FuncOp kernel, ArrayAttr symbols, const GpuTarget &gpu) {
    std::vector<std::pair<GeneratedCandidate, std::string>> compiled;
    absl::StatusOr<std::vector<GeneratedCandidate>> candidates =
        generateCuda(kernel, symbols, gpu);
    if (!candidates.ok()) {
      kernel.emitError() << "no CUDA text: "
                         << std::string(candidates.status().message());
      return signalPassFailure();
    }
    if (most > 0 && candidates->size() > static_cast<size_t>(most))
      candidates->resize(most);
    for (const GeneratedCandidate &candidate : *candidates) {
      llvm::outs() << "=== " << kernel.getName() << ": "
                   << candidate.description << "\n";
      if (compile || !bundle.empty()) {
        absl::StatusOr<std::string> cubin = compileToCubin(candidate.text, gpu);
        if (!cubin.ok()) {
          kernel.emitError() << "candidate '" << candidate.description
                             << "': " << std::string(cubin.status().message());
          signalPassFailure();
          continue;
        }
        compiled.emplace_back(candidate, std::move(*cubin));
      }
      if (quiet)
        continue;
      for (const ImplementationStep &step : candidate.steps)
        llvm::outs() << "launch " << step.call.cuda_kernel().ShortDebugString()
                     << "\n";
      llvm::outs() << withoutPrelude(candidate.text, kernel.getName()) << "\n";
    }
    if (!bundle.empty())
      addToBundle(kernel, symbols, compiled);
  }
};

} // namespace
} // namespace aitune
