// What is told about a compiled model, whether it was compiled just now or came
// from a cache.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_BUILD_REPORT_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_BUILD_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "compiler/Compiler.h"
#include "frontend/compiled_model/coverage.h"

namespace aitune::frontend {

// An operator of the trace: how often it is called, how often by LibTorch.
struct OperatorCount {
  std::string name;
  int calls = 0, fallbacks = 0;
};

struct BuildReport {
  int kernels = 0;         // launches
  int unique_kernels = 0;  // equal ones counted once
  std::vector<CandidateResult> candidates;
  std::vector<Rejection> rejections;
  TuningResult tuning;                // empty for a build from the cache
  std::vector<std::string> notes;     // of the trace
  std::vector<FallbackOp> fallbacks;  // in the order of the trace
  Coverage coverage;  // FLOPs are those of every dynamic axis at its largest
  std::vector<OperatorCount> operators;  // by name
  // Linear layers, when quantisation was asked for.
  std::vector<QuantizedLayer> quantized_layers;
};

// The part of the report that the trace tells.
void DescribeTrace(const Trace& trace, std::vector<FallbackOp> fallbacks,
                   BuildReport* report);

// How the on-disk cache served a build.
struct CacheReport {
  enum class Outcome { kOff, kHit, kMiss };
  Outcome outcome = Outcome::kOff;
  std::string key;     // empty when there is none
  std::string detail;  // why it is off or missed, or what storing ran into
  bool stored = false;
};

// All that is told of a version of a model, which may be gone by then.
struct BuiltVersion {
  BuildReport report;
  CacheReport cache;
  // As CompiledModel::phase_seconds.
  std::vector<std::pair<std::string, double>> phase_seconds;
  int64_t memory_bytes = 0;  // as CompiledModel::MemoryInBytes, before a call
  int gpu = -1;              // that it is for; -1: the CPU
  std::string graph_reason;  // as CompiledModel::GraphReason
};

// "hit", "miss", "off".
const char* Name(CacheReport::Outcome outcome);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_BUILD_REPORT_H_
