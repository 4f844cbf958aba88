// Imports a trace and compiles it.
//
// The code that needs LLVM is in frontend/compiled_model/compile, which
// registers itself here at startup in programs that link it. A program that
// only runs compiled models does not link it and contains no LLVM.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_TRACE_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_TRACE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/Compiler.h"
#include "frontend/compiled_model/coverage.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

struct CompiledTrace {
  CompileResult result;
  std::vector<FallbackOp> fallbacks;      // in the order of the trace
  std::vector<RegionDefinition> regions;  // in the order of the plan's indices
};

// Imports and compiles `trace`. If no code generator supports an operator, the
// trace is compiled again with that operator run by LibTorch, so that it costs
// a fallback and not the whole model. With options.compileTo before Executable
// only result.ir and the reports are set. Errors: those of ImportTrace and
// compile; kUnimplemented in a program without the compiler. Thread-safe: each
// call has an MLIR context of its own.
absl::StatusOr<CompiledTrace> CompileTrace(const Trace& trace,
                                           const CompileOptions& options);

// Whether this program has the compiler; the error is that of CompileTrace.
bool HasTraceCompiler();
absl::Status CheckTraceCompiler();

using TraceCompiler = absl::StatusOr<CompiledTrace> (*)(const Trace&,
                                                        const CompileOptions&);

// Makes `compiler` the compiler of this program; called once, before main.
bool RegisterTraceCompiler(TraceCompiler compiler);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_TRACE_H_
