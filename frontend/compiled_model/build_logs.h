// What the log channels of runtime/logging say of a build: the same whether the
// command line or a backend asked for it.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_BUILD_LOGS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_BUILD_LOGS_H_

#include <string>

#include "frontend/compiled_model/build_report.h"
#include "frontend/compiled_model/compiled_model.h"

namespace aitune::frontend {

// Logs the code that is generated for these inputs (output_code). Compiles once
// more for it; does nothing while the channel is off. Thread-safe.
void LogOutputCode(const Model& model, const ModelInputs& inputs,
                   const BuildOptions& build);

// Logs the operators that LibTorch runs (graph_breaks), and kernels in whose
// place its operators are faster and layers that are not quantised
// (perf_hints), each with `name`, the model's. Thread-safe.
void LogBuild(const BuildReport& report, const std::string& name);

// "aten::stft at model.py:12: REASON".
std::string TextOf(const FallbackOp& op);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_BUILD_LOGS_H_
