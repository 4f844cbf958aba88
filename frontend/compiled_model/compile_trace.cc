#include "frontend/compiled_model/compile_trace.h"

namespace aitune::frontend {
namespace {

TraceCompiler the_compiler = nullptr;

}  // namespace

bool RegisterTraceCompiler(TraceCompiler compiler) {
  the_compiler = compiler;
  return true;
}

bool HasTraceCompiler() { return the_compiler != nullptr; }

absl::StatusOr<CompiledTrace> CompileTrace(const Trace& trace,
                                           const CompileOptions& options) {
  if (the_compiler == nullptr)
    return absl::UnimplementedError(
        "this program has no compiler; link //frontend/compiled_model/compile, "
        "or "
        "save a checkpoint where there is one");
  return the_compiler(trace, options);
}

}  // namespace aitune::frontend
