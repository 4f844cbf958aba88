// The compiler as a library: it takes a module of the `ait` dialect and returns
// an executable plan and object code. Programs compile through this header
// alone. The command line also includes the headers of what it administers:
// plug-ins (plugin/), search strategies, cost models and the tuning database
// (tune/), and what it is to the compiler's other processes
// (candidates/MeasurementWorker.h, candidates/GenerationWorker.h).
#ifndef AITUNE_COMPILER_COMPILER_H
#define AITUNE_COMPILER_COMPILER_H

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace aitune {

class FallbackRegion;
namespace cuda {
class RegionRecorder;
} // namespace cuda

/// The phase after which `compile` stops; the module then holds its IR.
enum class CompilePhase {
  Import,      ///< the module as it was given
  Transformed, ///< the graph after its passes
  Fused,       ///< the graph as kernels and launches of them
  Linalg,      ///< kernels as linalg operations, contractions as they are
  LLVM,        ///< kernels in the LLVM dialect
  Executable   ///< the plan and object code
};

/// How schedules of generated kernels are searched.
struct TuningOptions {
  /// Seconds to search for. 0: no search, but schedules of the database are
  /// used.
  double budgetSeconds = 0;
  /// File of the tuning database; empty: results are neither kept nor reused.
  std::string database;
  /// Name of a search strategy (compiler/tune/Search.h).
  std::string strategy = "successive-halving";
  /// Name of a cost model (compiler/tune/CostModel.h).
  std::string costModel = "roofline";
  /// Whether to start from the best schedules of similar kernels in the
  /// database.
  bool transfer = false;
  /// The program that measures schedules on the CPU, with its arguments. It
  /// must call serveMeasurements (compiler/candidates/MeasurementWorker.h) on
  /// its standard input and output, as `aitune measure-schedules` does. Not
  /// used on a GPU.
  std::vector<std::string> worker;
  /// The most seconds that the worker may take to generate or measure one
  /// schedule.
  double candidateSeconds = 20;
  /// The most bytes of memory of the worker.
  int64_t candidateBytes = int64_t{4} << 30;
  /// Called often; the search ends, with the best schedules so far, when it
  /// returns true. May be null.
  std::function<bool()> stop;
};

/// Where the code of kernels is generated, and what one of them may take. A
/// kernel that takes more, or whose generation ends its process, is one that no
/// code was made for: a library or LibTorch runs it.
struct GenerationOptions {
  /// The program that generates code, with its arguments. It must call
  /// serveGeneration (compiler/candidates/GenerationWorker.h), as `aitune
  /// generate-kernels` does. Empty, or if it cannot be started: code is
  /// generated in this process, where the time is looked at between the phases
  /// of a kernel alone, and nothing else is limited. One of another build is an
  /// error of `compile`.
  std::vector<std::string> worker;
  /// The most seconds of processors' time for the code of one kernel. Most take
  /// less than a tenth of one.
  double kernelSeconds = 30;
  /// The most bytes of memory for it.
  int64_t kernelBytes = int64_t{4} << 30;
};

/// What a finished model's kernels are looked through with: real inputs, on
/// which each kernel's results in the model are compared with the reference
/// (compiler/reference). What is wrong is replaced.
struct AuditOptions {
  /// The inputs of the module's @main, in the host's memory, which must live as
  /// long. Empty: there is no audit.
  std::vector<TensorView> inputs;
  /// Makes what LibTorch runs of the module, as its plan numbers it. Null: a
  /// model with such regions is not looked through.
  std::function<absl::StatusOr<std::vector<std::unique_ptr<FallbackRegion>>>(
      mlir::ModuleOp)>
      makeRegions;
};

/// A candidate whose results were wrong, how, and what is in its place.
struct WrongCandidate {
  std::string kernel, candidate;
  std::string reason;
  std::string replacement; ///< a candidate, or "LibTorch"
  /// The digest of the kernel's text, by which other builds know it: its name
  /// may differ there.
  std::string digest;
};

/// Operators of the model, as LibTorch runs them: a model of their own.
struct LibTorchPart {
  /// The operators' positions in the frontend's trace: those that were asked
  /// for and what belongs to them.
  std::vector<int64_t> traceOps;
  /// One step, which is a fallback region. The symbols are the module's; which
  /// inputs they are read from is not set.
  ExecutablePlan plan;
  /// The plan's inputs that are constants of the model.
  std::set<int> weights;
  /// Makes the region.
  std::function<std::unique_ptr<FallbackRegion>()> makeRegion;
};

/// LibTorch's own operators as a way to run kernels: those that it runs faster
/// are left to it. The frontend, which has LibTorch, says how.
struct LibTorchOptions {
  /// The operators at these positions of the trace as a part, with those that
  /// belong to them but are in no other kernel (the second argument). An error
  /// says why they cannot be one. Null: kernels are not raced against LibTorch.
  std::function<absl::StatusOr<LibTorchPart>(absl::Span<const int64_t>,
                                             const std::set<int64_t> &)>
      makePart;
  /// Imports the trace again, with these operators left to LibTorch, for these
  /// reasons. The module is in the context of the first one and lives as long.
  std::function<absl::StatusOr<mlir::ModuleOp>(
      const std::map<int64_t, std::string> &)>
      importAgain;
  /// Makes the regions of a module, as its plan numbers them.
  std::function<absl::StatusOr<std::vector<std::unique_ptr<FallbackRegion>>>(
      mlir::ModuleOp)>
      makeRegions;
  /// The recorder by which regions become parts of CUDA graphs; null on the
  /// CPU.
  std::shared_ptr<cuda::RegionRecorder> recorder;
  /// The seconds that the race may take of any build; of a long one it may take
  /// a share.
  double leastSeconds = 0.5;
};

/// Paths of linear layers, each with a scheme of quantisation ("int8dq").
using LayersWithSchemes = std::set<std::pair<std::string, std::string>>;

/// What is known of a model's linear layers when they are quantised.
struct LayerKnowledge {
  /// Rows that a layer reads in a real call, float32 [rows, K], by the number
  /// of its weight in the pool; no entry: not known. The error of quantising it
  /// is measured on them.
  std::map<int64_t, ConstantTensor> inputs;
  /// Layers with schemes that they are not to have, because the model with them
  /// was further from eager than it may be.
  LayersWithSchemes dropped;
  /// Layers with schemes that they are not to have, because the whole model was
  /// no faster with them, and what it took; the compiler adds to these.
  std::map<std::pair<std::string, std::string>, std::string> slow;
  /// The numbers of weights that operators have too which LibTorch runs, and
  /// why it does. Their layers stay as they are: all uses of a layer are
  /// quantised alike or not at all.
  std::map<int64_t, std::string> elsewhere;
  /// The TorchScript class of each module, by its path; empty where the model
  /// does not tell.
  std::map<std::string, std::string> classes;
  /// The paths of all modules that hold the same tensor, in the order of the
  /// model, by the name of one's parameter `weight`.
  std::map<std::string, std::vector<std::string>> holders;
  /// The codes and scales that weights of a model that was saved quantised were
  /// made of, by their names ("fc.weight.codes", "fc.weight.scales").
  std::map<std::string, ConstantTensor> codes;
};

struct CompileOptions {
  /// The phase to stop after (aitune --compile-to).
  CompilePhase compileTo = CompilePhase::Executable;
  /// Whether to measure library and generated candidates and use the fastest.
  /// Otherwise a fixed order of preference decides.
  bool measureCandidates = true;
  /// Whether to round to the tensor's dtype after every operation, as eager
  /// does, instead of once at the end of a fused kernel.
  bool emulateEagerCasts = false;
  /// Whether an index out of range and a division of integers by 0 give an
  /// unspecified result (and read no memory outside of the tensor) instead of
  /// the error that eager raises.
  bool uncheckedIndices = false;
  /// Which layers to quantise and how, as quant::ParseQuantizationOptions
  /// (quant/options.h) reads it, such as "int8wo"; empty: none.
  std::string quantization;
  /// Whether a build is right as well in which the verdict leaves every layer
  /// alone: of further versions of a model, for sizes that calls ask for.
  bool mayQuantizeNone = false;
  LayerKnowledge layers;
  /// The device that runs the model: "cpu", or "cuda" or "cuda:N" for a GPU of
  /// this machine.
  std::string device = "cpu";
  /// The number of threads with which candidates are measured; 0: as many as
  /// LibTorch uses.
  int threads = 0;
  /// A directory for the IR after each phase, object code and one standalone
  /// benchmark for each kernel; empty: none.
  std::string dumpDirectory;
  /// The CPU to generate code for: "avx2", "avx512" or "amx"; empty: the host
  /// with all of its extensions.
  std::string target;
  /// Whether matmuls and convolutions of f32 may round their operands to tf32
  /// on a GPU; the defaults are eager's (torch.backends).
  bool tf32Matmul = false, tf32Convolution = true;
  TuningOptions tuning;
  GenerationOptions generation;
  AuditOptions audit;
  LibTorchOptions libtorch;
  /// What earlier builds found wrong and this one does not take. What it takes
  /// instead is in CompileResult::wrong.
  std::vector<WrongCandidate> leftOut;
  /// Called after a part of a phase with the phase's name, the number of parts
  /// that are done and the number of all parts. May be null.
  std::function<void(const std::string &, int, int)> progress;
};

/// A step that was not taken (a fusion, a schedule, a library), and why.
struct Rejection {
  std::string phase;   ///< "fusion" and so on
  std::string subject; ///< the operator, with its source location
  std::string reason;
};

/// One kernel candidate that was measured.
struct CandidateResult {
  std::string kernel;      ///< the kernel's name
  std::string candidate;   ///< the implementation's name and description
  double microseconds = 0; ///< median; negative if it failed or was wrong
  bool chosen = false;
  std::string note; ///< why it failed; empty otherwise
};

/// Kernels that LibTorch's own operators were faster than. It runs them.
struct LibTorchWin {
  /// Their names with a + between them, each behind the number of its launches
  /// where there are several: "64 x matmul_0+add_1".
  std::string kernels;
  std::vector<int64_t> traceOps; ///< positions in the trace, of all times
  int times = 0;                 ///< times that the model has them
  /// The kernels' and LibTorch's microseconds for one time.
  double microseconds = 0, libtorchMicroseconds = 0;
  /// The part of all kernels' time in a run that these took.
  double share = 0;
};

/// How the kernels that were measured were judged (compiler/reference).
struct ReferenceReport {
  /// Kernels that were compared with the reference, and those that have none.
  int judged = 0, withoutReference = 0;
  /// Elements of results that were computed, and of those the ones that only
  /// one value is right for.
  int64_t sampled = 0, known = 0;
  double seconds = 0; ///< the time that computing them took
};

/// A kernel whose schedules were searched.
struct TunedKernel {
  std::string kernel;   ///< the kernel's name
  std::string schedule; ///< the description of the best schedule
  int launches = 0;     ///< launches of the kernel in a run of the model
  int measured = 0;     ///< schedules that this search measured
  int known = 0;        ///< schedules whose time was in the database
  int failed = 0;       ///< schedules that could not be generated or were wrong
  /// The median of one launch with the default schedule and with the best one,
  /// in microseconds; negative if it was not measured.
  double defaultMicroseconds = -1, microseconds = -1;
};

struct TuningResult {
  std::vector<TunedKernel> kernels;
  /// The progress of the search: seconds since its start, and the tuned
  /// kernels' estimated milliseconds in one run of the model at that time.
  std::vector<std::pair<double, double>> curve;
  /// The number of kernels whose schedule came from the database without a
  /// search.
  int reused = 0;
  double seconds = 0; ///< the duration of the search
  /// Why the search ended early or could not start; empty otherwise.
  std::string note;
};

/// The machine code of one generated kernel. On the CPU an ELF relocatable
/// object that defines `symbol` (runtime/cpu/kernel_abi.h) and needs at
/// most libm; on a GPU a cubin that defines `symbol` and perhaps other kernels.
struct KernelObject {
  std::string symbol;
  std::string object; ///< the bytes of the file
};

/// A kernel for which no code generator made code. The caller can import the
/// trace again with the operators of the kernel run by LibTorch.
struct KernelFailure {
  std::string kernel; ///< the kernel's name
  std::string reason;
  /// The positions in the frontend's trace of the operators that the kernel was
  /// made of, from their locations.
  std::vector<int64_t> traceOps;
};

/// A linear layer that was quantised, or looked at and left alone.
struct QuantizedLayer {
  std::string layer;   ///< its module's path, "encoder.layer.0.output.dense"
  int64_t k = 0;       ///< elements of a row of its input
  int64_t n = 0;       ///< elements of a row of its result
  std::string scheme;  ///< the scheme that was asked for, such as "int8wo"
  std::string refusal; ///< why it was left alone; empty if it was quantised
  /// The ratio of signal to noise of the quantised weight, in decibels; 0 if
  /// the weight was not quantised.
  double weightSqnr = 0;
  /// The same of its results for LayerKnowledge::inputs, and the ratio that 99
  /// of 100 rows have at least; NaN: not measured.
  double sqnr = std::numeric_limits<double>::quiet_NaN(),
         lowSqnr = std::numeric_limits<double>::quiet_NaN();
  /// Microseconds of it, together with the layers that share its input, as it
  /// was and quantised; negative: not measured. For layers with equal sizes the
  /// same.
  double microseconds = -1, quantizedMicroseconds = -1;
};

struct CompileResult {
  ExecutablePlan plan;
  /// The objects of the generated kernels, each once, in the order of first
  /// use.
  std::vector<KernelObject> objects;
  /// Constants that the compiler made (merged, folded or quantised weights);
  /// the plan numbers them after the constants of the pool.
  std::vector<ConstantTensor> newConstants;
  /// With CompileOptions::quantization: every linear layer, in the graph's
  /// order.
  std::vector<QuantizedLayer> quantizedLayers;
  /// If this is not empty, `plan` could not be made and all other fields have
  /// no meaning.
  std::vector<KernelFailure> failures;
  /// With CompileOptions::compileTo before Executable: the IR of that phase.
  std::string ir;
  std::vector<Rejection> rejections;
  std::vector<CandidateResult> candidates;
  /// What was found wrong and is not in the plan.
  std::vector<WrongCandidate> wrong;
  /// What was left to LibTorch because it is faster.
  std::vector<LibTorchWin> libtorchWins;
  ReferenceReport reference;
  TuningResult tuning;
  int kernels = 0;       ///< launches of generated or library kernels
  int uniqueKernels = 0; ///< kernels, with identical ones counted once
  /// The name and the seconds of each phase, in order.
  std::vector<std::pair<std::string, double>> phaseSeconds;
};

/// How much this process has compiled so far. All numbers are zero in a process
/// that found everything in a cache.
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
/// failure of a pass (with its diagnostics), kFailedPrecondition where the
/// worker of options.generation is of another build. Not thread-safe for one
/// MLIRContext; separate contexts may compile at once. If `libtorchWins` is not
/// empty, the result is of the module that options.libtorch.importAgain gave.
absl::StatusOr<CompileResult>
compile(mlir::ModuleOp module, absl::Span<const ConstantTensor> constants,
        const CompileOptions &options);

} // namespace aitune

#endif // AITUNE_COMPILER_COMPILER_H
