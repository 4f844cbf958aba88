// What the compiler asks of a device: its passes, its ways to run a kernel, and
// how those are run against each other.
//
// The driver, the choice between candidates and the search of schedules are
// written against this interface alone. A new device is one implementation of
// it (CpuTarget.cpp, CudaTarget.cpp) and a line in createTarget.
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
#include "compiler/pipelines/Pipelines.h"
#include "compiler/plan/KernelImplementation.h"
#include "compiler/schedule/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/executable/executable.h"
#include "runtime/executable/fallback_region.h"
#include "llvm/ADT/ArrayRef.h"

namespace aitune {

/// A function that code is wanted for, and what the code is for.
struct CodeJob {
  enum class Purpose {
    Kernel,          ///< the kernel, with the schedule of its ait.config
    DefaultSchedule, ///< the same with the schedule taken without a search
    LibraryRest,     ///< what a library leaves of a kernel
    CutPart,         ///< a part of a kernel that was cut in two
  };
  Purpose purpose;
  /// Position of the kernel that it belongs to.
  size_t kernel;
  mlir::func::FuncOp function;
  /// The function as a module of its own (moduleText).
  std::string text;
};

/// What came of a job: ways to run its function, best guess first, and errors
/// that say why one failed, or all. Never empty.
using GeneratedCode = std::vector<absl::StatusOr<KernelImplementation>>;

/// One of several models to be run against each other, or why there is none.
struct RaceEntry {
  absl::StatusOr<ExecutablePlan> plan;
  std::vector<KernelObject> objects;
};

/// A whole model and the pool that its plan refers to.
struct TimedModel {
  RaceEntry model;
  absl::Span<const ConstantTensor> constants;
};

/// Models that compute the same (candidates of a kernel, variants of a whole
/// model), run against each other.
class CandidateRace {
public:
  virtual ~CandidateRace() = default;
  /// Makes entry `number` ready to run. Thread-safe for different numbers.
  virtual absl::Status load(size_t number) = 0;
  /// Frees what `load` made, if it did.
  virtual void drop(size_t number) = 0;
  /// Runs all that are loaded in turn for about `seconds`, on the same random
  /// inputs. One result an entry, in order; one that is not loaded has none
  /// (not measured, no note). An error: the measurement itself failed.
  /// With 0 seconds, each is judged alone and nothing is timed.
  virtual absl::StatusOr<std::vector<Measurement>> measure(double seconds) = 0;
  /// What they are judged by; null for whole models.
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

/// How a target's candidates are best compared.
struct RaceRules {
  /// Kernels whose candidates are loaded at the same time, and threads that
  /// load them.
  size_t kernels = 1;
  int threads = 1;
  /// Seconds to spend on measuring the candidates of one kernel.
  double seconds = 0;
  /// A later candidate must be faster than the confidence interval that an
  /// earlier one's median lies in.
  bool earlierWinsTies = false;
  /// No candidate is taken that was not run and right, not even the only one.
  bool mustRun = false;
};

/// Measures schedules of one kernel after the other. Not thread-safe.
class ScheduleMeasurer {
public:
  virtual ~ScheduleMeasurer() = default;
  /// The kernel that is measured from here on; both must live as long.
  virtual absl::Status begin(Kernel &kernel, const KernelSpace &space) = 0;
  /// Measures `schedules` of the space in turn for about `seconds`, generating
  /// them not counted. One result a schedule, in order; one that failed or was
  /// wrong has a note. An error: nothing can be measured any more.
  virtual absl::StatusOr<std::vector<Measurement>>
  measure(absl::Span<const size_t> schedules, double seconds) = 0;
};

/// What measurements hold for.
struct TuningMachine {
  /// The machine: what makes the same code take another time.
  std::string name;
  /// What turns a kernel's schedule into machine code, with its version.
  std::string generator;
  /// The libraries and the driver that run what is not generated, with their
  /// versions.
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
  /// By call: its results.
  absl::Span<const std::vector<TensorView>> outputs;
  /// Where calls end after some of the steps (Executable::RunPart): how many.
  std::optional<int> steps;
  /// By call, with `steps`: what is copied then.
  std::vector<std::vector<ValueCopy>> copies;
};

class CompilationTarget {
public:
  virtual ~CompilationTarget() = default;

  /// What the plan's `device` says.
  virtual std::string device() const = 0;

  /// Adds phase 1 (Pipelines.h) as this device wants it.
  virtual void addTransformPasses(mlir::OpPassManager &passManager,
                                  TransformOptions options) const = 0;

  /// Finds the machine. Called once, before any of the functions below.
  virtual absl::Status open() = 0;
  virtual TuningMachine tuningMachine() const = 0;

  /// The libraries that may run `kernel`, in the order of their candidates.
  virtual std::vector<const LibraryRules *>
  libraries(mlir::func::FuncOp kernel) const = 0;

  /// Code for each of `jobs`, in order, on all threads. What the `libraries`,
  /// whose calls will be measured beside, load at their first call is loaded
  /// meanwhile.
  virtual std::vector<GeneratedCode>
  generate(llvm::ArrayRef<CodeJob> jobs,
           llvm::ArrayRef<const LibraryRules *> libraries) = 0;

  virtual RaceRules raceRules() const = 0;
  /// `entries` are launches of `kernel` alone, with its constants as constants
  /// and its other inputs as inputs, or whole models where it is null.
  /// `constants` is the pool; it must live as long as the race.
  virtual std::unique_ptr<CandidateRace>
  race(std::vector<RaceEntry> entries, const Kernel *kernel,
       absl::Span<const ConstantTensor> constants) const = 0;
  virtual absl::Status
  runModel(ModelCalls calls,
           absl::Span<const ConstantTensor> constants) const = 0;
  /// Times models with inputs and outputs of the same static types and
  /// constants of their own against each other for about `seconds` and at least
  /// fifteen rounds; the constants come from memory, as those of a model that
  /// no cache holds. One result a model, in order; a model that can't be loaded
  /// is an error. Results are not compared.
  virtual absl::StatusOr<std::vector<Measurement>>
  timeLayers(absl::Span<const TimedModel> models, double seconds) const = 0;
  /// Runs `models`, which take the same inputs, in turn on random ones for
  /// about `seconds`, as a program runs them (on a GPU as CUDA graphs). One
  /// result a model, in order; one that failed has a note. An error: none could
  /// be timed.
  virtual absl::StatusOr<std::vector<Measurement>>
  timeModels(std::vector<ModelToTime> models, double seconds) const = 0;
  /// The time of a part that LibTorch runs, as one of a larger model: on a GPU
  /// with weights that are not in the cache. An error: it does not run, or
  /// would keep the model from being one CUDA graph.
  virtual absl::StatusOr<Measurement> timePart(const LibTorchPart &part,
                                               double seconds) const = 0;
  /// Whether a whole model may be faster where its steps use one thread.
  virtual bool hasThreads() const = 0;

  /// The schedules that the kernel of `text` (moduleText) can be generated
  /// with, those of plug-ins included; an error says why it has none.
  virtual absl::StatusOr<KernelSpace>
  listSchedules(const std::string &text) const = 0;
  /// `module` holds the kernels that will be measured.
  virtual absl::StatusOr<std::unique_ptr<ScheduleMeasurer>>
  measureSchedules(mlir::ModuleOp module,
                   absl::Span<const ConstantTensor> constants) = 0;
};

/// The target that options.device names; kInvalidArgument for one that there
/// is none of. Touches no device yet. `options` must live as long;
/// `constantBytes` is the size of the model's weights.
absl::StatusOr<std::unique_ptr<CompilationTarget>>
createTarget(const CompileOptions &options, int64_t constantBytes);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_COMPILATIONTARGET_H
