// The schedule of a generated matmul: its parameters, which values are legal,
// and the schedule that is used without measuring.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MATMULSCHEDULE_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MATMULSCHEDULE_H

#include <string>
#include <vector>

#include "compiler/codegen/cpu/contraction/Microkernel.h"
#include "compiler/codegen/cpu/target/Grain.h"
#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace aitune {

/// The properties of result[m, n] = sum over k of lhs[m, k] * rhs[k, n] on
/// which a schedule depends. Sizes that depend on symbols are -1.
struct MatmulShape {
  int64_t batch = 1, m = -1, n = -1, k = -1;
  OperandFormat format;
  MicrokernelKind kind = MicrokernelKind::FusedMultiplyAdd;
  /// The left side is copied into contiguous rows (its dtype or strides do not
  /// suit the microkernel); the right side is copied into panels at run time,
  /// from where it lies or, with 8-bit codes, from packed panels.
  bool copiesLhs = false, copiesRhs = false;
  /// Whether the microkernel widens 8-bit codes as it loads them.
  bool widensInTile() const { return format.widensCodes() && !copiesRhs; }
  /// Steps of a column that lie side by side in the packed right side: those of
  /// codes that are widened are brought together then.
  int64_t getPackedStepsTogether() const {
    return format.widensCodes() ? 1 : format.stepsTogether;
  }
  /// Bytes of an element of the right side's copy.
  int64_t getRhsCopyBytes() const {
    return format.rhsFactor.getIntOrFloatBitWidth() / 8;
  }
};

/// A register tile of mr rows and nr columns sweeps a block of mc rows against
/// one panel (nr columns) of the right side. The panel, kc steps long, stays in
/// the L2 cache while the block's rows stream past it. A work unit is one block
/// and `panels` panels.
struct MatmulSchedule {
  /// Rows of the register tile. mr * nr / lanes accumulators and nr / lanes + 1
  /// more registers must fit; as many as fit hide the multiply-add's latency
  /// and the loads.
  int64_t mr = 8;
  /// Columns of a panel: a multiple of the lanes.
  int64_t nr = 48;
  /// The number of steps of the contracted axis after which sums are stored in
  /// memory, an even number; 0: sums stay in registers. Only worth it if a
  /// panel of all steps does not fit the L2 cache.
  int64_t kc = 0;
  /// Rows of a block, a multiple of mr.
  int64_t mc = 128;
  /// Panels of a work unit: more than one if the left side is copied, so that
  /// several panels share the cost.
  int64_t panels = 1;
  /// Whether neighbouring units share a panel (true) or a block of rows
  /// (false). True if the right side is larger than the cache, so that it is
  /// read only once.
  bool panelsOuter = true;
  /// The fewest units that a thread gets; a kernel with fewer than twice as
  /// many runs on one thread. 0: estimated from the work of a unit.
  int64_t grain = 0;

  mlir::DictionaryAttr toConfig(mlir::MLIRContext *context) const;
  std::string toString() const;
};

/// Whether `elements` elements of `type` are more than stay in the second-level
/// cache beside what else a kernel reads.
bool leavesCache(const Target &target, int64_t elements, mlir::Type type);

/// Whether tiles should bring the next panel of the packed right side into the
/// second-level cache (getPartOfPanel): it does not stay there but has room
/// beside this one, and not so many tiles read a panel that the first may wait.
bool wantsPanelsAhead(const MatmulSchedule &schedule, const MatmulShape &shape,
                      const Target &target);

/// The most rows of a register tile that is `vectors` wide: one register for
/// each sum, for each vector of the right side and for an element of the left
/// one, and no more rows than the caches take without conflicts. May be 0.
int64_t getMostRows(int64_t vectors, const Target &target);

/// Why `schedule` cannot be generated; empty if it can.
std::string rejectMatmulSchedule(const MatmulSchedule &schedule,
                                 const MatmulShape &shape,
                                 const Target &target);

/// The schedule that is used without measuring: the tile with the fewest
/// estimated cycles, blocks that fit the caches, and enough units for all
/// threads.
MatmulSchedule chooseMatmulSchedule(const MatmulShape &shape,
                                    const Target &target);

/// Legal schedules worth measuring, the default choice first. Never empty.
std::vector<MatmulSchedule> listMatmulSchedules(const MatmulShape &shape,
                                                const Target &target);

/// The schedule in a kernel's ait.config; parameters that it does not name are
/// those of `fallback`.
MatmulSchedule readMatmulSchedule(mlir::DictionaryAttr config,
                                  const MatmulSchedule &fallback);

/// Schedule::features of `schedule`.
std::vector<double> getFeatures(const MatmulSchedule &schedule,
                                const MatmulShape &shape);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MATMULSCHEDULE_H
