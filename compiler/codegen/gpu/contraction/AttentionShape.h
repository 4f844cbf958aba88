// The ways in which a block computes an attention on a GPU, and the choice
// among them.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_ATTENTIONSHAPE_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_ATTENTIONSHAPE_H

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/support/Schedule.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace aitune {

/// The attention of a kernel.
struct AttentionProblem {
  /// The number of attentions, and rows of each; estimates of dynamic ones.
  int64_t batch, queries, keys;
  int64_t depth, valueDepth; ///< columns of queries and keys, and of values
  bool isCausal, hasMask;
  /// Whether the operands are of 16 bits and lie in rows that can be copied in
  /// pieces of 16 bytes, as all tensor cores need.
  bool hasAlignedRows;
};

/// The parameters of one of three algorithms: tensor cores by warps (mma,
/// prelude/Attention.cuh), tensor cores by warpgroups (wgmma,
/// prelude/AttentionGroups.cuh) and fp32 arithmetic (simt,
/// prelude/Attention.cuh).
struct AttentionShape {
  enum class Algorithm { kMma, kWgmma, kSimt };
  Algorithm algorithm;
  /// Of mma: warps along the queries, 16 each, and along the keys. Of simt: the
  /// block's warps, 4 queries each, and 0.
  int64_t queryWarps = 0, keyWarps = 0;
  /// Of wgmma: warpgroups of 64 queries each, beside the one that copies;
  /// blocks that share a multiprocessor; keys of a step.
  int64_t groups = 0, resident = 0, keys = 0;
  /// Of mma and simt: blocks of a cluster that share the keys of their queries.
  int64_t splits = 1;

  /// Of wgmma: the steps of keys and values that are in shared memory at a
  /// time.
  static constexpr int64_t stages() { return 2; }

  /// The block's queries.
  int64_t queries() const;
  /// The block's threads, and those of them that compute, which come first.
  int64_t threads() const;
  int64_t computingThreads() const;
  /// The bytes of shared memory of a block.
  int64_t sharedBytes(const AttentionProblem &problem) const;
  /// Of wgmma: whether a thread's registers also hold its queries.
  bool keepsQueries(const AttentionProblem &problem) const;
  /// A text for people, such as "attention mma, 64 queries, 1 group of keys".
  std::string description() const;
  /// The ait.config that asks for this shape.
  mlir::DictionaryAttr config(mlir::MLIRContext *context) const;
  bool operator==(const AttentionShape &other) const;
};

/// All shapes that suit the problem, the most promising first.
std::vector<AttentionShape> rankAttentionShapes(const AttentionProblem &problem,
                                                const GpuTarget &target);

/// Those that are worth measuring, the most promising first: no more than 4.
std::vector<AttentionShape>
chooseAttentionShapes(const AttentionProblem &problem, const GpuTarget &target);

/// The shape that `config` asks for. kInvalidArgument if none of the problem's
/// shapes is that.
absl::StatusOr<AttentionShape>
readAttentionShape(mlir::DictionaryAttr config, const AttentionProblem &problem,
                   const GpuTarget &target);

/// The shapes as schedules, with their features. Empty in fp32 arithmetic.
std::vector<Schedule> describeAttentionShapes(const AttentionProblem &problem,
                                              const GpuTarget &target,
                                              mlir::MLIRContext *context);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_ATTENTIONSHAPE_H
