// Compiles one contraction kernel from text and runs it on tensors of floats:
// what the tests of this folder's contraction families share.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELTESTING_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELTESTING_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/cpu/target/Target.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/cpu/kernel_library.h"

namespace aitune::testing {

/// A dense tensor whose elements are held as floats whatever its dtype.
struct TestTensor {
  std::vector<int64_t> sizes;
  std::vector<float> values;

  TestTensor() = default;
  explicit TestTensor(std::vector<int64_t> sizes);
  int64_t count() const { return static_cast<int64_t>(values.size()); }
};

/// Small pseudo-random numbers in [-1, 1], exact in bf16, the same for the same
/// seed.
TestTensor makeRandom(std::vector<int64_t> sizes, int seed);

using LowerFunction = std::function<mlir::LogicalResult(
    mlir::func::FuncOp, const Target &, std::string &reason)>;

class TestKernel {
public:
  /// Compiles the one function of `text` with `lower` for `target`
  /// (Target::named) down to loaded code. On failure `error()` tells why and
  /// nothing can be run.
  TestKernel(const std::string &text, const LowerFunction &lower,
             const std::string &target = "host");
  ~TestKernel();

  const std::string &error() const { return failure; }
  /// The ABI function before it is lowered further, as text.
  const std::string &ir() const { return abiText; }

  /// Runs the kernel over all its units, in three ranges, on copies of `inputs`
  /// in the dtypes of the kernel's arguments, constants packed as the kernel
  /// asks. Returns its results.
  std::vector<TestTensor> run(const std::vector<TestTensor> &inputs,
                              const std::vector<int64_t> &symbols = {});

  /// Prepares buffers as run does and returns what runs units [begin, end);
  /// `units` is set to their number. For timing.
  std::function<void(int64_t begin, int64_t end)>
  prepare(const std::vector<TestTensor> &inputs,
          const std::vector<int64_t> &symbols, int64_t &units);

private:
  struct Buffers;
  void compile(const std::string &text, const LowerFunction &lower,
               const Target &target);
  std::vector<char> encode(unsigned argument, const TestTensor &tensor) const;

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string failure, abiText;
  mlir::AffineExpr grid;
  llvm::SmallVector<mlir::ait::PackingAttr> packings;
  mlir::FunctionType type;
  std::shared_ptr<const KernelLibrary> library;
  KernelFunction entry = nullptr;
  std::unique_ptr<Buffers> buffers;
};

/// The largest difference, relative to max(1, |expected|).
double getMaximalError(const TestTensor &actual, const TestTensor &expected);

/// Whether the machine that runs the test can run code for the named target.
bool canRun(const std::string &target);

} // namespace aitune::testing

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELTESTING_H
