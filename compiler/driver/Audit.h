// Looks a finished model's kernels through: each result that one writes in the
// model, on real inputs, against what the reference says of the same operands.
//
// A kernel is judged on what it was given, so that one wrong kernel does not
// make those behind it wrong. The model runs twice in a row, and both runs are
// looked at.
#ifndef AITUNE_COMPILER_DRIVER_AUDIT_H
#define AITUNE_COMPILER_DRIVER_AUDIT_H

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CompilationTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace aitune {

/// The candidates of `chosen` that give wrong results in @main of `module`, one
/// a kernel, for options.audit. `objects` is their code, `constants` the pool.
/// kUnimplemented for a model of which a part can only be run by who asked for
/// it; other errors: the model does not run. Changes nothing in the end.
absl::StatusOr<std::vector<WrongCandidate>> auditModel(
    mlir::ModuleOp module, const ChosenKernels &chosen,
    const std::vector<KernelObject> &objects, const CompilationTarget &target,
    absl::Span<const ConstantTensor> constants, const CompileOptions &options);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_AUDIT_H
