#include "compiler/codegen/cpu/contraction/MicrokernelTesting.h"

#include <cmath>
#include <cstring>

#include "compiler/codegen/cpu/contraction/MicrokernelBuilder.h"
#include "compiler/codegen/cpu/llvm/EmitObject.h"
#include "compiler/codegen/cpu/llvm/LowerToLLVM.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "runtime/cpu/kernel_loader.h"
#include "runtime/cpu/pack.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace aitune::testing {
namespace {

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), symbols),
          rhs = evaluate(binary.getRHS(), symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return lhs / rhs;
  case AffineExprKind::CeilDiv:
    return (lhs + rhs - 1) / rhs;
  default:
    return lhs % rhs;
  }
}

const llvm::fltSemantics *getSemantics(Type elementType) {
  auto floatType = dyn_cast<FloatType>(elementType);
  return floatType ? &floatType.getFloatSemantics() : nullptr;
}

void writeElement(Type elementType, float value, char *target) {
  if (const llvm::fltSemantics *semantics = getSemantics(elementType)) {
    llvm::APFloat number(value);
    bool inexact;
    number.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
    uint64_t bits = number.bitcastToAPInt().getZExtValue();
    std::memcpy(target, &bits, elementType.getIntOrFloatBitWidth() / 8);
    return;
  }
  int64_t integer = static_cast<int64_t>(value);
  std::memcpy(target, &integer,
              getMemoryType(elementType).getIntOrFloatBitWidth() / 8);
}

float readElement(Type elementType, const char *source) {
  int64_t bytes = getMemoryType(elementType).getIntOrFloatBitWidth() / 8;
  uint64_t bits = 0;
  std::memcpy(&bits, source, bytes);
  if (const llvm::fltSemantics *semantics = getSemantics(elementType)) {
    llvm::APFloat number(*semantics, llvm::APInt(bytes * 8, bits));
    bool inexact;
    number.convert(llvm::APFloat::IEEEsingle(),
                   llvm::APFloat::rmNearestTiesToEven, &inexact);
    return number.convertToFloat();
  }
  return static_cast<float>(static_cast<int64_t>(bits << (64 - bytes * 8)) >>
                            (64 - bytes * 8));
}

/// A [batch, steps, columns] source (given by `at`) as panels.
TestTensor
packPanels(int64_t batch, int64_t outer, int64_t steps, int64_t columns,
           int64_t block, int64_t together,
           const std::function<float(int64_t, int64_t, int64_t, int64_t)> &at) {
  int64_t panels = (columns + block - 1) / block;
  int64_t groups = (steps + together - 1) / together;
  TestTensor packed({batch, panels, outer, groups, block, together});
  float *target = packed.values.data();
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t p = 0; p < panels; ++p)
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t g = 0; g < groups; ++g)
          for (int64_t n = 0; n < block; ++n)
            for (int64_t i = 0; i < together; ++i, ++target)
              if (p * block + n < columns && g * together + i < steps)
                *target = at(b, o, g * together + i, p * block + n);
  return packed;
}

/// By the runtime: the kernel must match what that makes of a filter.
TestTensor packWinograd(ait::PackedLayout layout, int64_t block,
                        const TestTensor &tensor) {
  PackingProto packing;
  packing.set_kind(layout == ait::PackedLayout::Winograd2x2
                       ? PackingProto::WINOGRAD_2X2
                       : PackingProto::WINOGRAD_4X4);
  packing.set_block_n(block);
  TensorView view{const_cast<float *>(tensor.values.data()), DataType::kFloat32,
                  tensor.sizes};
  auto bytes = PackedBytes(packing, view.dtype, view.sizes);
  if (!bytes.ok())
    llvm::report_fatal_error(bytes.status().ToString().c_str());
  TestTensor packed({*bytes / int64_t(sizeof(float))});
  if (!Pack(packing, view, packed.values.data()).ok())
    llvm_unreachable("the packing was looked at above");
  return packed;
}

TestTensor pack(ait::PackingAttr packing, const TestTensor &tensor) {
  const ait::PackedLayout layout = packing.getLayout();
  const std::vector<int64_t> &sizes = tensor.sizes;
  const int64_t together = packing.getStepsTogether();
  if (layout == ait::PackedLayout::Depthwise) {
    int64_t channels = sizes[0], taps = tensor.count() / channels;
    TestTensor packed({taps, channels});
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t)
        packed.values[t * channels + c] = tensor.values[c * taps + t];
    return packed;
  }
  int64_t block = packing.getBlockColumns();
  if (layout == ait::PackedLayout::Winograd2x2 ||
      layout == ait::PackedLayout::Winograd4x4)
    return packWinograd(layout, block, tensor);
  if (layout == ait::PackedLayout::ConvolutionPanels) {
    int64_t inputs = sizes[1],
            taps = product(ArrayRef<int64_t>(sizes).drop_front(2));
    return packPanels(1, taps, inputs, sizes[0], block, together,
                      [&](int64_t, int64_t tap, int64_t i, int64_t o) {
                        return tensor.values[(o * inputs + i) * taps + tap];
                      });
  }
  bool transposed = packing.getTransposed();
  int64_t rank = sizes.size(), rows = sizes[rank - 2],
          columns = sizes[rank - 1];
  int64_t batch = tensor.count() / (rows * columns);
  return packPanels(
      batch, 1, transposed ? columns : rows, transposed ? rows : columns, block,
      together, [&](int64_t b, int64_t, int64_t k, int64_t n) {
        int64_t index = transposed ? n * columns + k : k * columns + n;
        return tensor.values[b * rows * columns + index];
      });
}

std::vector<char> allocate(int64_t bytes) {
  return std::vector<char>(bytes + 64);
}

char *align(std::vector<char> &storage) {
  return reinterpret_cast<char *>(
      (reinterpret_cast<uintptr_t>(storage.data()) + 63) / 64 * 64);
}

} // namespace

struct TestKernel::Buffers {
  std::vector<std::vector<char>> storage;
  std::vector<void *> pointers;
  std::vector<int64_t> symbols;
  std::vector<TestTensor> results;
};

TestTensor::TestTensor(std::vector<int64_t> sizes) : sizes(std::move(sizes)) {
  values.resize(product(this->sizes));
}

TestTensor makeRandom(std::vector<int64_t> sizes, int seed) {
  TestTensor tensor(std::move(sizes));
  uint32_t state = seed * 2654435761u + 12345;
  for (float &value : tensor.values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int32_t>(state >> 25) - 64) / 64.0f;
  }
  return tensor;
}

TestKernel::TestKernel(const std::string &text, const LowerFunction &lower,
                       const std::string &targetName)
    : context([] {
        DialectRegistry registry;
        registry.insert<ait::AitDialect, func::FuncDialect, arith::ArithDialect,
                        math::MathDialect, scf::SCFDialect,
                        vector::VectorDialect, LLVM::LLVMDialect>();
        registerTranslations(registry);
        return registry;
      }()),
      buffers(std::make_unique<Buffers>()) {
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    failure += diagnostic.str() + "\n";
    return success();
  });
  FailureOr<Target> target = Target::named(targetName);
  if (failed(target)) {
    failure = "unknown target " + targetName;
    return;
  }
  compile(text, lower, *target);
}

TestKernel::~TestKernel() = default;

void TestKernel::compile(const std::string &text, const LowerFunction &lower,
                         const Target &target) {
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    failure += "does not parse";
    return;
  }
  func::FuncOp kernel = *module->getOps<func::FuncOp>().begin();
  type = kernel.getFunctionType();
  std::string name = kernel.getName().str(), reason;
  if (failed(lower(kernel, target, reason))) {
    failure += reason.empty() ? "lowering failed" : reason;
    return;
  }
  auto abi = module->lookupSymbol<func::FuncOp>(name);
  llvm::raw_string_ostream(abiText) << *module;
  grid = ait::getLaunchShape(abi)->units;
  packings = ait::getPackings(abi);
  if (failed(verify(*module)) || failed(lowerToLLVM(*module, target))) {
    failure += "lowering to LLVM failed";
    return;
  }
  FailureOr<std::string> object = emitObject(*module, target);
  if (failed(object)) {
    failure += "no object code";
    return;
  }
  absl::StatusOr<std::shared_ptr<const KernelLibrary>> loaded =
      LoadKernels({*object});
  if (!loaded.ok()) {
    failure += std::string(loaded.status().message());
    return;
  }
  library = *loaded;
  entry = library->Find(name);
  if (!entry)
    failure += "the object has no such kernel";
}

std::vector<char> TestKernel::encode(unsigned argument,
                                     const TestTensor &tensor) const {
  Type elementType =
      cast<RankedTensorType>(type.getInput(argument)).getElementType();
  int64_t bytes = getMemoryType(elementType).getIntOrFloatBitWidth() / 8;
  TestTensor packed;
  const TestTensor *source = &tensor;
  for (ait::PackingAttr packing : packings)
    if (packing.getArgument() == argument) {
      packed = pack(packing, tensor);
      source = &packed;
    }
  std::vector<char> storage = allocate(source->count() * bytes);
  char *target = align(storage);
  for (int64_t i = 0; i < source->count(); ++i)
    writeElement(elementType, source->values[i], target + i * bytes);
  return storage;
}

std::function<void(int64_t, int64_t)>
TestKernel::prepare(const std::vector<TestTensor> &inputs,
                    const std::vector<int64_t> &symbols, int64_t &units) {
  *buffers = Buffers();
  buffers->symbols = symbols;
  buffers->symbols.push_back(0);
  for (auto [index, input] : llvm::enumerate(inputs))
    buffers->storage.push_back(encode(index, input));
  for (Type result : type.getResults()) {
    auto tensorType = cast<RankedTensorType>(result);
    std::vector<int64_t> sizes;
    for (AffineExpr size : ait::getSymbolicSizes(tensorType))
      sizes.push_back(evaluate(size, symbols));
    buffers->results.emplace_back(sizes);
    int64_t bytes =
        getMemoryType(tensorType.getElementType()).getIntOrFloatBitWidth() / 8;
    buffers->storage.push_back(allocate(product(sizes) * bytes));
  }
  for (std::vector<char> &storage : buffers->storage)
    buffers->pointers.push_back(align(storage));
  units = evaluate(grid, symbols);
  return [this](int64_t begin, int64_t end) {
    entry(buffers->pointers.data(), buffers->symbols.data(), begin, end);
  };
}

std::vector<TestTensor> TestKernel::run(const std::vector<TestTensor> &inputs,
                                        const std::vector<int64_t> &symbols) {
  int64_t units = 0;
  auto call = prepare(inputs, symbols, units);
  int64_t first = units / 3, second = units - units / 4;
  call(second, units);
  call(0, first);
  call(first, second);
  for (auto [index, result] : llvm::enumerate(buffers->results)) {
    Type elementType =
        cast<RankedTensorType>(type.getResult(index)).getElementType();
    int64_t bytes = getMemoryType(elementType).getIntOrFloatBitWidth() / 8;
    const char *source =
        static_cast<const char *>(buffers->pointers[inputs.size() + index]);
    for (int64_t i = 0; i < result.count(); ++i)
      result.values[i] = readElement(elementType, source + i * bytes);
  }
  return buffers->results;
}

double getMaximalError(const TestTensor &actual, const TestTensor &expected) {
  if (actual.sizes != expected.sizes)
    return INFINITY;
  double worst = 0;
  for (int64_t i = 0; i < actual.count(); ++i) {
    double error = std::abs(double(actual.values[i]) - expected.values[i]) /
                   std::max(1.0, std::abs(double(expected.values[i])));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

bool canRun(const std::string &name) {
  FailureOr<Target> target = Target::named(name);
  const Target &host = Target::host();
  return succeeded(target) && target->vectorBits <= host.vectorBits &&
         (!target->hasAvx512 || host.hasAvx512) &&
         (!target->hasAvx512Bf16 || host.hasAvx512Bf16) &&
         (!target->hasAmxBf16 || host.hasAmxBf16) &&
         (!target->hasAmxInt8 || host.hasAmxInt8);
}

} // namespace aitune::testing
