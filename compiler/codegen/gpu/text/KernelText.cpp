#include "compiler/codegen/gpu/text/KernelText.h"

#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/SizeBounds.h"
#include "compiler/dialect/SizeExpressions.h"
#include "runtime/plan/plan.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {

struct PreludeFile {
  const char *name;
  const char *text;
};

// Defined in the generated Prelude.inc.
static const PreludeFile kPrelude[] = {
#include "compiler/codegen/gpu/prelude/Prelude.inc"
};

const char *preludeText(StringRef name) {
  for (const PreludeFile &file : kPrelude)
    if (name == file.name)
      return file.text;
  llvm_unreachable("no such prelude");
}

std::optional<int64_t> largestValue(AffineExpr size, ArrayAttr symbols) {
  std::optional<mlir::ait::SizeBounds> bounds =
      mlir::ait::getSizeBounds(size, symbols);
  if (!bounds)
    return std::nullopt;
  return bounds->high;
}

bool fitsLaterGridAxis(AffineExpr blocks, ArrayAttr symbols) {
  std::optional<int64_t> most = largestValue(blocks, symbols);
  return most && *most <= 65535;
}

std::string indexType(func::FuncOp function, ArrayAttr symbols) {
  bool fits = true;
  auto note = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return;
    std::optional<int64_t> count =
        largestValue(mlir::ait::getElementCount(tensor), symbols);
    fits &= count && *count < (int64_t(1) << 30);
  };
  llvm::for_each(function.getArgumentTypes(), note);
  function.walk(
      [&](Operation *op) { llvm::for_each(op->getResultTypes(), note); });
  return fits ? "int" : "long long";
}

std::string inputName(unsigned i) { return "in" + std::to_string(i); }
std::string outputName(unsigned i) { return "out" + std::to_string(i); }

std::string kernelHead(StringRef name, int64_t threads,
                       ArrayRef<KernelParameter> parameters, ArrayAttr symbols,
                       int64_t residentBlocks) {
  SmallVector<std::string> list;
  for (const KernelParameter &parameter : parameters) {
    Type element = parameter.elementType;
    if (auto integer = dyn_cast<IntegerType>(element))
      element = IntegerType::get(element.getContext(), integer.getWidth());
    list.push_back((parameter.isOutput ? "" : "const ") + cudaType(element) +
                   " *" + parameter.name);
  }
  size_t count = symbols ? symbols.size() : 0;
  for (size_t i = 0; i < count; ++i)
    list.push_back("long long symbol" + std::to_string(i));
  list.push_back("int nextWaits");
  std::string text = llvm::formatv(
      "extern \"C\" __global__ void __launch_bounds__({0}{1}) {2}({3}) {{\n",
      threads,
      residentBlocks > 0 ? ", " + std::to_string(residentBlocks)
                         : std::string(),
      name, llvm::join(list, ", "));
  for (size_t i = 0; i < count; ++i)
    text += llvm::formatv(
        "  const Index s{0} = static_cast<Index>(symbol{0});\n", i);
  return text;
}

void setLaunch(ImplementationStep &step, StringRef symbol,
               ArrayRef<AffineExpr> blocks, int64_t threads,
               int64_t sharedMemory, const GpuTarget &target) {
  CudaKernelLaunch &launch = *step.call.mutable_cuda_kernel();
  launch.set_symbol(symbol.str());
  SizeExpressionProto *(CudaKernelLaunch::*axes[])() = {
      &CudaKernelLaunch::mutable_grid_x, &CudaKernelLaunch::mutable_grid_y,
      &CudaKernelLaunch::mutable_grid_z};
  for (auto [axis, size] : llvm::zip(axes, blocks))
    *(launch.*axis)() = ToProto(mlir::ait::toSizeExpression(size));
  launch.set_block_x(static_cast<int32_t>(threads));
  launch.set_shared_memory(static_cast<int32_t>(sharedMemory));
  launch.set_programmatic(target.hasDependentLaunch());
}

} // namespace aitune
