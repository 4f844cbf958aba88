// What the runs of a kernel's candidates are judged by: inputs that show
// mistakes, and what the reference (compiler/reference) says of them.
//
// The reference is computed once for all candidates of a kernel. Both devices
// judge with this class; how they run a candidate is theirs.
#ifndef AITUNE_COMPILER_MEASURE_KERNELJUDGE_H
#define AITUNE_COMPILER_MEASURE_KERNELJUDGE_H

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/reference/Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

/// The inputs that a candidate is judged on.
enum class JudgedInputs {
  Normal,   ///< normal numbers, dynamic axes at the top of their ranges
  Extreme,  ///< large and small numbers and zeros; in loops NaN, infinities
  Smallest, ///< normal numbers, dynamic axes at the bottom of their ranges
  /// Normal numbers, of contractions: the first element of the first input is
  /// NaN. It may spread over neighbours, but must not get lost, as in an
  /// activation that a library computes by a maximum.
  WithNan,
};

/// Where an argument of a kernel comes from when the kernel is run alone.
struct JudgedArgument {
  int input = -1;      ///< the number of the plan's input; -1: a constant
  TensorView constant; ///< in the host's memory
};

class KernelJudge {
public:
  /// `arguments` are those of `kernel`, in order. The kernel and the constants'
  /// memory must live as long.
  KernelJudge(mlir::func::FuncOp kernel, std::vector<JudgedArgument> arguments,
              ReferenceOptions options);

  /// What to judge on. There is no smallest size without dynamic axes, nor
  /// where something would have no elements there, or more than at the normal
  /// sizes.
  std::vector<JudgedInputs> inputSets(const ExecutablePlan &plan) const;
  /// Whether `Extreme` inputs may hold NaN and infinities: contractions have
  /// algorithms that spread one over neighbours.
  bool takesNonFinite() const;

  /// Computes what is right for these inputs of the plan (in the host's
  /// memory), unless it is known. An error: there is no reference, or the
  /// smallest sizes do not go together, as a model's other rules for them say.
  absl::Status prepare(JudgedInputs set, absl::Span<const TensorView> inputs,
                       absl::Span<const int64_t> symbols);
  /// What is right, after `prepare`; null if there is no reference.
  const std::vector<ReferenceResult> *expected(JudgedInputs set) const;
  /// Why `results` of a run on `set` are wrong; empty if they are right, or if
  /// there is no reference.
  /// `memory` as compareWithReference.
  std::string judge(JudgedInputs set, absl::Span<const TensorView> results,
                    absl::Span<const ResultMemory> memory = {}) const;

  /// Why there is no reference; OK if there is, or none was asked for yet.
  const absl::Status &status() const { return reason; }
  /// Sampled elements of all inputs judged on but WithNan, and what all took.
  ReferenceCoverage coverage() const;
  double seconds() const { return spent; }

private:
  mlir::func::FuncOp kernel;
  const std::vector<JudgedArgument> arguments;
  const ReferenceOptions options;
  std::map<JudgedInputs, std::vector<ReferenceResult>> known;
  absl::Status reason;
  double spent = 0;
};

/// The values of a plan's symbols at one end of their ranges. The upper end is
/// left where a size would be negative there: a kernel's plan does not hold the
/// constraints between the model's symbols.
std::vector<int64_t> symbolsOf(const ExecutablePlan &plan, JudgedInputs set);

/// Whether no size of the plan is negative for these values of its symbols.
bool hasSizes(const ExecutablePlan &plan, absl::Span<const int64_t> symbols);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_KERNELJUDGE_H
