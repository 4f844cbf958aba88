// Attention kernels: a kernel function of kind attention becomes an ABI
// function that never stores the scores.
//
// A work unit is one head and a block of queries. Keys and values are taken in
// blocks; for each, scores of a few queries are computed into a buffer that
// stays in the L1 cache, turned into weights by a softmax that is corrected as
// larger scores appear, and multiplied with the values. Memory traffic is that
// of the operands.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_ATTENTION_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_ATTENTION_H

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/cpu/contraction/Microkernel.h"
#include "compiler/codegen/cpu/contraction/MicrokernelEpilogue.h"

namespace aitune {

struct AttentionProblem {
  mlir::Value result; ///< of the attention, in the kernel's body
  mlir::AffineExpr batch, queries, keys;
  /// Of a query and key; of a value.
  int64_t depth, valueDepth;
  double scale;
  bool isCausal;
  struct Operand {
    OperandAccess access;
    LayoutAxis batchAxis, rowAxis, columnAxis;
  };
  Operand query, key, value;
  std::optional<Operand> mask;
};

struct AttentionSchedule {
  /// Queries of a register tile, and columns of it (a multiple of the lanes).
  int64_t mr = 8, nr = 48;
  /// Queries of a work unit: each unit rearranges the keys it meets, so that
  /// many queries share that work; fewer leave more units for the threads.
  int64_t queryBlock = 128;
  /// Keys whose scores are held at once; a multiple of nr. Their rearranged
  /// copy should fit the L2 cache.
  int64_t keyBlock = 480;

  mlir::DictionaryAttr toConfig(mlir::MLIRContext *context) const;
  std::string toString() const;
};

/// Reads the attention of `kernel`, a function of kind attention: exactly one
/// ait.attention, its operands arguments seen through views. Fails with
/// `reason`.
mlir::FailureOr<AttentionProblem> analyzeAttention(mlir::func::FuncOp kernel,
                                                   std::string &reason);

/// The choice made without measuring.
AttentionSchedule chooseAttentionSchedule(const AttentionProblem &problem,
                                          const Target &target);

/// Why the schedule cannot be generated; empty if it can.
std::string rejectAttentionSchedule(const AttentionSchedule &schedule,
                                    const AttentionProblem &problem,
                                    const Target &target);

/// Legal schedules worth measuring, the default choice first. Never empty.
std::vector<AttentionSchedule>
listAttentionSchedules(const AttentionProblem &problem, const Target &target);

/// Replaces `kernel` by the ABI function. Rows whose keys are all masked give
/// 0. Fails, with `reason` and the kernel unchanged, if the schedule is not
/// legal or an operation after the attention has no code.
mlir::LogicalResult emitAttention(mlir::func::FuncOp kernel,
                                  const AttentionProblem &problem,
                                  const AttentionSchedule &schedule,
                                  const Target &target, std::string &reason);

/// analyzeAttention and emitAttention with the schedule of ait.config.
mlir::LogicalResult lowerAttention(mlir::func::FuncOp kernel,
                                   const Target &target, std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_ATTENTION_H
