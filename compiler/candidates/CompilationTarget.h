// The interface of a device to the compiler: which passes it needs, in which
// ways it can run a kernel, and how these are run against each other.
//
// The driver, the choice between candidates and the search of schedules know of
// a device only what is here. CpuTarget.cpp and CudaTarget.cpp implement it; a
// new device is one more implementation and a line in createTarget.
#ifndef AITUNE_COMPILER_CANDIDATES_COMPILATIONTARGET_H
#define AITUNE_COMPILER_CANDIDATES_COMPILATIONTARGET_H

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/candidates/LibraryCalls.h"
#include "compiler/measure/KernelJudge.h"
#include "compiler/measure/Measure.h"
#include "compiler/pipelines/DeviceFacts.h"
#include "compiler/plan/KernelImplementation.h"
#include "compiler/schedule/OtherAlgorithms.h"
#include "compiler/schedule/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/executable/executable.h"
#include "runtime/executable/fallback_region.h"
#include "llvm/ADT/ArrayRef.h"

namespace aitune {

/// A function for which code must be generated, and the purpose of the code.
struct CodeJob {
  enum class Purpose {
    Kernel,          ///< the kernel, with the schedule of its ait.config
    DefaultSchedule, ///< the kernel, with the schedule used without a search
    OtherAlgorithm,  ///< the kernel, with an algorithm that is not its default
    LibraryRest,     ///< the operations that a library leaves of a kernel
    CutPart,         ///< a part of a kernel that was cut in two
  };
  Purpose purpose;
  /// The position of the kernel to which the function belongs.
  size_t kernel;
  mlir::func::FuncOp function;
  /// The text of a module with this function alone (moduleText).
  std::string text;
};

/// The result of a job: ways to run its function, the most promising first, and
/// errors that say why others, or all, failed. Never empty.
using GeneratedCode = std::vector<absl::StatusOr<KernelImplementation>>;

/// One of several models that are run against each other.
struct RaceEntry {
  absl::StatusOr<ExecutablePlan> plan; ///< the model, or why there is none
  std::vector<KernelObject> objects;   ///< the code of the plan's kernels
};

/// Models that compute the same (candidates of a kernel, variants of a whole
/// model), run against each other.
class CandidateRace {
public:
  virtual ~CandidateRace() = default;
  /// Computes what the entries' results will be judged by, which `measure`
  /// otherwise does. Uses no device, so that other races may be measured
  /// meanwhile. Not thread-safe beside `measure` of this race.
  virtual void prepareJudgement() {}
  /// Does the part of `load` that takes none of the device's time, so that
  /// other entries may be measured meanwhile. Thread-safe for different
  /// numbers.
  virtual void prepareLoad(size_t) {}
  /// Makes entry `number` ready to run. Thread-safe for different numbers.
  virtual absl::Status load(size_t number) = 0;
  /// Sets in `candidate`, of which entry `number` was made, what loading it has
  /// prepared, so that the finished model's load need not do it again.
  virtual void keepPrepared(size_t, KernelImplementation &) const {}
  /// Frees the memory of entry `number`, if it is loaded.
  virtual void drop(size_t number) = 0;
  /// Judges the entries that are loaded, then runs them in turn for about
  /// `seconds` on the same random inputs. Returns one result for each entry, in
  /// order; that of an entry that is not loaded has neither a time nor a note.
  /// With 0 seconds nothing is timed on a CPU; a GPU times its least number of
  /// rounds (MeasureCuda.h). An error means that the measurement itself failed.
  virtual absl::StatusOr<std::vector<Measurement>> measure(double seconds) = 0;
  /// The judge of the entries' results; null for whole models.
  virtual const KernelJudge *judgement() const = 0;
};

/// A whole model to be timed.
struct ModelToTime {
  RaceEntry model;
  /// Its pool, which must live as long.
  absl::Span<const ConstantTensor> constants;
  /// What LibTorch runs of it, as the plan numbers them.
  std::vector<std::unique_ptr<FallbackRegion>> regions;
};

/// How models are timed against each other.
struct ModelTiming {
  double seconds = 0; ///< the time to spend on running them
  /// Whether constants come from memory at each run, as those of a larger model
  /// that no cache holds. For parts of models: there are at least fifteen
  /// rounds, and LibTorch may run nothing of them.
  bool coldConstants = false;
};

/// How a target's candidates are best compared.
struct RaceRules {
  /// The number of kernels whose candidates are loaded at the same time, and of
  /// threads that load them.
  size_t kernels = 1;
  int threads = 1;
  /// The numbers of threads on which what judges the next kernels, and what
  /// loading their late candidates needs, is prepared while the candidates of
  /// one are measured: 0 where that would disturb the measurement.
  int judgementThreads = 0, loadThreads = 0;
  /// The seconds to spend on measuring the candidates of one kernel.
  double seconds = 0;
  /// Whether a later candidate is taken only if it is clearly faster than an
  /// earlier one: by a few hundredths of its fastest run, or, where that is not
  /// known, than the lower bound of its confidence interval (Measurement).
  bool earlierWinsTies = false;
  /// Whether a candidate is taken only if it was run and its results were
  /// right, even if it is the only one.
  bool mustRun = false;
  /// Whether a kernel may have other candidates at the smaller sizes of a range
  /// than at the largest (AlternativeProto).
  bool choosesBySize = false;
};

/// Measures schedules of one kernel after the other. Not thread-safe.
class ScheduleMeasurer {
public:
  virtual ~ScheduleMeasurer() = default;
  /// Sets the kernel to measure. Both arguments must live until the next call
  /// of begin.
  virtual absl::Status begin(Kernel &kernel, const KernelSpace &space) = 0;
  /// Measures `schedules`, positions in the space, in turn for about `seconds`;
  /// generating them takes additional time. Returns one result for each, in
  /// order; that of a schedule that failed or was wrong has a note. After an
  /// error nothing can be measured any more.
  virtual absl::StatusOr<std::vector<Measurement>>
  measure(absl::Span<const size_t> schedules, double seconds) = 0;
};

/// The conditions under which measurements of the tuning database hold.
struct TuningMachine {
  /// The processor and all else by which the same code takes another time, such
  /// as the number of threads.
  std::string name;
  /// The name and version of the compiler that makes machine code of a kernel's
  /// schedule.
  std::string generator;
  /// The names and versions of the libraries, and of the driver if there is
  /// one.
  std::string libraries;
};

/// Calls of a model, one after the other. All memory is the host's, aligned to
/// 64 bytes.
struct ModelCalls {
  absl::StatusOr<ExecutablePlan> plan;
  std::vector<KernelObject> objects;
  /// What LibTorch runs of it, as the plan numbers them.
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  absl::Span<const TensorView> inputs;
  /// The results of each call.
  absl::Span<const std::vector<TensorView>> outputs;
  /// Where calls end after some of the steps (Executable::RunPart): how many.
  std::optional<int> steps;
  /// What is copied in each call, with `steps`.
  std::vector<std::vector<ValueCopy>> copies;
};

class CompilationTarget {
public:
  virtual ~CompilationTarget() = default;

  /// The value of the plan's field `device`.
  virtual std::string device() const = 0;

  /// What the passes of phase 1 (Pipelines.h) ask of the device.
  virtual DeviceFacts facts() const = 0;

  /// Finds the device. To be called once, before any of the functions below. An
  /// error says why there is no such device or why it cannot be used.
  virtual absl::Status open() = 0;
  /// Whether the device still works. After a fault of one candidate a GPU
  /// refuses all calls of the process.
  virtual absl::Status usable() const { return absl::OkStatus(); }
  virtual TuningMachine tuningMachine() const = 0;

  /// The rules of the libraries that may run `kernel`, in the order of their
  /// candidates. They live as long as the target.
  virtual std::vector<const LibraryRules *>
  libraries(mlir::func::FuncOp kernel) const = 0;

  /// Algorithms that are measured beside the default schedule of `kernel`.
  virtual std::vector<OtherAlgorithm>
  otherAlgorithms(mlir::func::FuncOp /*kernel*/) const {
    return {};
  }

  /// Generates code for each of `jobs`, on all threads; results in order.
  /// Meanwhile loads `libraries`, whose candidates will be measured next.
  virtual std::vector<GeneratedCode>
  generate(llvm::ArrayRef<CodeJob> jobs,
           llvm::ArrayRef<const LibraryRules *> libraries) = 0;

  virtual RaceRules raceRules() const = 0;
  /// A race of `entries`. Each is one launch of `kernel`, with the kernel's
  /// constants as constants and its other inputs as inputs; or a whole model,
  /// if `kernel` is null. `constants` is the pool. It and `kernel` must live as
  /// long as the race.
  virtual std::unique_ptr<CandidateRace>
  race(std::vector<RaceEntry> entries, const Kernel *kernel,
       absl::Span<const ConstantTensor> constants) const = 0;
  virtual absl::Status
  runModel(ModelCalls calls,
           absl::Span<const ConstantTensor> constants) const = 0;
  /// Runs `models`, which take the same inputs, in turn on random ones, as a
  /// program runs them (on a GPU as CUDA graphs). One result a model, in order;
  /// one that failed has a note. An error: none could be timed. Results are not
  /// compared.
  virtual absl::StatusOr<std::vector<Measurement>>
  timeModels(std::vector<ModelToTime> models,
             const ModelTiming &timing) const = 0;
  /// The time of a part that LibTorch runs, as one of a larger model, whose
  /// pool is `constants`: on a GPU, and on a CPU if the pool does not fit its
  /// caches, with weights that are not in the cache. An error: it does not run,
  /// or would keep the model from being one CUDA graph.
  virtual absl::StatusOr<Measurement>
  timePart(const LibTorchPart &part, absl::Span<const ConstantTensor> constants,
           double seconds) const = 0;
  /// Whether a whole model may be faster where its steps use one thread.
  virtual bool hasThreads() const = 0;

  /// The schedules that the kernel of `text` (moduleText) can be generated
  /// with, those of plug-ins included; an error says why it has none.
  virtual absl::StatusOr<KernelSpace>
  listSchedules(const std::string &text) const = 0;
  /// A measurer for kernels of `module`, whose pool is `constants`. Both must
  /// live as long as the measurer. An error says why nothing can be measured.
  virtual absl::StatusOr<std::unique_ptr<ScheduleMeasurer>>
  measureSchedules(mlir::ModuleOp module,
                   absl::Span<const ConstantTensor> constants) = 0;
};

/// An error if `target` no longer works (usable): that `culprit`, such as "a
/// candidate of kernel k", broke it, and what to do.
absl::Status checkUsable(const CompilationTarget &target,
                         const std::string &culprit);

/// The target that options.device names; kInvalidArgument for a name that no
/// device has. Does not open the device yet. `options` must live as long as the
/// target; `constantBytes` is the number of bytes of the model's weights.
absl::StatusOr<std::unique_ptr<CompilationTarget>>
createTarget(const CompileOptions &options, int64_t constantBytes);

/// kFailedPrecondition if the program options.generation.worker is of another
/// build than this one; ok where there is none that could be started. Waits for
/// its start.
absl::Status checkGenerator(const CompileOptions &options);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_COMPILATIONTARGET_H
