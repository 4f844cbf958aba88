#include <algorithm>

#include "compiler/codegen/cpu/contraction/Attention.h"
#include "compiler/codegen/cpu/target/ScheduleConfig.h"
#include "compiler/dialect/Ait.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Bytes of the stack the blocks may take.
constexpr int64_t kStackBytes = 768 * 1024;
constexpr int64_t kTypicalQueries = 128;

int64_t getLanes(const Target &target) { return target.vectorBits / 32; }

int64_t getConstantOr(AffineExpr expr, int64_t otherwise) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return constant ? constant.getValue() : otherwise;
}

int64_t getStackBytes(const AttentionSchedule &schedule,
                      const AttentionProblem &problem, int64_t lanes) {
  int64_t depth = llvm::alignTo(problem.depth, lanes),
          valueDepth = llvm::alignTo(problem.valueDepth, lanes);
  int64_t keys = llvm::alignTo(schedule.keyBlock, schedule.nr);
  int64_t floats = keys * depth + schedule.mr * (keys + lanes + depth) +
                   schedule.queryBlock * (valueDepth + 2);
  if (!isContiguous(problem.value.columnAxis))
    floats += schedule.keyBlock * valueDepth;
  return floats * 4;
}

} // namespace

AttentionSchedule chooseAttentionSchedule(const AttentionProblem &problem,
                                          const Target &target) {
  int64_t lanes = getLanes(target);
  AttentionSchedule schedule;
  int64_t vectors = target.vectorRegisters == 32 ? 3 : 2;
  schedule.nr = vectors * lanes;
  int64_t queries =
      std::max<int64_t>(getConstantOr(problem.queries, kTypicalQueries), 1);
  int64_t most = (target.vectorRegisters - vectors - 1) / vectors;
  schedule.mr = std::clamp<int64_t>(queries, 1, std::min<int64_t>(most, 8));
  // A block of keys, and of values, in half of the L2 cache each at most.
  int64_t deepest = std::max(problem.depth, problem.valueDepth);
  int64_t keys = std::max<int64_t>(
      target.l2Bytes / 4 / (4 * std::max<int64_t>(deepest, 1)), schedule.nr);
  keys = std::min<int64_t>(keys, 1024);
  schedule.keyBlock = keys / schedule.nr * schedule.nr;
  if (int64_t all = getConstantOr(problem.keys, -1); all >= 0)
    schedule.keyBlock = std::min<int64_t>(
        schedule.keyBlock,
        llvm::alignTo(std::max<int64_t>(all, 1), schedule.nr));
  // Blocks of queries of one size, few per head.
  int64_t heads = getConstantOr(problem.batch, 12);
  int64_t blocks = llvm::divideCeil(queries, 256);
  while (blocks * heads < 8 && queries > 4 * schedule.mr * blocks)
    ++blocks;
  schedule.queryBlock =
      llvm::alignTo(llvm::divideCeil(queries, blocks), schedule.mr);
  return schedule;
}

std::string rejectAttentionSchedule(const AttentionSchedule &schedule,
                                    const AttentionProblem &problem,
                                    const Target &target) {
  int64_t lanes = getLanes(target);
  if (schedule.nr < lanes || schedule.nr % lanes != 0)
    return llvm::formatv(
        "nr must be a multiple of the {0} lanes of a vector, not {1}", lanes,
        schedule.nr);
  int64_t vectors = schedule.nr / lanes;
  if (schedule.mr < 1 ||
      schedule.mr * vectors + vectors + 1 > target.vectorRegisters)
    return llvm::formatv(
        "a tile of {0} x {1} does not fit {2} vector registers", schedule.mr,
        schedule.nr, target.vectorRegisters);
  if (schedule.queryBlock < schedule.mr ||
      schedule.queryBlock % schedule.mr != 0)
    return llvm::formatv("query_block must be a multiple of mr = {0}, not {1}",
                         schedule.mr, schedule.queryBlock);
  if (schedule.keyBlock < schedule.nr || schedule.keyBlock % schedule.nr != 0)
    return llvm::formatv("key_block must be a multiple of nr = {0}, not {1}",
                         schedule.nr, schedule.keyBlock);
  if (int64_t bytes = getStackBytes(schedule, problem, lanes);
      bytes > kStackBytes)
    return llvm::formatv("its blocks take {0} bytes of stack, more than {1}",
                         bytes, kStackBytes);
  return "";
}

std::vector<AttentionSchedule>
listAttentionSchedules(const AttentionProblem &problem, const Target &target) {
  AttentionSchedule chosen = chooseAttentionSchedule(problem, target);
  std::vector<AttentionSchedule> schedules{chosen};
  int64_t lanes = getLanes(target);
  int64_t queries =
      std::max<int64_t>(getConstantOr(problem.queries, kTypicalQueries), 1);
  for (int64_t vectors = 1; vectors <= 4; ++vectors)
    for (int64_t blocks : {1, 2, 4}) {
      AttentionSchedule schedule = chosen;
      schedule.nr = vectors * lanes;
      int64_t most = (target.vectorRegisters - vectors - 1) / vectors;
      schedule.mr =
          std::clamp<int64_t>(queries, 1, std::min<int64_t>(most, 12));
      schedule.keyBlock =
          std::max<int64_t>(chosen.keyBlock / schedule.nr, 1) * schedule.nr;
      schedule.queryBlock =
          llvm::alignTo(llvm::divideCeil(queries, blocks), schedule.mr);
      addIfNew<AttentionSchedule>(
          schedules, schedule, [&](const AttentionSchedule &schedule) {
            return rejectAttentionSchedule(schedule, problem, target);
          });
    }
  return schedules;
}

DictionaryAttr AttentionSchedule::toConfig(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList config;
  writeNumbers(builder,
               {{"key_block", keyBlock},
                {"mr", mr},
                {"nr", nr},
                {"query_block", queryBlock}},
               config);
  return config.getDictionary(context);
}

std::string AttentionSchedule::toString() const {
  return llvm::formatv("{0}x{1} queries{2} keys{3}", mr, nr, queryBlock,
                       keyBlock);
}

} // namespace aitune
