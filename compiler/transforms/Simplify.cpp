// Rewrites that make fusion see more, beyond canonicalisation.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/transforms/SimplifyPatterns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace aitune {
#define GEN_PASS_DEF_SIMPLIFY
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;

namespace {
struct Simplify : aitune::impl::SimplifyBase<Simplify> {
  using SimplifyBase::SimplifyBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    aitune::populateArithmeticPatterns(patterns);
    aitune::populateViewPatterns(patterns);
    aitune::populateContractionPatterns(patterns, threadsShareSums);
    // Reshapes that meet must merge at once, or each hides the next from the
    // pattern that would move it on.
    ait::ReshapeOp::getCanonicalizationPatterns(patterns, context);
    ait::PermuteOp::getCanonicalizationPatterns(patterns, context);
    ait::ExpandOp::getCanonicalizationPatterns(patterns, context);
    ait::SliceOp::getCanonicalizationPatterns(patterns, context);
    ait::MatmulOp::getCanonicalizationPatterns(patterns, context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
