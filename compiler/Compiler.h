// The compiler as a library: a module of the `ait` dialect in, an executable
// plan and object code out. The only compiler header that the command line and
// the runtime's build step include; everything behind it may change.
#ifndef AITUNE_COMPILER_COMPILER_H
#define AITUNE_COMPILER_COMPILER_H

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace aitune {

/// Where `compile` stops; the module then holds that phase's IR.
enum class CompilePhase {
  Import,
  Transformed,
  Fused,
  Linalg,
  LLVM,
  Executable
};

/// How schedules of generated kernels are searched.
struct TuningOptions {
  /// Seconds to search for. 0: none, but what the database knows is used.
  double budgetSeconds = 0;
  /// File of the tuning database; empty: nothing is kept or reused.
  std::string database;
  /// Name of a search strategy (compiler/tune/Search.h).
  std::string strategy = "successive-halving";
  /// Name of a cost model (compiler/tune/CostModel.h).
  std::string costModel = "roofline";
  /// Start from the best schedules of similar kernels in the database.
  bool transfer = false;
  /// The program that measures, with its arguments: one that calls
  /// serveMeasurements (compiler/candidates/MeasurementWorker.h) on its
  /// standard input and output.
  std::vector<std::string> worker;
  /// Seconds that a candidate may take to generate or run, and bytes of data it
  /// may allocate.
  double candidateSeconds = 20;
  int64_t candidateBytes = int64_t{4} << 30;
  /// Asked often; true ends the search with the best found so far.
  std::function<bool()> stop;
};

struct CompileOptions {
  /// Stop after this phase and return its IR (aitune --compile-to).
  CompilePhase compileTo = CompilePhase::Executable;
  /// Measure library and generated candidates and keep the faster; without
  /// it a fixed preference decides.
  bool measureCandidates = true;
  /// Round to the tensor's dtype after every operation as eager does, instead
  /// of once at the end of a fused group.
  bool emulateEagerCasts = false;
  /// Indices out of range and divisions of integers by 0 give some result, of
  /// memory that is the tensor's own, instead of the error that eager raises.
  bool uncheckedIndices = false;
  /// Which layers to quantise and how, as quant::ParseQuantizationOptions
  /// (quant/options.h) reads it, such as "int8wo"; empty: none.
  std::string quantization;
  /// What runs the model: "cpu", or "cuda" or "cuda:N" for a GPU, which must be
  /// there.
  std::string device = "cpu";
  /// Threads that candidates are measured with; 0: as many as LibTorch uses.
  int threads = 0;
  /// A directory for the IR after each phase, object code and one standalone
  /// benchmark a kernel; empty: none.
  std::string dumpDirectory;
  /// Generate code for this target instead of the host: "avx2", "avx512",
  /// "amx"; empty: the host with all it has.
  std::string target;
  /// Whether products and convolutions of fp32 may round their operands to tf32
  /// on a GPU; the defaults are eager's (torch.backends).
  bool tf32Matmul = false, tf32Convolution = true;
  TuningOptions tuning;
  /// Called at phase and kernel boundaries: phase name, done, total.
  std::function<void(const std::string &, int, int)> progress;
};

/// Why something was not done (an import, a fusion, a schedule, a library).
struct Rejection {
  std::string phase;
  std::string subject; ///< the operator, with its source location
  std::string reason;
};

/// One kernel candidate that was measured.
struct CandidateResult {
  std::string kernel, candidate;
  double microseconds = 0; ///< median; negative if it failed or was wrong
  bool chosen = false;
  std::string note;
};

/// A kernel whose schedules were searched.
struct TunedKernel {
  std::string kernel, schedule;
  int launches = 0, measured = 0, known = 0, failed = 0;
  double defaultMicroseconds = -1, microseconds = -1;
};

struct TuningResult {
  std::vector<TunedKernel> kernels;
  /// After `seconds` of search, the tuned kernels' estimated milliseconds in
  /// one run of the model.
  std::vector<std::pair<double, double>> curve;
  /// Kernels whose schedule came from the database without a search.
  int reused = 0;
  double seconds = 0;
  /// Why the search ended early or could not start; empty otherwise.
  std::string note;
};

/// The machine code of one generated kernel. On the CPU an ELF relocatable
/// object that defines `symbol` (runtime/cpu/kernel_abi.h) and needs at
/// most libm; on a GPU a cubin that defines `symbol` and perhaps more.
struct KernelObject {
  std::string symbol;
  std::string object;
};

/// A kernel that no code generator took. `traceOps` are the positions in the
/// frontend's trace of the operators it was made of, from their locations: a
/// caller imports again with these given to LibTorch.
struct KernelFailure {
  std::string kernel;
  std::string reason;
  std::vector<int64_t> traceOps;
};

/// A linear layer that was quantised, or looked at and left alone.
struct QuantizedLayer {
  std::string layer;   ///< its module's path, "encoder.layer.0.output.dense"
  int64_t k = 0;       ///< elements of a row of its input
  int64_t n = 0;       ///< elements of a row of its result
  std::string scheme;  ///< "int8wo" and so on: the one that was asked for
  std::string refusal; ///< why it was left alone; empty if it was quantised
  /// Signal to noise of the codes to the weight, in decibels; 0 for a weight
  /// that there are no codes of.
  double weightSqnr = 0;
};

struct CompileResult {
  ExecutablePlan plan;
  /// One a unique generated kernel, in the order of first use.
  std::vector<KernelObject> objects;
  /// Constants the compiler made (merged or folded weights); the plan numbers
  /// them after those it was given.
  std::vector<ConstantTensor> newConstants;
  /// With CompileOptions::quantization: every linear layer, in the graph's
  /// order.
  std::vector<QuantizedLayer> quantizedLayers;
  /// Not empty when `plan` could not be made; everything else is then void.
  std::vector<KernelFailure> failures;
  /// With CompileOptions::compileTo: the IR of the phase it stopped after.
  std::string ir;
  std::vector<Rejection> rejections;
  std::vector<CandidateResult> candidates;
  TuningResult tuning;
  int kernels = 0;       ///< launches of generated or library kernels
  int uniqueKernels = 0; ///< kernels compiled: identical ones once
  /// Phase name and seconds, in order.
  std::vector<std::pair<std::string, double>> phaseSeconds;
};

/// The number of the GPU that "cuda" or "cuda:N" names; kInvalidArgument for
/// other texts.
absl::StatusOr<int> cudaOrdinal(const std::string &device);

/// What this process has compiled so far: a process that found everything in a
/// cache has all zero.
struct CompileCounts {
  int64_t graphs = 0;       ///< calls of compile
  int64_t kernels = 0;      ///< kernels that code was generated for
  int64_t measurements = 0; ///< kernels whose candidates were measured
};

/// Thread-safe.
CompileCounts compileCounts();

/// Compiles `module` (the form frontend/importer makes: one func.func @main
/// with ait operations). `constants` is the pool ait.constant refers to; it is
/// read, never changed. The module is transformed in place. Errors:
/// kInvalidArgument for a module that breaks the contract, kInternal for a
/// failure of a pass (with its diagnostics). Not thread-safe for one
/// MLIRContext; separate contexts may compile at once.
absl::StatusOr<CompileResult>
compile(mlir::ModuleOp module, absl::Span<const ConstantTensor> constants,
        const CompileOptions &options);

} // namespace aitune

#endif // AITUNE_COMPILER_COMPILER_H
