// The choice between a kernel's candidates on a GPU.

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "compiler/pipelines/CandidateChoice.h"
#include "compiler/pipelines/CudaCandidates.h"
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

/// Makes the constants inputs after the others, so that a measurement can give
/// other memory at each launch. What is packed or prepared at load stays.
void makeConstantsInputs(ait::LaunchOp launch,
                         const std::vector<int> &constants,
                         ExecutablePlan &plan) {
  const int first = plan.inputs_size();
  for (int index : constants)
    *plan.add_inputs() = typeOfConstant(launch, index);
  std::set<int> prepared;
  for (const Step &step : plan.initialization())
    prepared.insert(step.inputs().begin(), step.inputs().end());
  for (int i = 0; i < plan.values_size(); ++i) {
    ValueProto &value = *plan.mutable_values(i);
    if (value.storage() != ValueProto::CONSTANT ||
        value.packing().kind() != PackingProto::NONE || prepared.count(i))
      continue;
    const auto position =
        std::find(constants.begin(), constants.end(), value.index());
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

int chooseOne(Kernel &kernel, ModuleOp module, const cuda::Device &device,
              absl::Span<const ConstantTensor> constants, int threads,
              CompileResult &result) {
  ait::LaunchOp launch = kernel.launches.front();
  const std::string name = kernel.function.getSymName().str();
  const std::vector<int> weights = constantsOf(launch);
  func::FuncOp wrapper = wrapLaunch(module, launch);
  const int firstWeight = wrapper.getNumArguments();
  // Plans are built here, MLIR being single-threaded; loading, where cuDNN
  // compiles, is done by all threads.
  std::vector<absl::StatusOr<ExecutablePlan>> plans;
  for (const KernelImplementation &candidate : kernel.candidates) {
    llvm::StringMap<KernelImplementation> implementations;
    implementations[name] = candidate;
    plans.push_back(buildPlan(wrapper,
                              module->getAttrOfType<ArrayAttr>("ait.symbols"),
                              implementations));
    if (!plans.back().ok())
      continue;
    plans.back()->set_device("cuda");
    makeConstantsInputs(launch, weights, *plans.back());
  }
  wrapper.erase();
  std::vector<std::unique_ptr<cuda::CudaExecutable>> executables(plans.size());
  std::vector<std::string> notes(plans.size());
  std::atomic<size_t> next{0};
  auto load = [&] {
    for (size_t i = next++; i < plans.size(); i = next++) {
      Loaded loaded = plans[i].ok()
                          ? loadCandidate(device, *plans[i],
                                          kernel.candidates[i], constants)
                          : Loaded(plans[i].status());
      if (loaded.ok())
        executables[i] = *std::move(loaded);
      else
        notes[i] = std::string(loaded.status().message());
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads && static_cast<size_t>(i) < plans.size(); ++i)
    helpers.emplace_back(load);
  load();
  for (std::thread &helper : helpers)
    helper.join();

  auto measured = measureCudaCandidates(device, executables, firstWeight);
  int best = -1;
  for (size_t i = 0; i < plans.size(); ++i) {
    CandidateResult entry{name,
                          absl::StrCat(kernel.candidates[i].name, ": ",
                                       kernel.candidates[i].description),
                          -1, false, notes[i]};
    if (measured.ok() && executables[i]) {
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
  std::vector<int> choices;
  for (Kernel &kernel : kernels) {
    const bool used = !kernel.launches.empty() && !kernel.candidates.empty();
    choices.push_back(used ? chooseOne(kernel, module, device, constants,
                                       options.threads, result)
                           : -1);
    if (options.progress)
      options.progress("choosing candidates", static_cast<int>(choices.size()),
                       static_cast<int>(kernels.size()));
  }
  return choices;
}

} // namespace aitune
