// Judges whether the candidates of a kernel give right results: on inputs that
// show mistakes, by the reference (compiler/reference).
//
// The reference is computed once for all candidates of a kernel. Both devices
// judge with this class; each runs the candidates in its own way (Measure.h,
// MeasureCuda.h).
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

/// A set of inputs on which a candidate is judged. "Normal numbers" are those
/// of fillRandom (TestData.h), "extreme" ones those of fillExtreme.
enum class JudgedInputs {
  Normal,   ///< normal numbers, dynamic axes at the upper ends of their ranges
  Extreme,  ///< extreme numbers, for loops with NaN and infinities; same sizes
  Smallest, ///< normal numbers, dynamic axes at the lower ends of their ranges
  /// For contractions: normal numbers, but the first element of the first input
  /// is NaN. Algorithms may spread it over neighbours, but it must not get
  /// lost, as it does in an activation that a library computes by a maximum.
  WithNan,
};

/// The source of a kernel's argument when the kernel is run alone.
struct JudgedArgument {
  int input = -1;      ///< the number of the plan's input; -1: `constant`
  TensorView constant; ///< the argument's content, in the host's memory
};

/// Not thread-safe.

class KernelJudge {
public:
  /// `arguments` are the sources of the arguments of `kernel`, in order. The
  /// kernel and the constants' memory must live as long as the judge.
  KernelJudge(mlir::func::FuncOp kernel, std::vector<JudgedArgument> arguments,
              ReferenceOptions options);

  /// The sets of inputs on which to judge, in order; Normal is the last one.
  /// Smallest is left out without dynamic axes, and if a tensor of the plan
  /// would have no elements there or more than at the upper ends.
  std::vector<JudgedInputs> inputSets(const ExecutablePlan &plan) const;
  /// Whether Extreme inputs may have NaN and infinities: not for contractions,
  /// whose algorithms may spread them over neighbours.
  bool takesNonFinite() const;

  /// Computes the right results for `inputs`, the plan's inputs in the host's
  /// memory, unless they are known already. `symbols` are the values of the
  /// plan's symbols. An error means that there is no reference; for Smallest
  /// alone also that sizes contradict each other there, as constraints of the
  /// model between its symbols would exclude.
  absl::Status prepare(JudgedInputs set, absl::Span<const TensorView> inputs,
                       absl::Span<const int64_t> symbols);
  /// Whether `prepare` was called, with whatever result.
  bool isPrepared() const { return !known.empty() || !reason.ok(); }
  /// The right results, after `prepare`; null if there is no reference.
  const std::vector<ReferenceResult> *expected(JudgedInputs set) const;
  /// Why `results`, those of a run on `set`, are wrong; empty if they are right
  /// or if there is no reference. `memory` is that of compareWithReference.
  std::string judge(JudgedInputs set, absl::Span<const TensorView> results,
                    absl::Span<const ResultMemory> memory = {}) const;

  /// Why there is no reference; OK if there is one or none was asked for yet.
  const absl::Status &status() const { return reason; }
  /// The number of sampled elements on all sets of inputs except WithNan.
  ReferenceCoverage coverage() const;
  /// The seconds that `prepare` took in all calls.
  double seconds() const { return spent; }

private:
  mlir::func::FuncOp kernel;
  const std::vector<JudgedArgument> arguments;
  const ReferenceOptions options;
  std::map<JudgedInputs, std::vector<ReferenceResult>> known;
  absl::Status reason;
  double spent = 0;
};

/// The values of a plan's symbols for `set`: their least values for Smallest,
/// otherwise the typical ones, which hold the model's constraints, or else the
/// greatest. If a size would be negative there, one symbol, or all, get their
/// least instead, because the plan of a kernel does not have the model's
/// constraints between symbols.
std::vector<int64_t> symbolsOf(const ExecutablePlan &plan, JudgedInputs set);

/// Whether no size of the plan is negative for these values of its symbols.
bool hasSizes(const ExecutablePlan &plan, absl::Span<const int64_t> symbols);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_KERNELJUDGE_H
