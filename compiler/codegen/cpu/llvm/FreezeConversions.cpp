#include "compiler/codegen/cpu/llvm/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace aitune {

#define GEN_PASS_DEF_CPUFREEZECONVERSIONSPASS
#include "compiler/codegen/cpu/llvm/Passes.h.inc"

namespace {

struct CpuFreezeConversionsPass
    : impl::CpuFreezeConversionsPassBase<CpuFreezeConversionsPass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (!isa<LLVM::FPToSIOp, LLVM::FPToUIOp>(op))
        return;
      OpBuilder builder(op);
      builder.setInsertionPointAfter(op);
      Value result = op->getResult(0);
      auto frozen = LLVM::FreezeOp::create(builder, op->getLoc(), result);
      result.replaceAllUsesExcept(frozen, frozen);
    });
  }
};

} // namespace

} // namespace aitune
