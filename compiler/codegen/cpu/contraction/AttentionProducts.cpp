#include "compiler/codegen/cpu/contraction/AttentionProducts.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {

AttentionFrame::AttentionFrame(KernelBuilder &builder,
                               const AttentionProblem &problem,
                               const AttentionSchedule &schedule)
    : builder(builder), problem(problem), schedule(schedule),
      f32(builder.ops().getF32Type()), lanes(builder.target().vectorBits / 32),
      vectors(schedule.nr / lanes),
      outputStride(llvm::alignTo(problem.valueDepth, lanes)),
      // Distinct cache sets for the rows of a tile.
      scoreStride(schedule.keyBlock + lanes) {}

Value AttentionFrame::start(const AttentionProblem::Operand &operand) const {
  Value offset = builder.add(builder.evaluate(operand.access.layout.offset),
                             builder.offset(operand.batchAxis, batch));
  return builder.advance(builder.buffer(operand.access.argument),
                         operand.access.storedType, offset);
}

SmallVector<Value> AttentionFrame::getQueryRows(Value row) const {
  Value last = builder.sub(queries, builder.constant(1));
  SmallVector<Value> rows;
  for (int64_t i = 0; i < schedule.mr; ++i) {
    Value index =
        builder.add(firstQuery, builder.add(row, builder.constant(i)));
    Value offset =
        builder.offset(problem.query.rowAxis, builder.min(index, last));
    rows.push_back(builder.advance(start(problem.query),
                                   problem.query.access.storedType, offset));
  }
  return rows;
}

void AttentionFrame::copyRow(const AttentionProblem::Operand &operand,
                             Value source, int64_t count, Type to,
                             Value target) const {
  builder.loop(builder.constant(0), builder.constant(count), lanes,
               [&](Value column) {
                 Value mask = builder.maskBelow(
                     builder.sub(builder.constant(count), column), lanes);
                 Value loaded = builder.loadAlong(operand.columnAxis,
                                                  operand.access.storedType,
                                                  source, column, lanes, mask);
                 builder.storeVector(builder.extend(loaded, to),
                                     builder.advance(target, to, column));
               });
}

SmallVector<Value> AttentionFrame::copyQueries(Value row, Type to,
                                               int64_t stride,
                                               Value target) const {
  SmallVector<Value> copies;
  for (Value source : getQueryRows(row)) {
    copies.push_back(
        builder.advance(target, to, builder.constant(copies.size() * stride)));
    copyRow(problem.query, source, problem.depth, to, copies.back());
  }
  return copies;
}

void AttentionFrame::forEachOutputTile(
    Value row, const std::function<void(int64_t column, const TileShape &tile,
                                        Value place)> &emitTile) const {
  Value outputRow =
      at(outputs, builder.mul(row, builder.constant(outputStride)));
  for (int64_t column = 0; column < outputStride; column += schedule.nr)
    emitTile(column,
             getTile(std::min(vectors, (outputStride - column) / lanes)),
             at(outputRow, builder.constant(column)));
}

void AttentionFrame::forEachPanel(
    Value count,
    const std::function<void(Value key, int64_t vectors)> &emitPanel) const {
  auto all = dyn_cast<AffineConstantExpr>(problem.keys);
  if (!all || problem.isCausal || all.getValue() > schedule.keyBlock) {
    builder.loop(builder.constant(0), count, schedule.nr,
                 [&](Value key) { emitPanel(key, vectors); });
    return;
  }
  int64_t whole = all.getValue() / schedule.nr * schedule.nr;
  builder.loop(builder.constant(0), builder.constant(whole), schedule.nr,
               [&](Value key) { emitPanel(key, vectors); });
  if (int64_t rest = all.getValue() - whole)
    emitPanel(builder.constant(whole), llvm::divideCeil(rest, lanes));
}

} // namespace aitune
