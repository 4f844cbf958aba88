#include "compiler/codegen/cpu/llvm/Passes.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;

namespace aitune {

#define GEN_PASS_DEF_CPUDEFINECONVERSIONSPASS
#include "compiler/codegen/cpu/llvm/Passes.h.inc"

namespace {

struct CpuDefineConversionsPass
    : impl::CpuDefineConversionsPassBase<CpuDefineConversionsPass> {
  void runOnOperation() override {
    getOperation()->walk([](arith::FPToSIOp op) {
      OpBuilder builder(op);
      builder.setInsertionPointAfter(op);
      const Location loc = op.getLoc();
      Value number = op.getIn(), integer = op.getOut();
      const unsigned width =
          getElementTypeOrSelf(integer).getIntOrFloatBitWidth();
      const double limit = std::ldexp(1.0, width - 1);
      const Value magnitude = math::AbsFOp::create(builder, loc, number);
      const Value fits = arith::CmpFOp::create(
          builder, loc, arith::CmpFPredicate::OLT, magnitude,
          emitConstant(builder, loc, number.getType(), limit));
      auto defined = arith::SelectOp::create(
          builder, loc, fits, integer,
          emitConstant(builder, loc, integer.getType(), -limit));
      integer.replaceAllUsesExcept(defined, defined);
    });
  }
};

} // namespace

} // namespace aitune
