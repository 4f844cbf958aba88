// Attention kernels: a kernel function of kind attention becomes an ABI
// function (runtime/cpu/kernel_abi.h) that never stores all scores
// (FlashAttention: Dao et al., 2022).
//
// A work unit is one head and a block of queries. Keys and values are processed
// in blocks; for each block, the scores of a few queries are computed into a
// buffer that stays in the L1 cache, turned into weights by a softmax that is
// corrected when larger scores appear (Milakov and Gimelshein, 2018), and
// multiplied with the values. So only the operands and the result are read from
// and written to memory. Products of bf16 use the CPU's instructions for them
// (vdpbf16ps, AMX tiles), with the weights rounded to bf16, as LibTorch's.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_ATTENTION_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_ATTENTION_H

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/cpu/contraction/Microkernel.h"
#include "compiler/codegen/cpu/contraction/MicrokernelEpilogue.h"

namespace aitune {

struct AttentionProblem {
  mlir::Value result; ///< the attention's result in the kernel's body
  mlir::AffineExpr batch, queries, keys; ///< numbers of heads, queries and keys
  int64_t depth, valueDepth; ///< elements of a query and key, and of a value
  double scale;
  bool isCausal;
  /// Whether a query that no key takes part for has NaN, not 0, as its result.
  bool maskedRowsAreNan;
  /// The score of pairs that a mask leaves out: a boolean one where it is
  /// false, by minus infinity if this is not set, a floating one where it is
  /// kMaskedPair, if this is set.
  std::optional<double> maskedScore;
  struct Operand {
    OperandAccess access;
    LayoutAxis batchAxis, rowAxis, columnAxis;
  };
  Operand query, key, value;
  std::optional<Operand> mask;
  /// The instructions of both products. FusedMultiplyAdd: of all operands
  /// widened to f32. Otherwise queries, keys, values and weights are bf16, as
  /// in LibTorch's kernels.
  MicrokernelKind kind = MicrokernelKind::FusedMultiplyAdd;
};

struct AttentionSchedule {
  /// The rows (queries) and columns of a register tile; the columns are a
  /// multiple of the lanes. In AMX tiles both are 16 or 32.
  int64_t mr = 8, nr = 48;
  /// The queries of a work unit. Each unit rearranges all keys that it reads, a
  /// cost that more queries share; fewer queries give more units for threads.
  int64_t queryBlock = 128;
  /// The keys of a block, a multiple of nr. Their rearranged copy should fit
  /// the L2 cache.
  int64_t keyBlock = 480;

  mlir::DictionaryAttr toConfig(mlir::MLIRContext *context) const;
  std::string toString() const;
};

/// Analyses `kernel`, a function of kind attention: it must contain exactly one
/// ait.attention, whose operands are arguments or views of arguments. Fails and
/// sets `reason` otherwise.
mlir::FailureOr<AttentionProblem> analyzeAttention(mlir::func::FuncOp kernel,
                                                   const Target &target,
                                                   std::string &reason);

/// The schedule that is used without measuring.
AttentionSchedule chooseAttentionSchedule(const AttentionProblem &problem,
                                          const Target &target);

/// Schedule::features of `schedule`.
std::vector<double> getFeatures(const AttentionSchedule &schedule,
                                const AttentionProblem &problem);

/// Why the schedule cannot be generated; empty if it can.
std::string rejectAttentionSchedule(const AttentionSchedule &schedule,
                                    const AttentionProblem &problem,
                                    const Target &target);

/// Legal schedules worth measuring, the default choice first. Never empty.
std::vector<AttentionSchedule>
listAttentionSchedules(const AttentionProblem &problem, const Target &target);

/// Replaces `kernel` by the ABI function. The result of a query whose keys are
/// all masked is 0. Fails, sets `reason` and leaves the kernel unchanged if the
/// schedule is not legal or no code can be generated for an operation after the
/// attention.
mlir::LogicalResult emitAttention(mlir::func::FuncOp kernel,
                                  const AttentionProblem &problem,
                                  const AttentionSchedule &schedule,
                                  const Target &target, std::string &reason);

/// analyzeAttention and emitAttention with the schedule of ait.config.
mlir::LogicalResult lowerAttention(mlir::func::FuncOp kernel,
                                   const Target &target, std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_ATTENTION_H
