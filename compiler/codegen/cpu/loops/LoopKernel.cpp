#include "compiler/codegen/cpu/loops/LoopKernel.h"

#include <cmath>

#include "compiler/codegen/cpu/loops/LoopSchedule.h"
#include "compiler/codegen/cpu/loops/LoopSpace.h"
#include "compiler/codegen/cpu/loops/PointEmitter.h"
#include "compiler/codegen/cpu/loops/RowBuffers.h"
#include "compiler/codegen/cpu/loops/StreamedStores.h"
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace aitune {
namespace {

/// Simple operations that are worth waking a thread for.
constexpr double kThreadWork = 32768;

/// Whether there is never an element to compute.
bool isEmpty(const KernelOutput &output) {
  return llvm::is_contained(
      cast<RankedTensorType>(output.value.getType()).getShape(), 0);
}

LogicalResult verifyForm(func::FuncOp function) {
  WalkResult result = function.getBody().walk([&](Operation *op) {
    bool known =
        isa<linalg::GenericOp, linalg::FillOp, linalg::YieldOp, linalg::IndexOp,
            tensor::EmptyOp, tensor::ExtractOp, tensor::BitcastOp,
            tensor::CollapseShapeOp, tensor::ExpandShapeOp, scf::IfOp,
            scf::YieldOp, affine::AffineApplyOp, mlir::ait::SymbolOp,
            mlir::ait::ReportOp, func::ReturnOp>(op) ||
        isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
    if (known)
      return WalkResult::advance();
    op->emitOpError("does not belong into a loop kernel here; run "
                    "ait-lower-to-linalg before");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

class LoopKernelWriter {
public:
  LoopKernelWriter(func::FuncOp function, const LoopKernelSchedule &schedule)
      : function(function), schedule(schedule), builder(function.getContext()),
        emitter(builder, function.getLoc(), dims, schedule.lanes) {}

  FailureOr<func::FuncOp> run() {
    if (failed(verifyForm(function)))
      return failure();
    createFunction();
    std::vector<LoopNest> nests =
        groupOutputs(function.getBody().front().getTerminator());

    AffineExpr units = builder.getAffineConstantExpr(0);
    double unitCost = 1;
    for (LoopNest &nest : nests) {
      if (llvm::all_of(nest.outputs, isEmpty))
        continue;
      loops = scheduleForCpu(nest, dims, emitter.maxLanes,
                             double(schedule.unitWork));
      EmissionScope root;
      emitter.current = &root;
      allocateBuffers(nest);
      prepareScans();
      emitUnits(nest, units, /*isOnly=*/nests.size() == 1);
      units = units + loops.units;
      unitCost = std::max(unitCost, loops.unitCost);
    }
    if (!emitter.error.empty()) {
      kernel.erase();
      return function.emitOpError("has no loop code: ") << emitter.error;
    }
    func::ReturnOp::create(builder, function.getLoc());
    finish(units, unitCost);
    return kernel;
  }

private:
  void createFunction() {
    builder.setInsertionPoint(function);
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Type i64 = builder.getI64Type();
    FunctionType type =
        builder.getFunctionType({pointer, pointer, i64, i64}, {});
    kernel = func::FuncOp::create(builder, function.getLoc(),
                                  function.getName(), type);
    Block *entry = kernel.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    // Pointers and symbols are read once, before all else.
    unsigned number = 0;
    for (BlockArgument argument : function.getArguments())
      emitter.pointers[argument] = loadPointer(number++);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      outputPointers.push_back(loadPointer(number++));
    if (mlir::ait::getKernelChecks(function))
      emitter.checks = loadPointer(number);
    function.walk([&](mlir::ait::SymbolOp op) { loadSymbol(op.getIndex()); });
    auto loadOf = [&](RankedTensorType type) {
      for (AffineExpr size : mlir::ait::getSymbolicSizes(type))
        size.walk([&](AffineExpr part) {
          if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
            loadSymbol(symbol.getPosition());
        });
    };
    for (Type type : function.getArgumentTypes())
      loadOf(cast<RankedTensorType>(type));
    for (Type type : function.getResultTypes())
      loadOf(cast<RankedTensorType>(type));
    emitter.symbolValue = [this](unsigned symbol) {
      return loadSymbol(symbol);
    };
  }

  Value loadPointer(unsigned number) {
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Value at = LLVM::GEPOp::create(
        builder, function.getLoc(), pointer, pointer, kernel.getArgument(0),
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(number))});
    return LLVM::LoadOp::create(builder, function.getLoc(), pointer, at);
  }

  Value loadSymbol(unsigned symbol) {
    Value &value = symbols[symbol];
    if (value)
      return value;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Value at = LLVM::GEPOp::create(
        builder, function.getLoc(), pointer, builder.getI64Type(),
        kernel.getArgument(1),
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(symbol))});
    value = LLVM::LoadOp::create(builder, function.getLoc(),
                                 builder.getI64Type(), at);
    return value;
  }

  void allocateBuffers(LoopNest &nest) {
    emitter.rowBuffers.clear();
    buffers = planRowBuffers(
        nest, loops, emitter.maxLanes,
        mlir::ait::getModuleSymbols(function->getParentOfType<ModuleOp>()));
    for (const RowBufferPlan &plan : buffers) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&kernel.getBody().front());
      Location location = function.getLoc();
      Value bytes =
          arith::ConstantIntOp::create(builder, location, plan.bytes, 64);
      Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
      Value memory =
          LLVM::AllocaOp::create(builder, location, pointer,
                                 builder.getI8Type(), bytes, /*alignment=*/64);
      RowBuffer buffer;
      buffer.pointer = memory;
      buffer.elementType = getElementTypeOrSelf(plan.tensor);
      buffer.strides = plan.strides;
      buffer.isColumn = loops.isColumn;
      emitter.rowBuffers[plan.tensor] = buffer;
    }
  }

  void prepareScans() {
    emitter.scans.clear();
    emitter.scanDim = loops.scanDim;
    if (!loops.scanDim)
      return;
    function.walk([&](linalg::GenericOp generic) {
      if (!isScan(generic))
        return;
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&kernel.getBody().front());
      Location location = function.getLoc();
      constexpr int64_t kWidestVector = 64 * 8; // 64 lanes of 8 bytes
      Value bytes =
          arith::ConstantIntOp::create(builder, location, kWidestVector, 64);
      emitter.scans[generic].pointer = LLVM::AllocaOp::create(
          builder, location, LLVM::LLVMPointerType::get(builder.getContext()),
          builder.getI8Type(), bytes, /*alignment=*/64);
    });
  }

  void emitUnits(LoopNest &nest, AffineExpr firstUnit, bool isOnly) {
    Location location = function.getLoc();
    Value begin = kernel.getArgument(2), end = kernel.getArgument(3), first;
    if (!isOnly) {
      // The units of the nests stand one after the other.
      first = emitter.materializeUniform(firstUnit);
      Value last = emitter.materializeUniform(firstUnit + loops.units);
      begin = arith::MaxSIOp::create(builder, location, begin, first);
      end = arith::MinSIOp::create(builder, location, end, last);
    }
    SmallVector<Value> streamed;
    for (unsigned number :
         findStreamedOutputs(nest, loops, schedule.streamedBytes))
      streamed.push_back(outputPointers[number]);
    emitter.streamed.insert(streamed.begin(), streamed.end());
    emitter.loop(
        begin, end, 1, {}, [&](Value unit, ValueRange) -> SmallVector<Value> {
          if (first)
            unit = arith::SubIOp::create(builder, location, unit, first);
          bindUnit(unit);
          emitRow(nest);
          return {};
        });
    if (!streamed.empty())
      guardStreamedStores(
          builder, cast<scf::ForOp>(*std::prev(builder.getInsertionPoint())),
          streamed);
    emitter.streamed.clear();
  }

  void bindUnit(Value unit) {
    Location location = function.getLoc();
    for (size_t i = loops.unitLoops.size(); i-- > 0;) {
      const UnitLoop &group = loops.unitLoops[i];
      AffineExpr count =
          group.block ? group.size.ceilDiv(*group.block) : group.size;
      Value index = unit;
      if (i > 0) {
        Value size = emitter.materializeUniform(count);
        index = arith::RemUIOp::create(builder, location, unit, size);
        unit = arith::DivUIOp::create(builder, location, unit, size);
      }
      if (group.block)
        blockIndices[group.dims.back()] = index;
      else
        emitter.bind(group, index);
    }
  }

  /// Row statistics and outputs without inner axes; then the inner loops.
  void emitRow(LoopNest &nest) {
    if (loops.isColumn) {
      emitInner(nest, 0);
      return;
    }
    emitRowValues(nest);
    if (llvm::any_of(nest.outputs, [&](const KernelOutput &output) {
          return nest.isFull(output);
        }))
      emitInner(nest, 0);
  }

  void emitRowValues(LoopNest &nest) {
    for (auto &[tensor, buffer] : emitter.rowBuffers)
      buffer.isFilled = false;
    for (auto [stage, rowValue] : llvm::enumerate(loops.rowValues)) {
      emitter.pull(rowValue.first, rowValue.second);
      for (const RowBufferPlan &plan : buffers)
        if (plan.filledBy == stage)
          emitter.rowBuffers[plan.tensor].isFilled = true;
    }
    for (const KernelOutput &output : nest.outputs)
      if (!nest.isFull(output))
        emitOutput(nest, output);
  }

  void emitOutput(LoopNest &nest, const KernelOutput &output) {
    SmallVector<AffineExpr> exprs = nest.indexOf(output);
    Value value = emitter.pull(output.value, exprs);
    emitter.store(value, outputPointers[output.number],
                  cast<RankedTensorType>(output.value.getType()), exprs);
  }

  void emitElements(LoopNest &nest) {
    for (const KernelOutput &output : nest.outputs)
      if (nest.isFull(output))
        emitOutput(nest, output);
  }

  void emitInner(LoopNest &nest, unsigned depth) {
    if (depth == loops.unitInner.size()) {
      emitElements(nest);
      return;
    }
    const UnitLoop &group = loops.unitInner[depth];
    Value lower = emitter.i64(0),
          upper = emitter.materializeUniform(group.size);
    Location location = function.getLoc();
    if (group.block) {
      lower = arith::MulIOp::create(builder, location,
                                    blockIndices.lookup(group.dims.back()),
                                    emitter.i64(*group.block));
      Value last = arith::AddIOp::create(builder, location, lower,
                                         emitter.i64(*group.block));
      upper = arith::MinSIOp::create(builder, location, last, upper);
    }
    bool hasLanes = loops.laneDim && group.dims.back() == *loops.laneDim;
    auto inside = [&] {
      if (loops.isColumn && depth == 0)
        emitColumn(nest);
      else
        emitInner(nest, depth + 1);
    };
    if (loops.scanDim && group.dims.back() == *loops.scanDim)
      emitter.resetScans();
    if (!hasLanes) {
      if (loops.tileDim && group.dims.back() == *loops.tileDim)
        lower = emitTiles(nest, group, lower, upper);
      emitter.loop(lower, upper, 1, {},
                   [&](Value iv, ValueRange) -> SmallVector<Value> {
                     emitter.bind(group, iv);
                     inside();
                     return {};
                   });
      return;
    }
    if (loops.splits.empty())
      return emitLanes(group, lower, upper, std::nullopt, inside);
    emitParts(group, lower, upper, inside);
  }

  /// Emits the loop over lanes as one loop for each part between two splits. No
  /// part begins before the one before it ends or ends behind the loop, so that
  /// all of them are the loop whatever the sizes are.
  void emitParts(const UnitLoop &group, Value lower, Value upper,
                 llvm::function_ref<void()> inside) {
    Location location = function.getLoc();
    AffineExpr from = builder.getAffineConstantExpr(0);
    for (AffineExpr to : loops.splits) {
      Value end = builder.createOrFold<arith::MaxSIOp>(
          location, emitter.materializeUniform(to), lower);
      end = builder.createOrFold<arith::MinSIOp>(location, end, upper);
      emitLanes(group, lower, end, DimRange{from, to}, inside);
      lower = end;
      from = to;
    }
    emitLanes(group, lower, upper, DimRange{from, group.size}, inside);
  }

  /// Emits the steps of the innermost loop that compute as many values as there
  /// are lanes; returns where the others start.
  Value emitTiles(LoopNest &nest, const UnitLoop &group, Value lower,
                  Value upper) {
    const EmissionScope *scope = emitter.laneScope();
    const int64_t lanes = scope ? scope->lanes : 1;
    if (lanes < 2)
      return lower;
    Location location = function.getLoc();
    Value span = arith::SubIOp::create(builder, location, upper, lower);
    Value rest =
        arith::RemUIOp::create(builder, location, span, emitter.i64(lanes));
    Value end = arith::SubIOp::create(builder, location, upper, rest);
    emitter.loop(
        lower, end, lanes, {}, [&](Value iv, ValueRange) -> SmallVector<Value> {
          emitter.current->tileDim = *loops.tileDim;
          emitter.bind(group, iv);
          for (int64_t step = 0; step < lanes; ++step)
            emitter.inScope(
                [&](EmissionScope &scope) { scope.tileStep = step; },
                [&] {
                  emitter.bind(group,
                               arith::AddIOp::create(builder, location, iv,
                                                     emitter.i64(step)));
                  emitElements(nest);
                });
          return {};
        });
    return end;
  }

  /// Emits a column nest, in which a vector of columns takes the place of a
  /// row.
  void emitColumn(LoopNest &nest) {
    emitRowValues(nest);
    if (llvm::any_of(nest.outputs, [&](const KernelOutput &output) {
          return nest.isFull(output);
        }))
      emitInner(nest, 1);
  }

  void emitLanes(const UnitLoop &group, Value lower, Value upper,
                 std::optional<DimRange> range,
                 llvm::function_ref<void()> inside) {
    Location location = function.getLoc();
    auto chunk = [&](Value iv, Value mask) {
      emitter.inScope(
          [&](EmissionScope &scope) {
            scope.laneDim = *loops.laneDim;
            scope.lanes = loops.lanes;
            scope.mask = mask;
            if (range)
              scope.ranges[*loops.laneDim] = *range;
          },
          [&] {
            emitter.bind(group, iv);
            inside();
          });
    };
    IntegerAttr first, last;
    bool isConstant = matchPattern(lower, m_Constant(&first)) &&
                      matchPattern(upper, m_Constant(&last));
    // A part with fewer elements than there are lanes has no whole vector.
    const bool isShort =
        range && getBounds(range->upper - range->lower, [](unsigned) {
                   return std::optional<DimRange>();
                 }).upper.value_or(loops.lanes) < loops.lanes;
    Value end;
    if (isShort) {
      end = lower;
    } else if (isConstant) {
      int64_t span = last.getInt() - first.getInt();
      end = emitter.i64(first.getInt() + span / loops.lanes * loops.lanes);
    } else {
      Value span = arith::SubIOp::create(builder, location, upper, lower);
      Value rest = arith::RemUIOp::create(builder, location, span,
                                          emitter.i64(loops.lanes));
      end = arith::SubIOp::create(builder, location, upper, rest);
    }
    if (!isShort)
      emitter.loop(lower, end, loops.lanes, {},
                   [&](Value iv, ValueRange) -> SmallVector<Value> {
                     chunk(iv, nullptr);
                     return {};
                   });
    auto isMultiple = [&](AffineExpr at) {
      return getConstant(at).value_or(1) % loops.lanes == 0;
    };
    if (isConstant ? (last.getInt() - first.getInt()) % loops.lanes == 0
                   : group.block && isMultiple(group.size) &&
                         (!range || (isMultiple(range->lower) &&
                                     isMultiple(range->upper))))
      return;
    emitter.loop(end, upper, loops.lanes, {},
                 [&](Value iv, ValueRange) -> SmallVector<Value> {
                   Value rest =
                       arith::SubIOp::create(builder, location, upper, iv);
                   chunk(iv, emitter.maskBelow(rest, loops.lanes));
                   return {};
                 });
  }

  void finish(AffineExpr units, double unitCost) {
    for (NamedAttribute attribute : function->getDiscardableAttrs())
      kernel->setAttr(attribute.getName(), attribute.getValue());
    int64_t grain =
        schedule.grain > 0
            ? schedule.grain
            : std::max<int64_t>(1, std::llround(kThreadWork / unitCost));
    // MLIR's own simplifyAffineExpr makes 0 of s0 * ((s1 - s1 mod 2) floordiv
    // 2) (version 22).
    mlir::ait::setLaunchShape(kernel,
                              {mlir::ait::canonicalizeSize(units), grain});
    function.erase();
  }

  func::FuncOp function, kernel;
  const LoopKernelSchedule schedule;
  OpBuilder builder;
  DimTable dims;
  PointEmitter emitter;
  CpuSchedule loops; ///< the schedule of the nest at hand
  SmallVector<Value> outputPointers;
  llvm::DenseMap<unsigned, Value> symbols;
  /// The index of each blocked loop, by its dim.
  llvm::DenseMap<unsigned, Value> blockIndices;
  SmallVector<RowBufferPlan, 2> buffers;
};

} // namespace

FailureOr<func::FuncOp> lowerLoopKernel(func::FuncOp function,
                                        const Target &target) {
  LoopKernelSchedule schedule = readLoopSchedule(function, target);
  if (std::string reason = rejectLoopSchedule(schedule, function, target);
      !reason.empty())
    return function.emitError() << reason;
  return LoopKernelWriter(function, schedule).run();
}

} // namespace aitune
