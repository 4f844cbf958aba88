// The results of a command, as a text for people and as JSON for programs.
//
// JSON: {"schema": 1, "command": "tune", "model": {...}, "inputs": [...],
// "coverage": {...}, "check": {...}, "timing": {...}, "compile": {...},
// "memory": {...}, "gpu": {...}, "steps": [...], "outputs": [...],
// "notes": [...]}. Times are
// milliseconds in "timing" and seconds in "compile"; memory is bytes; shares
// are in [0, 1]. Parts that a command does not make are absent. Fields are
// added, never renamed.
#ifndef AITUNE_FRONTEND_CLI_REPORT_H_
#define AITUNE_FRONTEND_CLI_REPORT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/Compiler.h"
#include "frontend/check/check.h"
#include "frontend/compiled_model/build_report.h"
#include "frontend/compiled_model/coverage.h"
#include "runtime/backend/step_time.h"
#include "runtime/strategy/interleaved_timing.h"

namespace aitune::cli {

struct ModelInfo {
  std::string file;
  std::string signature;
  int64_t weight_bytes = 0;
  std::vector<std::string> inputs;  // texts that --input accepts
  std::string inputs_source;        // ModelInputs::source
  int threads = 0;                  // number of threads; 1 or more
  // CPU time that the process may use, in CPUs; none: all of its cores.
  std::optional<double> cpu_quota = std::nullopt;
};

struct CompileInfo {
  std::vector<std::pair<std::string, double>> phase_seconds;
  int kernels = 0, unique_kernels = 0;
  std::vector<CandidateResult> candidates;
  std::vector<Rejection> rejections;
  std::vector<std::string> notes;  // Trace::notes
  frontend::CacheReport cache;
  CompileCounts counts;  // compilations in this process
  TuningResult tuning;
  std::vector<QuantizedLayer> quantized_layers;
  std::vector<WrongCandidate> wrong;
  ReferenceReport reference;
  std::vector<LibTorchWin> libtorch_wins;

  double TotalSeconds() const;
};

// Resident memory of the process in bytes.
struct MemoryInfo {
  int64_t before_model = 0;    // with LibTorch and this program
  int64_t with_model = 0;      // after the model was read
  int64_t peak_compiling = 0;  // the peak while tracing and compiling
  int64_t executable = 0;      // arenas, packed weights and library scratch
};

// Facts about a model that runs on a GPU.
struct GpuInfo {
  int ordinal = 0;           // the GPU's number
  std::string graph_reason;  // why no CUDA graph is used; empty: one is
  int64_t memory = 0;        // bytes of weights, arenas and staging buffers
};

struct TimingRow {
  std::string name;  // "ours", "eager", "torchscript"
  TimingSummary time;
  std::string failure;  // why a peer was not timed; empty: it was
};

// A tensor of a call's result, or a value that is none.
struct OutputInfo {
  std::string path;                 // where it is in the result: "", "[0]", ...
  std::optional<std::string> text;  // of a value that is no tensor
  std::string dtype;
  std::string layout;     // StorageText, "Strided" if dense
  std::string sizes;      // SizesText
  int64_t elements = 0;   // their number, of complex ones both parts
  bool is_finite = true;  // all elements
  // Of the finite elements, of complex ones both parts; not set if there are
  // none.
  std::optional<double> minimum, maximum, mean;
};

struct Report {
  std::string command;
  ModelInfo model;
  std::optional<frontend::Coverage> coverage;
  // The parts of control flow that LibTorch runs.
  std::vector<frontend::OutlinedReport> outlined;
  int64_t eager_parts = 0;  // BackendUsage::eager_parts, of all versions
  // The share, in [0, 1], of compiled steps in the time of all steps, each run
  // alone. Not set when it was not measured, when LibTorch runs no step, or
  // when parts of what it runs are compiled.
  std::optional<double> compiled_time_share;
  std::optional<frontend::CheckReport> check;
  std::vector<TimingRow> timing;  // ours first
  // The arguments of `timing` and `steps`, where eager refuses the ends of the
  // ranges, such as "float32[6,5]"; empty: the ends, or samples.
  std::string timed_sizes;
  std::optional<CompileInfo> compile;
  std::optional<MemoryInfo> memory;
  std::optional<GpuInfo> gpu;
  std::vector<StepTime> steps;
  std::vector<OutputInfo> outputs;
};

nlohmann::json ToJson(const Report& report);

// The parts that the report has, in the order of its fields.
std::string SummaryText(const Report& report);

// As SummaryText, without the model.
std::string BuildText(const Report& report);

// Every decision with its reason: fallbacks, rejections, candidates, notes.
std::string ExplainText(const Report& report);

// The steps in descending order of time, with their share of it, GFLOP/s and
// source locations: `top` rows (0: all), then one row for each kind of step.
std::string StepsText(const Report& report, int top);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_REPORT_H_
