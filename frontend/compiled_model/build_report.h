// Facts about a compiled model for reports, whether it was compiled just now or
// came from a cache.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_BUILD_REPORT_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_BUILD_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "frontend/compiled_model/coverage.h"
#include "frontend/trace/trace.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

// An operator of the trace.
struct OperatorCount {
  std::string name;
  int calls = 0;      // number of calls in the trace
  int fallbacks = 0;  // number of these calls that LibTorch runs
};

// A part of control flow that LibTorch runs (outlined_versions.h).
struct OutlinedReport {
  std::string place;  // where it begins in the source, "model.py:12"
  int versions = 0;   // compiled versions, for different sizes
  // Calls of operators in it; without a version, those that compute.
  int ops = 0;
  int compiled_ops = 0;  // of these, those that compiled code runs
  int kernels = 0;       // launches of kernels
  std::string why_not;   // why there is no version
};

struct BuildReport {
  int kernels = 0;                          // launches of kernels in the plan
  int unique_kernels = 0;                   // equal kernels counted once
  std::vector<CandidateResult> candidates;  // measured ways to run a kernel
  std::vector<Rejection> rejections;  // what was not done, with the reason
  // Candidates that the build found wrong, and what it took in their place.
  std::vector<WrongCandidate> wrong;
  // What LibTorch runs because it is faster.
  std::vector<LibTorchWin> libtorch_wins;
  ReferenceReport reference;          // how kernels were judged
  TuningResult tuning;                // empty for a build from the cache
  std::vector<std::string> notes;     // Trace::notes
  bool draws_random_numbers = false;  // Trace::draws_random_numbers
  std::vector<FallbackOp> fallbacks;  // in the order of the trace
  Coverage coverage;  // counts FLOPs with each dynamic axis at its largest size
  std::vector<OperatorCount> operators;  // in the order of their names
  std::vector<OutlinedReport> outlined;  // in the order of the trace
  // Linear layers, when quantisation was asked for.
  std::vector<QuantizedLayer> quantized_layers;

  // Whether LibTorch runs the whole model as one operator, with the state that
  // its modules have.
  bool LibTorchRunsAll() const {
    return fallbacks.size() == 1 && fallbacks[0].op == kWholeModel;
  }
};

// Whether both are the same candidate of the same kernel, in whatever builds.
bool IsSame(const WrongCandidate& a, const WrongCandidate& b);

// Fills in the parts of the report that follow from the trace.
void DescribeTrace(const Trace& trace, std::vector<FallbackOp> fallbacks,
                   BuildReport* report);

// How the on-disk cache served a build.
struct CacheReport {
  enum class Outcome { kOff, kHit, kMiss };
  Outcome outcome = Outcome::kOff;
  std::string key;      // the entry's key; empty when the cache is off
  std::string detail;   // why it is off or missed, or why storing failed
  bool stored = false;  // whether the build was stored in the cache
};

// Facts about one version of a model, which outlive the version.
struct BuiltVersion {
  BuildReport report;
  CacheReport cache;
  // As CompiledModel::phase_seconds.
  std::vector<std::pair<std::string, double>> phase_seconds;
  int64_t memory_bytes = 0;  // CompiledModel::MemoryInBytes before a call
  Device device;             // the device that it is for
  std::string graph_reason;  // as CompiledModel::GraphReason
  int64_t eager_parts = 0;   // as CompiledModel::EagerParts, until then
};

// Why one of the versions runs without a CUDA graph: the first such reason;
// empty when all have one.
std::string GraphReasonOf(absl::Span<const BuiltVersion> versions);

// "hit", "miss", "off".
const char* Name(CacheReport::Outcome outcome);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_BUILD_REPORT_H_
