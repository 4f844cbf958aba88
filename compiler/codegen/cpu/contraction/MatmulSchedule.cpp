#include "compiler/codegen/cpu/contraction/MatmulSchedule.h"
#include "compiler/codegen/cpu/target/ScheduleConfig.h"

#include <algorithm>
#include <cmath>

#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Sizes assumed where they are only known at run time.
constexpr int64_t kTypicalRows = 128, kTypicalSteps = 256;
/// Units that a few threads can share.
constexpr int64_t kUsefulUnits = 16;
constexpr int64_t kMaximalRows = 16;
/// Multiply-adds below which one thread may be as fast as several.
constexpr int64_t kSmallWork = 4 << 20;
/// Bytes of the stack a kernel may take for copies of its operands.
constexpr int64_t kCopyBytes = 256 * 1024;

int64_t getLanes(const MatmulShape &shape, const Target &target) {
  return target.vectorBits / (8 * shape.format.sumBytes());
}

/// Estimated cycles of one step of a tile, in units of one vector multiply-add.
double getTileCycles(int64_t rows, int64_t vectors, const MatmulShape &shape) {
  // A multiply-add every cycle, a load every cycle; sums of one accumulator
  // are four cycles apart.
  double cycles =
      std::max<double>({double(rows * vectors), double(rows + vectors), 4.0});
  if (shape.widensInTile())
    cycles += 2 * vectors;
  // Many rows at one power-of-two distance fight for the same cache sets.
  if (rows > 8)
    cycles *= 1.0 + 0.02 * (rows - 8);
  return cycles;
}

/// Estimated cycles for one block of all rows against all panels.
double getCycles(int64_t mr, int64_t vectors, const MatmulShape &shape,
                 int64_t lanes) {
  int64_t m = shape.m < 0 ? kTypicalRows : shape.m;
  double steps = shape.k < 0 ? kTypicalSteps : shape.k;
  auto tile = [&](int64_t rows) {
    // The sums are cleared, stored and read again by the epilogue.
    return steps * getTileCycles(rows, vectors, shape) + 3.0 * rows * vectors +
           20;
  };
  double cycles = double(m / mr) * tile(mr);
  if (int64_t rest = m % mr)
    cycles += tile(rest);
  double columns = double(vectors * lanes);
  return cycles * (shape.n < 0
                       ? 1.0 / columns
                       : double(llvm::divideCeil(shape.n, vectors * lanes)));
}

void chooseTile(const MatmulShape &shape, const Target &target,
                MatmulSchedule &schedule) {
  if (shape.kind == MicrokernelKind::AmxTiles) {
    schedule.mr = shape.m >= 0 && shape.m <= 16 ? 16 : 32;
    schedule.nr = shape.n >= 0 && shape.n <= 16 ? 16 : 32;
    return;
  }
  int64_t lanes = getLanes(shape, target);
  double best = INFINITY;
  // Wide tiles first: of equals they read the left side least often. One row's
  // codes are widened by operations that wait for none of the sums.
  const bool isVector = shape.m == 1 && shape.widensInTile();
  for (int64_t vectors = isVector ? 8 : 4; vectors >= 1; --vectors)
    for (int64_t mr = kMaximalRows; mr >= 1; --mr) {
      if (mr * vectors + vectors + 1 > target.vectorRegisters ||
          (shape.m > 0 && mr > shape.m && mr > 1))
        continue;
      double cycles = getCycles(mr, vectors, shape, lanes);
      if (cycles < best) {
        best = cycles;
        schedule.mr = mr;
        schedule.nr = vectors * lanes;
      }
    }
}

void chooseBlocks(const MatmulShape &shape, const Target &target,
                  MatmulSchedule &schedule) {
  int64_t panelStepBytes =
      schedule.nr *
      (shape.copiesRhs ? shape.getRhsCopyBytes() : shape.format.rhsBytes());
  int64_t limit = shape.copiesRhs ? kCopyBytes / 2 : target.l2Bytes * 5 / 8;
  bool copies = shape.copiesLhs || shape.copiesRhs;
  schedule.kc = 0;
  if (shape.k < 0 ? copies
                  : shape.k * panelStepBytes > limit ||
                        (shape.copiesLhs && shape.k > 4096)) {
    int64_t most =
        copies ? limit / panelStepBytes : limit * 2 / 3 / panelStepBytes;
    if (shape.copiesLhs)
      most = std::min<int64_t>(most, 1024);
    int64_t blocks = shape.k < 0 ? 1 : llvm::divideCeil(shape.k, most);
    schedule.kc = llvm::alignTo(
        shape.k < 0 ? most : llvm::divideCeil(shape.k, blocks),
        std::max<int64_t>(32, getAmxSteps(shape.format.rhsFactor)));
  }

  int64_t m = shape.m < 0 ? kTypicalRows : std::max<int64_t>(shape.m, 1);
  int64_t panels = shape.n < 0 ? 1
                               : llvm::divideCeil(std::max<int64_t>(shape.n, 1),
                                                  schedule.nr);
  int64_t most = 256;
  if (shape.copiesLhs)
    most = std::max<int64_t>(
        schedule.mr,
        kCopyBytes /
            (shape.format.sumBytes() *
             std::max<int64_t>(schedule.kc ? schedule.kc : shape.k, 1)));
  most = std::max(schedule.mr, most / schedule.mr * schedule.mr);
  // Blocks as large as leave units enough, and evenly many for a few threads.
  int64_t others = panels * std::max<int64_t>(shape.batch, 1);
  for (int64_t blocks = llvm::divideCeil(m, most);; ++blocks) {
    schedule.mc = llvm::alignTo(llvm::divideCeil(m, blocks), schedule.mr);
    int64_t units = llvm::divideCeil(m, schedule.mc) * others;
    int64_t idle = llvm::alignTo(units, 4) - units;
    bool even = idle * 25 <= units;
    if ((units >= kUsefulUnits && even) || schedule.mc <= 4 * schedule.mr)
      break;
  }

  schedule.panels = 1;
  if (shape.copiesLhs && shape.n > 0) {
    // The fewest copies of the left side that leave enough units for all
    // threads.
    int64_t units =
        llvm::divideCeil(m, schedule.mc) * std::max<int64_t>(shape.batch, 1);
    int64_t groups = std::clamp<int64_t>(
        llvm::divideCeil(kUsefulUnits / 2, units), 1, panels);
    schedule.panels = llvm::divideCeil(panels, groups);
    // Sums of every panel rest in memory when the contracted axis is cut.
    if (schedule.kc)
      schedule.panels = std::clamp<int64_t>(
          kCopyBytes / (schedule.mc * schedule.nr * shape.format.sumBytes()), 1,
          schedule.panels);
  }
  int64_t rhsBytes = shape.n < 0 || shape.k < 0
                         ? INT64_MAX
                         : shape.n * shape.k * shape.format.rhsBytes();
  schedule.panelsOuter = rhsBytes > target.l2Bytes / 2;
}

/// Why the register tile is not legal; empty if it is.
std::string rejectTile(const MatmulSchedule &schedule, const MatmulShape &shape,
                       const Target &target) {
  int64_t lanes = getLanes(shape, target);
  if (schedule.mr < 1 || schedule.mr > kMaximalRows)
    return llvm::formatv("mr must be in [1, {0}], not {1}", kMaximalRows,
                         schedule.mr);
  if (schedule.nr < lanes || schedule.nr % lanes != 0)
    return llvm::formatv(
        "nr must be a multiple of the {0} lanes of a vector, not {1}", lanes,
        schedule.nr);
  int64_t vectors = schedule.nr / lanes;
  if (schedule.mr * vectors + vectors + 1 > target.vectorRegisters)
    return llvm::formatv(
        "a tile of {0} x {1} needs more than {2} vector registers", schedule.mr,
        schedule.nr, target.vectorRegisters);
  return "";
}

} // namespace

bool leavesCache(const Target &target, int64_t elements, Type type) {
  return elements * (type.getIntOrFloatBitWidth() / 8) > target.l2Bytes / 2;
}

bool wantsPanelsAhead(const MatmulSchedule &schedule, const MatmulShape &shape,
                      const Target &target) {
  constexpr int64_t kManyTiles = 64;
  const int64_t rows =
      shape.m < 0 || !schedule.panelsOuter ? schedule.mc : shape.m;
  const int64_t panelBytes = shape.k * schedule.nr * shape.format.rhsBytes();
  return shape.n > schedule.nr && rows <= kManyTiles * schedule.mr &&
         leavesCache(target, shape.n * shape.k, shape.format.rhs) &&
         2 * panelBytes <= target.l2Bytes * 3 / 4;
}

int64_t getMostRows(int64_t vectors, const Target &target) {
  return std::min(kMaximalRows,
                  (target.vectorRegisters - vectors - 1) / vectors);
}

std::string rejectMatmulSchedule(const MatmulSchedule &schedule,
                                 const MatmulShape &shape,
                                 const Target &target) {
  if (shape.kind == MicrokernelKind::AmxTiles) {
    if ((schedule.mr != 16 && schedule.mr != 32) ||
        (schedule.nr != 16 && schedule.nr != 32))
      return llvm::formatv(
          "tiles of AMX are of 16 or 32 rows and columns, not {0} x {1}",
          schedule.mr, schedule.nr);
    const int64_t tileSteps = getAmxSteps(shape.format.rhsFactor);
    if (schedule.kc % tileSteps != 0)
      return llvm::formatv(
          "kc must be a multiple of the {0} steps of an AMX tile, not {1}",
          tileSteps, schedule.kc);
  } else if (std::string reason = rejectTile(schedule, shape, target);
             !reason.empty()) {
    return reason;
  }
  int64_t lanes = getLanes(shape, target);
  if (schedule.mc < schedule.mr || schedule.mc % schedule.mr != 0)
    return llvm::formatv("mc must be a multiple of mr = {0}, not {1}",
                         schedule.mr, schedule.mc);
  if (schedule.kc < 0 || schedule.kc % 2 != 0)
    return llvm::formatv("kc must be even and not negative, not {0}",
                         schedule.kc);
  if (schedule.kc % shape.format.stepsTogether != 0)
    return llvm::formatv(
        "kc must be a multiple of the {0} steps that are multiplied at once, "
        "not {1}",
        shape.format.stepsTogether, schedule.kc);
  if (schedule.grain < 0)
    return llvm::formatv("grain must not be negative, but is {0}",
                         schedule.grain);
  if (schedule.panels < 1)
    return llvm::formatv("panels must be positive, not {0}", schedule.panels);
  int64_t steps = schedule.kc ? schedule.kc : shape.k;
  if ((shape.copiesLhs || shape.copiesRhs) && steps < 0)
    return "kc must be set: an operand of unknown length is copied";
  int64_t stackBytes = schedule.mc * schedule.nr * shape.format.sumBytes() *
                       (schedule.kc ? schedule.panels : 1);
  if (shape.copiesLhs)
    stackBytes += schedule.mc * (steps + lanes) * shape.format.sumBytes();
  if (shape.copiesRhs)
    stackBytes += schedule.nr * steps * shape.getRhsCopyBytes();
  if (stackBytes > 4 * kCopyBytes)
    return llvm::formatv("its blocks take {0} bytes of stack, more than {1}",
                         stackBytes, 4 * kCopyBytes);
  return "";
}

MatmulSchedule chooseMatmulSchedule(const MatmulShape &shape,
                                    const Target &target) {
  MatmulSchedule schedule;
  chooseTile(shape, target, schedule);
  chooseBlocks(shape, target, schedule);
  return schedule;
}

std::vector<MatmulSchedule> listMatmulSchedules(const MatmulShape &shape,
                                                const Target &target) {
  std::vector<MatmulSchedule> schedules{chooseMatmulSchedule(shape, target)};
  int64_t lanes = getLanes(shape, target);
  auto add = [&](const MatmulSchedule &schedule) {
    addIfNew<MatmulSchedule>(
        schedules, schedule, [&](const MatmulSchedule &schedule) {
          return rejectMatmulSchedule(schedule, shape, target);
        });
  };
  if (shape.kind == MicrokernelKind::AmxTiles) {
    for (int64_t mr : {16, 32})
      for (int64_t nr : {16, 32}) {
        MatmulSchedule schedule;
        schedule.mr = mr;
        schedule.nr = nr;
        chooseBlocks(shape, target, schedule);
        add(schedule);
      }
    return schedules;
  }
  const bool isSmall = shape.m >= 0 && shape.n >= 0 && shape.k >= 0 &&
                       shape.batch * shape.m * shape.n * shape.k < kSmallWork;
  auto addSerial = [&](MatmulSchedule schedule) {
    schedule.grain = kSerialGrain;
    if (isSmall)
      add(schedule);
  };
  addSerial(schedules.front());
  for (int64_t vectors = 1; vectors <= 4; ++vectors) {
    const int64_t most = getMostRows(vectors, target);
    for (int64_t mr : {most, most - 1, most - 2}) {
      if (mr < 1 || (shape.m > 0 && mr > shape.m && mr > 1))
        continue;
      MatmulSchedule schedule;
      schedule.mr = mr;
      schedule.nr = vectors * lanes;
      chooseBlocks(shape, target, schedule);
      add(schedule);
      addSerial(schedule);
      for (int64_t factor : {2, 4}) {
        MatmulSchedule smaller = schedule;
        smaller.mc = std::max(mr, schedule.mc / factor / mr * mr);
        add(smaller);
      }
      MatmulSchedule other = schedule;
      other.panelsOuter = !schedule.panelsOuter;
      add(other);
      if (shape.k > 512) {
        MatmulSchedule split = schedule;
        split.kc =
            llvm::alignTo(llvm::divideCeil(shape.k, schedule.kc ? 4 : 2), 32);
        add(split);
      }
    }
  }
  return schedules;
}

DictionaryAttr MatmulSchedule::toConfig(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList config;
  writeNumbers(builder,
               {{"grain", grain},
                {"kc", kc},
                {"mc", mc},
                {"mr", mr},
                {"nr", nr},
                {"panels", panels}},
               config);
  config.set("panels_outer", builder.getBoolAttr(panelsOuter));
  return config.getDictionary(context);
}

std::string MatmulSchedule::toString() const {
  return llvm::formatv("{0}x{1} kc{2} mc{3} panels{4} {5}{6}", mr, nr, kc, mc,
                       panels, panelsOuter ? "panels-outer" : "rows-outer",
                       describeGrain(grain));
}

MatmulSchedule readMatmulSchedule(DictionaryAttr config,
                                  const MatmulSchedule &fallback) {
  MatmulSchedule schedule = fallback;
  if (!config)
    return schedule;
  readNumbers(config, {{"grain", &schedule.grain},
                       {"kc", &schedule.kc},
                       {"mc", &schedule.mc},
                       {"mr", &schedule.mr},
                       {"nr", &schedule.nr},
                       {"panels", &schedule.panels}});
  if (auto outer = config.getAs<BoolAttr>("panels_outer"))
    schedule.panelsOuter = outer.getValue();
  return schedule;
}

std::vector<double> getFeatures(const MatmulSchedule &schedule,
                                const MatmulShape &shape) {
  const int64_t m = knownSize(shape.m), n = knownSize(shape.n),
                k = knownSize(shape.k);
  const int64_t steps = schedule.kc ? std::min(schedule.kc, k) : k;
  const double units = double(llvm::divideCeil(m, schedule.mc)) *
                       double(llvm::divideCeil(n, schedule.nr)) *
                       double(knownSize(shape.batch)) / double(schedule.panels);
  return {log2Of(m),
          log2Of(n),
          log2Of(k),
          double(schedule.mr),
          double(schedule.nr) / 16,
          paddingOf(m, schedule.mr),
          paddingOf(n, schedule.nr),
          log2Of(schedule.mc),
          log2Of(steps * schedule.nr * shape.format.rhsBytes()),
          log2Of(schedule.mc * steps * 4),
          std::log2(std::max(units, 1.0)),
          schedule.panelsOuter ? 1.0 : 0.0,
          double(schedule.mr * schedule.nr) / 16,
          schedule.grain == kSerialGrain ? 1.0 : 0.0};
}

} // namespace aitune
