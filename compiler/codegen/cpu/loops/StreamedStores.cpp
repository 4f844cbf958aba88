#include "compiler/codegen/cpu/loops/StreamedStores.h"

#include "compiler/codegen/cpu/loops/PointEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Results that a loop writes past the caches at once: a core is sure to
/// collect four lines on their way (Intel 64 and IA-32 Architectures
/// Optimization Reference Manual, on write combining).
constexpr size_t kMostStreams = 4;

bool isStreamed(LLVM::StoreOp store) { return store.getNontemporal(); }

} // namespace

SmallVector<unsigned> findStreamedOutputs(const LoopNest &nest,
                                          const CpuSchedule &schedule,
                                          int64_t leastBytes) {
  auto isMultiple = [&](int64_t value) { return value % schedule.lanes == 0; };
  if (!schedule.laneDim || schedule.isColumn || schedule.tileDim ||
      schedule.unitInner.empty() || nest.outputs.size() > kMostStreams ||
      schedule.unitInner.back().dims.back() != *schedule.laneDim ||
      !isMultiple(schedule.unitInner.back().block.value_or(0)) ||
      !llvm::all_of(schedule.splits, [&](AffineExpr split) {
        return isMultiple(getConstant(split).value_or(1));
      }))
    return {};
  SmallVector<unsigned> numbers;
  for (const KernelOutput &output : nest.outputs) {
    auto type = cast<RankedTensorType>(output.value.getType());
    if (nest.isFull(output) && type.hasStaticShape() &&
        type.getNumElements() *
                llvm::divideCeil(type.getElementTypeBitWidth(), 8) >=
            leastBytes)
      numbers.push_back(output.number);
  }
  llvm::sort(numbers);
  return numbers;
}

void guardStreamedStores(OpBuilder &builder, scf::ForOp loop,
                         ArrayRef<Value> pointers) {
  const bool any = loop.walk([&](LLVM::StoreOp store) {
                         return isStreamed(store) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
                       })
                       .wasInterrupted();
  if (!any)
    return;
  Location location = loop.getLoc();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop);
  auto i64 = [&](int64_t number) -> Value {
    return arith::ConstantIntOp::create(builder, location, number, 64);
  };
  Value bits = i64(0);
  for (Value pointer : pointers)
    bits = arith::OrIOp::create(builder, location, bits,
                                LLVM::PtrToIntOp::create(builder, location,
                                                         builder.getI64Type(),
                                                         pointer));
  bits = arith::AndIOp::create(builder, location, bits,
                               i64(kStreamedAlignment - 1));
  Value isAligned = arith::CmpIOp::create(
      builder, location, arith::CmpIPredicate::eq, bits, i64(0));
  auto branch =
      scf::IfOp::create(builder, location, isAligned, /*withElse=*/true);
  builder.setInsertionPointToStart(branch.elseBlock());
  builder.clone(*loop)->walk([&](LLVM::StoreOp store) {
    if (!isStreamed(store))
      return;
    store.setNontemporal(false);
    store.setAlignment(
        getElementTypeOrSelf(store.getValue()).getIntOrFloatBitWidth() / 8);
  });
  loop->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
  // Such writes are seen by other threads after a fence alone.
  builder.setInsertionPointAfter(loop);
  LLVM::CallIntrinsicOp::create(builder, location,
                                builder.getStringAttr("llvm.x86.sse.sfence"),
                                ValueRange{});
}

} // namespace aitune
