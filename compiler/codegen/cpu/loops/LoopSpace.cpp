#include "compiler/codegen/cpu/loops/LoopSpace.h"

#include <algorithm>
#include <cmath>

#include "compiler/codegen/cpu/target/Grain.h"
#include "compiler/codegen/cpu/target/ScheduleConfig.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Registers that one operation may take.
constexpr int64_t kMostVectors = 4;
/// Bytes below which it is worth asking whether one thread is enough.
constexpr double kSmallBytes = 512 * 1024;
constexpr int64_t kTypicalSize = 64;

/// Lanes of the widest type computed with.
int64_t findLanes(func::FuncOp function, const Target &target) {
  int64_t floatBits = 0, integerBits = 8;
  auto note = [&](Type type) {
    type = getElementTypeOrSelf(type);
    if (isa<FloatType>(type))
      floatBits = std::max<int64_t>(floatBits, type.getIntOrFloatBitWidth());
    else if (type.isInteger())
      integerBits =
          std::max<int64_t>(integerBits, type.getIntOrFloatBitWidth());
  };
  for (Type type : function.getArgumentTypes())
    note(type);
  function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      note(type);
  });
  // Integers beside floats are indices, mostly; wider ones take two registers.
  return target.vectorBits / (floatBits ? floatBits : integerBits);
}

} // namespace

LoopKernelSchedule chooseLoopSchedule(func::FuncOp kernel,
                                      const Target &target) {
  LoopKernelSchedule schedule;
  schedule.lanes = findLanes(kernel, target);
  // Of such results little is left in the cache when they are read. Written
  // through it, each line is read from memory first: 16 MB take 1.66 ms, and
  // 0.74 ms past a cache of 32 MB (an AMD EPYC), where 8 MB are read again
  // later than they gain.
  schedule.streamedBytes = target.lastLevelBytes / 2;
  return schedule;
}

std::string rejectLoopSchedule(const LoopKernelSchedule &schedule,
                               func::FuncOp kernel, const Target &target) {
  const int64_t lanes = findLanes(kernel, target);
  if (schedule.lanes < 1 || !llvm::isPowerOf2_64(schedule.lanes) ||
      schedule.lanes > kMostVectors * lanes)
    return llvm::formatv("lanes must be a power of two in [1, {0}], not {1}",
                         kMostVectors * lanes, schedule.lanes);
  if (schedule.unitWork < 1)
    return llvm::formatv("unit_work must be positive, not {0}",
                         schedule.unitWork);
  if (schedule.grain < 0)
    return llvm::formatv("grain must not be negative, but is {0}",
                         schedule.grain);
  return "";
}

std::vector<LoopKernelSchedule> listLoopSchedules(func::FuncOp kernel,
                                                  const Target &target) {
  const LoopKernelSchedule chosen = chooseLoopSchedule(kernel, target);
  std::vector<LoopKernelSchedule> schedules{chosen};
  auto add = [&](int64_t lanes, int64_t unitWork, int64_t grain) {
    addIfNew<LoopKernelSchedule>(
        schedules, {lanes, unitWork, grain, chosen.streamedBytes},
        [&](const LoopKernelSchedule &schedule) {
          return rejectLoopSchedule(schedule, kernel, target);
        });
  };
  const bool isSmall =
      describeLoopKernel(kernel, kTypicalSize).bytes < kSmallBytes;
  for (int64_t unitWork : {16384, 4096, 65536})
    for (int64_t halves : {2, 4, 1, 8}) {
      add(chosen.lanes * halves / 2, unitWork, 0);
      if (isSmall && unitWork == 16384)
        add(chosen.lanes * halves / 2, unitWork, kSerialGrain);
    }
  return schedules;
}

LoopKernelSchedule readLoopSchedule(func::FuncOp kernel, const Target &target) {
  LoopKernelSchedule schedule = chooseLoopSchedule(kernel, target);
  readNumbers(mlir::ait::getScheduleConfig(kernel),
              {{"lanes", &schedule.lanes},
               {"unit_work", &schedule.unitWork},
               {"grain", &schedule.grain},
               {"streamed_bytes", &schedule.streamedBytes}});
  return schedule;
}

DictionaryAttr LoopKernelSchedule::toConfig(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList config;
  writeNumbers(builder,
               {{"grain", grain}, {"lanes", lanes}, {"unit_work", unitWork}},
               config);
  return config.getDictionary(context);
}

std::string LoopKernelSchedule::toString() const {
  return llvm::formatv("lanes{0} work{1}{2}", lanes, unitWork,
                       describeGrain(grain));
}

LoopKernelShape describeLoopKernel(func::FuncOp kernel, int64_t typicalSize) {
  LoopKernelShape shape;
  auto add = [&](Type type, double &most) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return;
    double elements = 1;
    for (int64_t size : tensor.getShape())
      elements *= double(ShapedType::isDynamic(size) ? typicalSize : size);
    most = std::max(most, elements);
    shape.bytes += elements * std::max(tensor.getElementTypeBitWidth() / 8, 1u);
  };
  for (Type type : kernel.getArgumentTypes())
    add(type, shape.operandElements);
  for (Type type : kernel.getResultTypes())
    add(type, shape.resultElements);
  kernel.walk([&](linalg::GenericOp generic) {
    shape.operations += double(generic.getBody()->getOperations().size());
    shape.hasReductions |= generic.getNumReductionLoops() > 0;
  });
  return shape;
}

std::vector<double> getFeatures(const LoopKernelSchedule &schedule,
                                const LoopKernelShape &shape) {
  return {std::log2(shape.resultElements),
          std::log2(shape.bytes + 1),
          std::log2(shape.operandElements / shape.resultElements),
          std::log2(shape.operations + 1),
          log2Of(schedule.lanes),
          log2Of(schedule.unitWork),
          schedule.grain == kSerialGrain ? 1.0 : 0.0,
          schedule.grain == kSerialGrain ? std::log2(shape.bytes + 1) : 0.0};
}

} // namespace aitune
