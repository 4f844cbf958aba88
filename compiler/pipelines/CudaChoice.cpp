// The choice between a kernel's candidates on a GPU.

#include <algorithm>
#include <mutex>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/pipelines/CandidateChoice.h"
#include "compiler/pipelines/CudaCandidates.h"
#include "compiler/pipelines/Parallel.h"
#include "compiler/pipelines/PlanBuilder.h"
#include "compiler/tune/MeasureCuda.h"
#include "runtime/cuda/cuda_executable.h"

using namespace mlir;

namespace aitune {
namespace {

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
  return cuda::CudaExecutable::Load(device, std::move(plan), cubins,
                                    {constants.begin(), constants.end()}, {},
                                    options);
}

/// The candidates of one kernel, loaded as far as they can be.
struct Contest {
  Kernel *kernel;
  std::set<int> weights; // inputs that are one launch's own
  std::vector<absl::StatusOr<ExecutablePlan>> plans;
  std::vector<std::unique_ptr<cuda::CudaExecutable>> executables;
  std::vector<std::string> notes;
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
    contest.plans.back()->set_device("cuda");
    collectPrepared(*contest.plans.back(), prepared);
  }
  wrapper.erase();
  // What one candidate prepares is the real constant for all of them: they are
  // compared with each other.
  std::vector<int> weights = constantsOf(launch);
  llvm::erase_if(weights, [&](int index) { return prepared.count(index) > 0; });
  for (size_t i = 0; i < weights.size(); ++i)
    contest.weights.insert(argument + static_cast<int>(i));
  for (absl::StatusOr<ExecutablePlan> &plan : contest.plans)
    if (plan.ok())
      makeConstantsInputs(launch, weights, *plan);
  contest.executables.resize(contest.plans.size());
  contest.notes.resize(contest.plans.size());
  return contest;
}

int decide(Contest &contest, const cuda::Device &device,
           CompileResult &result) {
  Kernel &kernel = *contest.kernel;
  const std::string name = kernel.function.getSymName().str();
  auto measured =
      measureCudaCandidates(device, contest.executables, contest.weights);
  int best = -1;
  for (size_t i = 0; i < contest.plans.size(); ++i) {
    CandidateResult entry{name,
                          absl::StrCat(kernel.candidates[i].name, ": ",
                                       kernel.candidates[i].description),
                          -1, false, contest.notes[i]};
    if (measured.ok() && contest.executables[i]) {
      entry.microseconds = (*measured)[i].microseconds;
      entry.note = (*measured)[i].note;
    } else if (!measured.ok()) {
      entry.note = std::string(measured.status().message());
    }
    // An algorithm beyond the end of a library's list is none.
    if (entry.microseconds < 0 &&
        entry.note.find("algorithms, not ") != std::string::npos)
      continue;
    if (entry.microseconds >= 0 &&
        (best < 0 || entry.microseconds < (*measured)[best].microseconds))
      best = static_cast<int>(i);
    if (entry.microseconds < 0)
      kernel.generatedFailure = entry.note;
    result.candidates.push_back(std::move(entry));
  }
  if (best >= 0) {
    const std::string chosen =
        absl::StrCat(kernel.candidates[best].name, ": ",
                     kernel.candidates[best].description);
    for (CandidateResult &entry : result.candidates)
      if (entry.kernel == name && entry.candidate == chosen)
        entry.chosen = true;
  }
  return best;
}

} // namespace

std::vector<int> chooseCudaCandidates(
    MutableArrayRef<Kernel> kernels, ModuleOp module,
    const cuda::Device &device, absl::Span<const ConstantTensor> constants,
    const CudaCandidateOptions &options, CompileResult &result) {
  // Plans are built here, MLIR being single-threaded; loading, where cuDNN
  // compiles, is done by all threads for all kernels.
  std::vector<Contest> contests;
  std::vector<int> contestOf(kernels.size(), -1);
  std::vector<std::pair<Contest *, size_t>> work;
  for (auto [index, kernel] : llvm::enumerate(kernels))
    if (!kernel.launches.empty() && !kernel.candidates.empty()) {
      contestOf[index] = static_cast<int>(contests.size());
      contests.push_back(makeContest(kernel, module));
    }
  for (Contest &contest : contests)
    for (size_t i = 0; i < contest.plans.size(); ++i)
      work.emplace_back(&contest, i);
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
      contest->notes[i] = std::string(loaded.status().message());
    std::lock_guard<std::mutex> lock(progressMutex);
    if (options.progress)
      options.progress("loading candidates", ++done,
                       static_cast<int>(work.size()));
  });
  std::vector<int> choices;
  for (int number : contestOf) {
    choices.push_back(number < 0 ? -1
                                 : decide(contests[number], device, result));
    if (number >= 0)
      contests[number].executables.clear();
    if (options.progress)
      options.progress("choosing candidates", static_cast<int>(choices.size()),
                       static_cast<int>(kernels.size()));
  }
  return choices;
}

} // namespace aitune
