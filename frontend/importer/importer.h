// Imports a trace into the `ait` dialect: the MLIR half of the frontend.
#ifndef AITUNE_FRONTEND_IMPORTER_IMPORTER_H_
#define AITUNE_FRONTEND_IMPORTER_IMPORTER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/trace/fallback_op.h"
#include "frontend/trace/trace.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace aitune::frontend {

struct ImportOptions {
  // Calls that LibTorch must run even if the importer supports them, by their
  // position in Trace::ops, with the reason to report: calls that no code
  // generator could compile, for example.
  std::map<int, std::string> libtorch_ops;
  // Whether the model will run on a GPU: eager's kernels there differ in what
  // they define, such as where interpolation looks at the scale factor.
  bool is_for_gpu = false;
};

// How a trace's calls were imported.
struct ImportReport {
  int imported = 0;  // calls that became ait operations
  std::vector<FallbackOp> fallbacks;
};

// Imports `trace` as a module with one public function @main from the tensors
// of trace.inputs to the values of trace.outputs, made of `ait` operations.
//
// - Dynamic sizes are expressions over trace.symbols, which the module
//   attribute `ait.symbols` lists (name, min, max, input, axis).
// - A call that no builder supports becomes an `ait.fallback` of its own, with
//   the reason, and is added to `report` (may be null). Its operands are the
//   values that are no constants, each once, in the order the call reads them;
//   the attributes input_values and output_values give their ids in the
//   trace. LibTorch's region holds the constants itself.
// - Every operation's location is a fused one of name ("scope/aten::add"),
//   source line and, as metadata, the call's position in the trace; see
//   TraceOpsOfLocation.
//
// `context` gets the dialects it needs; diagnostics of rejected attempts don't
// reach its handlers. Errors: kInvalidArgument for a trace that contradicts
// itself (an id out of range, a value used before its definition).
// Thread-safe for different contexts; `trace` is only read.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> ImportTrace(
    const Trace& trace, mlir::MLIRContext& context, ImportReport* report,
    const ImportOptions& options = {});

// The positions in the trace of the calls that `location` stands for, sorted
// and each once; empty for a location the importer didn't make.
std::vector<int64_t> TraceOpsOfLocation(mlir::Location location);

// The schema names that have a builder, sorted. A builder may still reject a
// call.
std::vector<std::string> SupportedOperators();

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_IMPORTER_H_
