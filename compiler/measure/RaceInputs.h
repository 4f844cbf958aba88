// The inputs on which candidates of one kernel are judged and timed on a GPU,
// of which the host's memory
// holds what is not repeated.
//
// They are made twice: where the right results are computed from them, on
// another thread before the candidates run, and where they are copied to the
// GPU. So they depend on nothing but what they are for. They repeat themselves,
// and a GPU is given what is repeated: copies of a batch's activations took
// longer than to time the candidates.
#ifndef AITUNE_COMPILER_MEASURE_RACEINPUTS_H
#define AITUNE_COMPILER_MEASURE_RACEINPUTS_H

#include <set>
#include <vector>

#include "absl/status/status.h"
#include "compiler/measure/KernelJudge.h"
#include "compiler/measure/TestData.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

/// Not thread-safe.
class RaceInputs {
public:
  /// `plan` is that of any of the candidates: all take the same inputs.
  /// `weights` are the numbers of those inputs that get the same normal numbers
  /// in all sets, in which other inputs get NaN and infinities if
  /// `takesNonFinite`. `plan` and `weights` must outlive this.
  RaceInputs(const ExecutablePlan &plan, const std::set<int> &weights,
             bool takesNonFinite)
      : plan(plan), weights(weights), takesNonFinite(takesNonFinite) {}

  /// Makes the inputs of `set`. kInvalidArgument if the plan's types are
  /// broken.
  absl::Status make(JudgedInputs set);
  /// What make made, in the order of the plan's inputs, without data; valid
  /// until the next call of it.
  const std::vector<TensorView> &shapes() const { return inputs; }
  /// The numbers of an input.
  const TestNumbers &numbers(int input) const { return made[input]; }
  /// Whether the last call of make wrote this input: a weight stays as it is
  /// from one set to the next, if it has the same sizes there.
  bool isNew(int input) const { return written[input]; }

private:
  const ExecutablePlan &plan;
  const std::set<int> &weights;
  const bool takesNonFinite;
  std::vector<TestNumbers> made;  ///< each input's numbers
  std::vector<TensorView> inputs; ///< each input's type and sizes
  std::vector<bool> written; ///< whether the last call of make wrote an input
};

/// Has `judge` compute all right results of candidates whose plan is `plan`,
/// from inputs in the host's memory.
void prepareAll(KernelJudge &judge, const ExecutablePlan &plan,
                const std::set<int> &weights);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_RACEINPUTS_H
