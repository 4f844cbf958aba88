// A trace through the compiler: import, then compile.
//
// A program that compiles also links frontend/compiled_model/compile, which
// this file finds at run time. So a program that only runs compiled models has
// the same code without LLVM in it.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_TRACE_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_TRACE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/Compiler.h"
#include "frontend/compiled_model/coverage.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

struct CompiledTrace {
  CompileResult result;
  std::vector<FallbackOp> fallbacks;      // in the order of the trace
  std::vector<RegionDefinition> regions;  // as the plan numbers them
};

// Imports and compiles `trace`. Operators that no code generator takes are
// given to LibTorch and the trace is compiled again without them, so that one
// of them costs a fallback, not the model. With options.compileTo before
// Executable only result.ir (and the reports) are set. Errors as of
// ImportTrace and compile; kUnimplemented in a program without the compiler.
// Thread-safe: each call has a context of its own.
absl::StatusOr<CompiledTrace> CompileTrace(const Trace& trace,
                                           const CompileOptions& options);

// Whether this program has the compiler.
bool HasTraceCompiler();

using TraceCompiler = absl::StatusOr<CompiledTrace> (*)(const Trace&,
                                                        const CompileOptions&);

// Makes `compiler` the compiler of this program; called once, before main.
bool RegisterTraceCompiler(TraceCompiler compiler);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_TRACE_H_
