// Finds what is wrong between kernels: one that writes where it must not, that
// reads what nobody wrote, whose operands another overwrites, that does not
// wait for another.
//
// Each step of the plan runs alone, on memory of its own with guards around it,
// on what the steps before it gave alone. What they give is then compared with
// what the model's memory holds after the first steps, for several numbers of
// steps: the last of the fewest steps after which something differs is to
// blame.
#ifndef AITUNE_COMPILER_DRIVER_FIRSTDIFFERENCE_H
#define AITUNE_COMPILER_DRIVER_FIRSTDIFFERENCE_H

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CompilationTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace aitune {

struct FirstDifference {
  std::string step;   ///< Step::name of the plan
  std::string reason; ///< what is wrong there
  /// Whether its own result differs, although the step gives another alone and
  /// what it reads was right before it: the step before may not have ended.
  bool mayBeTooEarly = false;
};

/// The step of `plan` to blame with options.audit.inputs; nothing if the model
/// gives what its steps give alone. `objects` is its code, `constants` the
/// pool, `module` what its regions are made of. kUnimplemented for a model of
/// which a step can't be run alone, kResourceExhausted for one of too many
/// values; other errors: the model does not run. Compares with tolerance for
/// results that depend on which thread comes first.
absl::StatusOr<std::optional<FirstDifference>> findFirstDifference(
    const ExecutablePlan &plan, const std::vector<KernelObject> &objects,
    const CompilationTarget &target, absl::Span<const ConstantTensor> constants,
    mlir::ModuleOp module, const CompileOptions &options);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_FIRSTDIFFERENCE_H
