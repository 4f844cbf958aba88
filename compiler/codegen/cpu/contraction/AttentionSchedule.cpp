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
/// Keys of a block of AMX tiles: the scores and weights of 32 queries, and the
/// keys and values of a depth of 64, are about 128 KiB.
constexpr int64_t kAmxKeys = 256;

int64_t getLanes(const Target &target) { return target.vectorBits / 32; }

int64_t getConstantOr(AffineExpr expr, int64_t otherwise) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return constant ? constant.getValue() : otherwise;
}

int64_t getStackBytes(const AttentionSchedule &schedule,
                      const AttentionProblem &problem, int64_t lanes) {
  int64_t valueDepth = llvm::alignTo(problem.valueDepth, lanes);
  int64_t keys = llvm::alignTo(schedule.keyBlock, schedule.nr);
  // Scores, results, the largest score of each row and the weights' sum.
  int64_t floats =
      schedule.mr * (keys + lanes) + schedule.queryBlock * (valueDepth + 2);
  if (problem.kind == MicrokernelKind::FusedMultiplyAdd) {
    floats += (keys + schedule.mr) * llvm::alignTo(problem.depth, lanes);
    if (!isContiguous(problem.value.columnAxis))
      floats += schedule.keyBlock * valueDepth;
    return floats * 4;
  }
  int64_t halves = (keys + schedule.mr) * llvm::alignTo(problem.depth, 32) +
                   llvm::alignTo(keys, 32) * valueDepth +
                   schedule.mr * (llvm::alignTo(keys, 32) + 32);
  return floats * 4 + halves * 2;
}

/// The blocks' queries: blocks of one size, few per head.
void chooseQueryBlock(const AttentionProblem &problem, int64_t queries,
                      AttentionSchedule &schedule) {
  int64_t heads = getConstantOr(problem.batch, 12);
  int64_t blocks = llvm::divideCeil(queries, 256);
  while (blocks * heads < 8 && queries > 4 * schedule.mr * blocks)
    ++blocks;
  schedule.queryBlock =
      llvm::alignTo(llvm::divideCeil(queries, blocks), schedule.mr);
}

/// No more keys than there are.
void fitKeys(const AttentionProblem &problem, AttentionSchedule &schedule) {
  if (int64_t all = getConstantOr(problem.keys, -1); all >= 0)
    schedule.keyBlock = std::min<int64_t>(
        schedule.keyBlock,
        llvm::alignTo(std::max<int64_t>(all, 1), schedule.nr));
}

AttentionSchedule chooseAmxSchedule(const AttentionProblem &problem,
                                    int64_t queries) {
  AttentionSchedule schedule;
  schedule.mr = queries <= 16 ? 16 : 32;
  schedule.nr = 32;
  schedule.keyBlock = kAmxKeys;
  fitKeys(problem, schedule);
  chooseQueryBlock(problem, queries, schedule);
  return schedule;
}

} // namespace

AttentionSchedule chooseAttentionSchedule(const AttentionProblem &problem,
                                          const Target &target) {
  int64_t queries =
      std::max<int64_t>(getConstantOr(problem.queries, kTypicalQueries), 1);
  if (problem.kind == MicrokernelKind::AmxTiles)
    return chooseAmxSchedule(problem, queries);
  int64_t lanes = getLanes(target);
  AttentionSchedule schedule;
  int64_t vectors = target.vectorRegisters == 32 ? 3 : 2;
  schedule.nr = vectors * lanes;
  int64_t most = (target.vectorRegisters - vectors - 1) / vectors;
  schedule.mr = std::clamp<int64_t>(queries, 1, std::min<int64_t>(most, 8));
  // A block of keys, and of values, in half of the L2 cache each at most.
  int64_t deepest = std::max(problem.depth, problem.valueDepth);
  int64_t keys = std::max<int64_t>(
      target.l2Bytes / 4 / (4 * std::max<int64_t>(deepest, 1)), schedule.nr);
  keys = std::min<int64_t>(keys, 1024);
  schedule.keyBlock = keys / schedule.nr * schedule.nr;
  fitKeys(problem, schedule);
  chooseQueryBlock(problem, queries, schedule);
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
  if (problem.kind == MicrokernelKind::AmxTiles) {
    const auto isTile = [](int64_t size) { return size == 16 || size == 32; };
    if (!isTile(schedule.mr) || !isTile(schedule.nr))
      return llvm::formatv("mr and nr must be 16 or 32 in AMX tiles, not {0} "
                           "and {1}",
                           schedule.mr, schedule.nr);
  } else if (schedule.mr < 1 ||
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
  auto add = [&](AttentionSchedule schedule, int64_t keys, int64_t blocks) {
    schedule.keyBlock = std::max<int64_t>(keys / schedule.nr, 1) * schedule.nr;
    schedule.queryBlock =
        llvm::alignTo(llvm::divideCeil(queries, blocks), schedule.mr);
    addIfNew<AttentionSchedule>(
        schedules, schedule, [&](const AttentionSchedule &schedule) {
          return rejectAttentionSchedule(schedule, problem, target);
        });
  };
  if (problem.kind == MicrokernelKind::AmxTiles) {
    for (int64_t rows : {16, 32})
      for (int64_t keys : {64, 128, 256, 512})
        for (int64_t blocks : {1, 2, 4}) {
          AttentionSchedule schedule = chosen;
          schedule.mr = rows;
          add(schedule, keys, blocks);
        }
    return schedules;
  }
  for (int64_t vectors = 1; vectors <= 4; ++vectors)
    for (int64_t blocks : {1, 2, 4}) {
      AttentionSchedule schedule = chosen;
      schedule.nr = vectors * lanes;
      int64_t most = (target.vectorRegisters - vectors - 1) / vectors;
      schedule.mr =
          std::clamp<int64_t>(queries, 1, std::min<int64_t>(most, 12));
      add(schedule, chosen.keyBlock, blocks);
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

std::vector<double> getFeatures(const AttentionSchedule &schedule,
                                const AttentionProblem &problem) {
  return {log2Of(problem.depth), double(schedule.mr), double(schedule.nr) / 16,
          log2Of(schedule.queryBlock), log2Of(schedule.keyBlock)};
}

} // namespace aitune
