#include "compiler/codegen/linalg/KernelToLinalg.h"
#include "compiler/codegen/linalg/Passes.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace aitune {

#define GEN_PASS_DEF_LOWERTOLINALGPASS
#include "compiler/codegen/linalg/Passes.h.inc"

namespace {

struct LowerToLinalgPass : impl::LowerToLinalgPassBase<LowerToLinalgPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (mlir::ait::getKernelKind(function) != mlir::ait::KernelKind::Loop ||
          function.isDeclaration())
        continue;
      if (failed(KernelToLinalg(function).run()))
        return signalPassFailure();
      // Schedules know values by name: equal ones must be one. Also drops what
      // nobody reads, such as constants that went into bodies.
      IRRewriter rewriter(&getContext());
      DominanceInfo dominance(function);
      eliminateCommonSubExpressions(rewriter, dominance, function);
    }
  }
};

} // namespace
} // namespace aitune
