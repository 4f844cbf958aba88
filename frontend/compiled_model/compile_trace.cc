#include "frontend/compiled_model/compile_trace.h"

#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

TraceCompiler the_compiler = nullptr;

}  // namespace

bool RegisterTraceCompiler(TraceCompiler compiler) {
  the_compiler = compiler;
  return true;
}

bool HasTraceCompiler() { return the_compiler != nullptr; }

absl::Status CheckTraceCompiler() {
  if (HasTraceCompiler()) return absl::OkStatus();
  return absl::UnimplementedError(
      "this program has no compiler; link //frontend/compiled_model/compile, "
      "or save a checkpoint where there is one");
}

absl::StatusOr<CompiledTrace> CompileTrace(const Trace& trace,
                                           const CompileOptions& options) {
  AITUNE_RETURN_IF_ERROR(CheckTraceCompiler());
  return the_compiler(trace, options);
}

}  // namespace aitune::frontend
