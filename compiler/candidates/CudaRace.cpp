// The choice between a kernel's candidates on a GPU.

#include <algorithm>
#include <mutex>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CudaCandidates.h"
#include "compiler/measure/MeasureCuda.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/support/Parallel.h"
#include "runtime/cuda/cuda_executable.h"

using namespace mlir;

namespace aitune {
namespace {

/// Microseconds that no convolution of cuDNN was seen to stay below, on an
/// H200: a kernel of ours that does is not compared with them.
constexpr double kLeastConvolution = 2.2;

/// The constants that `launch` reads, each once.
std::vector<int> constantsOf(ait::LaunchOp launch) {
  std::set<int> indices;
  for (Value input : launch.getInputs())
    if (auto constant = input.getDefiningOp<ait::ConstantOp>())
      indices.insert(static_cast<int>(constant.getIndex()));
  return {indices.begin(), indices.end()};
}

TensorTypeProto typeOfConstant(ait::LaunchOp launch, int index) {
  for (Value input : launch.getInputs())
    if (auto constant = input.getDefiningOp<ait::ConstantOp>();
        constant && static_cast<int>(constant.getIndex()) == index)
      return toProto(cast<RankedTensorType>(constant.getType()));
  return {};
}

/// The constants that `plan` packs or prepares at load.
void collectPrepared(const ExecutablePlan &plan, std::set<int> &constants) {
  auto add = [&](int value) {
    if (plan.values(value).storage() == ValueProto::CONSTANT)
      constants.insert(plan.values(value).index());
  };
  for (const Step &step : plan.initialization())
    for (int input : step.inputs())
      add(input);
  for (int i = 0; i < plan.values_size(); ++i)
    if (plan.values(i).packing().kind() != PackingProto::NONE)
      add(i);
}

/// Makes the constants inputs after the others, so that a measurement can give
/// other memory at each launch.
void makeConstantsInputs(ait::LaunchOp launch,
                         const std::vector<int> &constants,
                         ExecutablePlan &plan) {
  const int first = plan.inputs_size();
  for (int index : constants)
    *plan.add_inputs() = typeOfConstant(launch, index);
  for (ValueProto &value : *plan.mutable_values()) {
    const auto position =
        std::find(constants.begin(), constants.end(), value.index());
    if (value.storage() != ValueProto::CONSTANT || position == constants.end())
      continue;
    value.set_storage(ValueProto::INPUT);
    value.set_index(first + static_cast<int>(position - constants.begin()));
  }
}

using Loaded = absl::StatusOr<std::unique_ptr<cuda::CudaExecutable>>;

Loaded loadCandidate(const cuda::Device &device, ExecutablePlan plan,
                     const KernelImplementation &candidate,
                     absl::Span<const ConstantTensor> constants) {
  std::vector<std::string> cubins;
  for (const KernelObject &object : candidate.objects)
    cubins.push_back(object.object);
  cuda::CudaExecutable::Options options;
  options.graphs = false;
  options.next = cuda::AfterCall::kSameCall;
  return cuda::CudaExecutable::Load(device, std::move(plan), cubins,
                                    {constants.begin(), constants.end()}, {},
                                    options);
}

/// The candidates of one kernel, loaded as far as they can be, and what came of
/// them.
struct Contest {
  Kernel *kernel;
  std::set<int> weights; // inputs that are one launch's own
  std::vector<absl::StatusOr<ExecutablePlan>> plans;
  std::vector<std::unique_ptr<cuda::CudaExecutable>> executables;
  std::vector<Measurement> results;
};

Contest makeContest(Kernel &kernel, ModuleOp module) {
  ait::LaunchOp launch = kernel.launches.front();
  Contest contest{&kernel, {}, {}, {}, {}};
  func::FuncOp wrapper = wrapLaunch(module, launch);
  int argument = 0;
  for (auto [number, input] : llvm::enumerate(launch.getInputs()))
    if (!input.getDefiningOp<ait::ConstantOp>()) {
      if (kernel.function.getArgAttr(number, "ait.initialized"))
        contest.weights.insert(argument);
      ++argument;
    }
  std::set<int> prepared;
  for (const KernelImplementation &candidate : kernel.candidates) {
    llvm::StringMap<KernelImplementation> implementations;
    implementations[launch.getKernel()] = candidate;
    contest.plans.push_back(
        buildPlan(wrapper, module->getAttrOfType<ArrayAttr>("ait.symbols"),
                  implementations));
    if (!contest.plans.back().ok())
      continue;
    readSymbolsFromInputs(*contest.plans.back());
    contest.plans.back()->set_device("cuda");
    contest.plans.back()->set_ignores_checks(true);
    collectPrepared(*contest.plans.back(), prepared);
  }
  wrapper.erase();
  // What one candidate prepares is the real constant for all of them: they are
  // compared with each other.
  std::vector<int> weights = constantsOf(launch);
  llvm::erase_if(weights, [&](int index) { return prepared.count(index) > 0; });
  for (absl::StatusOr<ExecutablePlan> &plan : contest.plans) {
    if (!plan.ok())
      continue;
    // The same inputs in every candidate's plan.
    for (size_t i = 0; i < weights.size(); ++i)
      contest.weights.insert(plan->inputs_size() + static_cast<int>(i));
    makeConstantsInputs(launch, weights, *plan);
  }
  contest.executables.resize(contest.plans.size());
  contest.results.resize(contest.plans.size());
  return contest;
}

bool isConvolutionCall(const KernelImplementation &candidate) {
  return llvm::any_of(candidate.steps, [](const ImplementationStep &step) {
    return step.call.has_convolution();
  });
}

/// Positions of candidates.
using Work = std::vector<std::pair<Contest *, size_t>>;

/// Loads candidates, where cuDNN compiles, on all threads.
void load(const Work &work, const cuda::Device &device,
          absl::Span<const ConstantTensor> constants,
          const CudaCandidateOptions &options) {
  std::mutex progressMutex;
  int done = 0;
  inParallel(work.size(), options.threads, [&](size_t w) {
    auto [contest, i] = work[w];
    Loaded loaded =
        contest->plans[i].ok()
            ? loadCandidate(device, *contest->plans[i],
                            contest->kernel->candidates[i], constants)
            : Loaded(contest->plans[i].status());
    if (loaded.ok())
      contest->executables[i] = *std::move(loaded);
    else
      contest->results[i].note = std::string(loaded.status().message());
    std::lock_guard<std::mutex> lock(progressMutex);
    if (options.progress)
      options.progress("loading candidates", ++done,
                       static_cast<int>(work.size()));
  });
}

/// Measures what is loaded.
void measure(Contest &contest, const cuda::Device &device) {
  auto measured =
      measureCudaCandidates(device, contest.executables, contest.weights);
  for (size_t i = 0; i < contest.executables.size(); ++i)
    if (contest.executables[i]) {
      if (measured.ok())
        contest.results[i] = (*measured)[i];
      else
        contest.results[i].note = std::string(measured.status().message());
    }
}

/// Loads and measures cuDNN's candidates beside the best of the others, for the
/// kernels where they may be faster.
void tryConvolutionCalls(std::vector<Contest> &contests,
                         const cuda::Device &device,
                         absl::Span<const ConstantTensor> constants,
                         const CudaCandidateOptions &options) {
  Work work;
  std::vector<Contest *> open;
  for (Contest &contest : contests) {
    const bool isOpen = mayLoseToCudnn(contest.results);
    const size_t before = work.size();
    for (size_t i = 0; i < contest.plans.size(); ++i) {
      if (!isConvolutionCall(contest.kernel->candidates[i]))
        continue;
      if (isOpen)
        work.emplace_back(&contest, i);
      else
        contest.results[i].note = "not measured: no convolution of cuDNN takes "
                                  "as little as a kernel of ours";
    }
    if (work.size() > before)
      open.push_back(&contest);
    else
      contest.executables.clear();
  }
  load(work, device, constants, options);
  for (auto [index, contest] : llvm::enumerate(open)) {
    measure(*contest, device);
    contest->executables.clear();
    if (options.progress)
      options.progress("choosing candidates", static_cast<int>(index) + 1,
                       static_cast<int>(open.size()));
  }
}

/// The choice, which is reported.
int decide(const Contest &contest, CompileResult &result) {
  Kernel &kernel = *contest.kernel;
  const int best = fastest(contest.results);
  for (size_t i = 0; i < contest.results.size(); ++i) {
    const Measurement &measured = contest.results[i];
    // An algorithm beyond the end of a library's list is none.
    if (measured.microseconds < 0 &&
        measured.note.find("algorithms, not ") != std::string::npos)
      continue;
    if (best < 0)
      kernel.generatedFailure = measured.note;
    result.candidates.push_back({kernel.function.getSymName().str(),
                                 absl::StrCat(kernel.candidates[i].name, ": ",
                                              kernel.candidates[i].description),
                                 measured.microseconds,
                                 static_cast<int>(i) == best, measured.note});
  }
  return best;
}

} // namespace

int fastest(absl::Span<const Measurement> measured) {
  int best = -1;
  for (size_t i = 0; i < measured.size(); ++i)
    if (measured[i].microseconds >= 0 &&
        (best < 0 || measured[i].microseconds < measured[best].microseconds))
      best = static_cast<int>(i);
  return best;
}

bool mayLoseToCudnn(absl::Span<const Measurement> measured) {
  const int best = fastest(measured);
  return best < 0 || measured[best].microseconds > kLeastConvolution;
}

std::vector<int> chooseCudaCandidates(
    MutableArrayRef<Kernel> kernels, ModuleOp module,
    const cuda::Device &device, absl::Span<const ConstantTensor> constants,
    const CudaCandidateOptions &options, CompileResult &result) {
  // Plans are built here, MLIR being single-threaded.
  std::vector<Contest> contests;
  std::vector<int> contestOf(kernels.size(), -1);
  for (auto [index, kernel] : llvm::enumerate(kernels))
    if (!kernel.launches.empty() && !kernel.candidates.empty()) {
      contestOf[index] = static_cast<int>(contests.size());
      contests.push_back(makeContest(kernel, module));
    }
  Work work;
  for (Contest &contest : contests)
    for (size_t i = 0; i < contest.plans.size(); ++i)
      if (!isConvolutionCall(contest.kernel->candidates[i]))
        work.emplace_back(&contest, i);
  load(work, device, constants, options);
  for (auto [index, contest] : llvm::enumerate(contests)) {
    measure(contest, device);
    // Only the best meets cuDNN's.
    const int best = fastest(contest.results);
    for (size_t i = 0; i < contest.executables.size(); ++i)
      if (static_cast<int>(i) != best)
        contest.executables[i].reset();
    if (options.progress)
      options.progress("choosing candidates", static_cast<int>(index) + 1,
                       static_cast<int>(contests.size()));
  }
  tryConvolutionCalls(contests, device, constants, options);
  std::vector<int> choices;
  for (int number : contestOf)
    choices.push_back(number < 0 ? -1 : decide(contests[number], result));
  return choices;
}

} // namespace aitune
