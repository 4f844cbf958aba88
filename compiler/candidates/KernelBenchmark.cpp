#include "compiler/candidates/KernelBenchmark.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/ElementTypes.h"
#include "compiler/dialect/SizeExpressions.h"
#include "runtime/cpu/kernel_abi.h"
#include "runtime/cpu/pack.h"
#include "runtime/plan/plan.h"

using namespace mlir;

namespace aitune {
namespace {

constexpr char kProgram[] =
    R"(// Build: c++ -O2 -std=c++17 benchmark.cc 5-object.o -o benchmark
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

extern "C" void KERNEL(void* const* buffers, const int64_t* symbols, int64_t begin, int64_t end);

int main() {
  // Linux lends AMX's tile registers to processes that ask for them
  // (ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA).
  syscall(SYS_arch_prctl, 0x1023, 18);
  const std::vector<size_t> bytes = {BYTES};
  // A byte for each buffer: small normal numbers for floating types, zeros for
  // integers, which are always valid indices.
  const std::vector<int> fill = {FILL};
  const std::vector<int64_t> symbols = {SYMBOLS};
  const int64_t grid = GRID;
  const double operations = FLOPS;
  std::vector<void*> buffers;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t rounded = (bytes[i] + 127) / 64 * 64;
    buffers.push_back(std::memset(std::aligned_alloc(64, rounded), fill[i], rounded));
  }
  std::vector<double> microseconds;
  for (int run = 0; run < 50; ++run) {
    const auto start = std::chrono::steady_clock::now();
    KERNEL(buffers.data(), symbols.data(), 0, grid);
    microseconds.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(microseconds.begin(), microseconds.end());
  const double median = microseconds[microseconds.size() / 2];
  std::printf("KERNEL: %.1f us, %.1f GFLOP/s on one thread\n", median, operations / median * 1e-3);
}
)";

/// The bytes of an operand, as the kernel reads it.
int64_t operandBytes(RankedTensorType type, const PackingProto &packing,
                     llvm::ArrayRef<int64_t> symbols) {
  TensorView view;
  view.dtype = *ait::toDataType(type.getElementType());
  for (AffineExpr size : ait::getSymbolicSizes(type))
    view.sizes.push_back(
        ait::toSizeExpression(size).Evaluate({symbols.data(), symbols.size()}));
  if (packing.kind() != PackingProto::NONE)
    if (auto bytes = PackedBytes(packing, view.dtype, view.sizes); bytes.ok())
      return *bytes;
  return BytesOf(view);
}

} // namespace

std::string writeKernelBenchmark(func::FuncOp kernel,
                                 const ImplementationStep &compiled,
                                 ArrayAttr symbols) {
  const std::vector<int64_t> values = measuredSizes(symbols);
  std::vector<int64_t> bytes, fill;
  auto addBuffer = [&](Type type, const PackingProto &packing) {
    auto tensor = cast<RankedTensorType>(type);
    bytes.push_back(operandBytes(tensor, packing, values));
    fill.push_back(tensor.getElementType().isFloat() ? 0x3c : 0);
  };
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes()))
    addBuffer(type, compiled.packings[index]);
  for (Type type : kernel.getResultTypes())
    addBuffer(type, PackingProto());
  if (!compiled.call.checks().empty()) {
    bytes.push_back(compiled.call.checks_size() * sizeof(KernelCheck));
    fill.push_back(0);
  }
  const auto grid = FromProto(compiled.call.kernel().grid(), values.size());
  return absl::StrReplaceAll(
      kProgram,
      {{"KERNEL", compiled.call.kernel().symbol()},
       {"BYTES", absl::StrJoin(bytes, ", ")},
       {"FILL", absl::StrJoin(fill, ", ")},
       {"SYMBOLS", absl::StrJoin(values, ", ")},
       {"GRID", absl::StrCat(grid.ok() ? grid->Evaluate(values) : 0)},
       {"FLOPS", absl::StrCat(evaluateFlops(kernel, symbols), ".0")}});
}

} // namespace aitune
