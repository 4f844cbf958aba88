// A trace through the compiler: import, compile, link. The one place of the
// session that includes MLIR, and behind a header without it.
#ifndef AITUNE_FRONTEND_SESSION_COMPILE_TRACE_H_
#define AITUNE_FRONTEND_SESSION_COMPILE_TRACE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/Compiler.h"
#include "frontend/torchscript/trace.h"
#include "runtime/executable/kernel_library.h"

namespace aitune::frontend {

// An operator call that LibTorch runs, and why.
struct FallbackOp {
  int trace_op = 0;      // position in Trace::ops
  std::string op;        // "aten::topk" or "aten::add.Tensor"
  std::string location;  // TorchScript source, "model.py:12"
  std::string scope;     // the submodule, such as "encoder.layer.3"
  std::string reason;
};

// What Trace::make_fallback_region needs for one region of the plan.
struct RegionDefinition {
  std::vector<int> ops;
  std::vector<ValueId> inputs, outputs;
};

struct CompiledTrace {
  CompileResult result;
  std::vector<FallbackOp> fallbacks;             // in the order of the trace
  std::vector<RegionDefinition> regions;         // as the plan numbers them
  std::shared_ptr<const KernelLibrary> kernels;  // null for a GPU
};

// Imports and compiles `trace`. Operators that no code generator takes are
// given to LibTorch and the trace is compiled again without them, so that one
// of them costs a fallback, not the model. With options.compileTo before
// Executable only result.ir (and the reports) are set. Errors as of
// ImportTrace, compile and loadKernels. Thread-safe: each call has a context of
// its own.
absl::StatusOr<CompiledTrace> CompileTrace(const Trace& trace,
                                           const CompileOptions& options);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_SESSION_COMPILE_TRACE_H_
