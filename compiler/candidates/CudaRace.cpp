#include "compiler/candidates/CudaRace.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/candidates/JudgeKernel.h"
#include "compiler/candidates/LaunchModel.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/measure/MeasureCuda.h"
#include "compiler/measure/RaceInputs.h"
#include "compiler/plan/PlanBuilder.h"
#include "runtime/cuda/cuda_executable.h"
#include "runtime/status/status_macros.h"

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

class CudaRace : public CandidateRace {
public:
  CudaRace(const cuda::Device &device, std::vector<RaceEntry> entries,
           const Kernel *kernel, absl::Span<const ConstantTensor> constants,
           const ReferenceOptions &reference, ConvolutionPlanner &planner)
      : device(device), entries(std::move(entries)), constants(constants),
        planner(planner), planned(this->entries.size()),
        executables(this->entries.size()) {
    for (RaceEntry &entry : this->entries)
      if (entry.plan.ok())
        entry.plan->set_device("cuda");
    if (kernel)
      findWeights(*kernel, reference);
  }

  void prepareJudgement() override {
    const auto any =
        llvm::find_if(entries, [](const RaceEntry &e) { return e.plan.ok(); });
    if (judge && any != entries.end())
      prepareAll(*judge, *any->plan, weights);
  }

  void prepareLoad(size_t number) override {
    if (entries[number].plan.ok() && !planned[number])
      planned[number] = planner.planAll(*entries[number].plan);
  }

  absl::Status load(size_t number) override {
    prepareLoad(number);
    if (planned[number])
      AITUNE_RETURN_IF_ERROR(*planned[number]);
    AITUNE_ASSIGN_OR_RETURN(executables[number],
                            loadToRecord(device, entries[number], constants));
    return absl::OkStatus();
  }

  void keepPrepared(size_t number,
                    KernelImplementation &candidate) const override;

  void drop(size_t number) override { executables[number].reset(); }

  absl::StatusOr<std::vector<Measurement>> measure(double seconds) override {
    return measureCudaCandidates(device, executables, weights, seconds,
                                 judge.get());
  }

  const KernelJudge *judgement() const override { return judge.get(); }

private:
  void findWeights(const Kernel &kernel, const ReferenceOptions &reference);

  const cuda::Device &device;
  std::vector<RaceEntry> entries;
  const absl::Span<const ConstantTensor> constants;
  ConvolutionPlanner &planner;
  /// The result of planning each entry; none before.
  std::vector<std::optional<absl::Status>> planned;
  std::unique_ptr<KernelJudge> judge; ///< null: whole models
  std::set<int> weights;              ///< inputs that are one launch's own
  std::vector<std::unique_ptr<cuda::CudaExecutable>> executables;
};

/// The one convolution of a candidate is the one of its entry.
void CudaRace::keepPrepared(size_t number,
                            KernelImplementation &candidate) const {
  if (!entries[number].plan.ok())
    return;
  for (const Step &planned : entries[number].plan->steps())
    for (ImplementationStep &step : candidate.steps)
      if (planned.has_convolution() && step.call.has_convolution())
        *step.call.mutable_convolution()->mutable_execution_plans() =
            planned.convolution().execution_plans();
}

void CudaRace::findWeights(const Kernel &kernel,
                           const ReferenceOptions &reference) {
  ait::LaunchOp launch = kernel.launches.front();
  func::FuncOp function = kernel.function;
  int argument = 0;
  for (auto [number, input] : llvm::enumerate(launch.getInputs()))
    if (!isOfPool(input)) {
      if (ait::getKnownAt(function, number) == ait::KnownAt::Initialization)
        weights.insert(argument);
      ++argument;
    }
  // What one candidate prepares is the real constant for all of them: they are
  // compared with each other.
  std::set<int> prepared;
  for (const RaceEntry &entry : entries)
    if (entry.plan.ok())
      collectPrepared(*entry.plan, prepared);
  std::vector<int> streamed = constantsOf(launch);
  llvm::erase_if(streamed,
                 [&](int index) { return prepared.count(index) > 0; });
  int first = 0;
  for (RaceEntry &entry : entries) {
    if (!entry.plan.ok())
      continue;
    first = entry.plan->inputs_size();
    // The same inputs in every candidate's plan.
    for (size_t i = 0; i < streamed.size(); ++i)
      weights.insert(entry.plan->inputs_size() + static_cast<int>(i));
    makeConstantsInputs(launch, streamed, *entry.plan);
  }
  judge = judgeOf(kernel, constants, reference, {std::move(streamed), first});
}

} // namespace

absl::StatusOr<std::unique_ptr<cuda::CudaExecutable>>
loadToRecord(const cuda::Device &device, const RaceEntry &entry,
             absl::Span<const ConstantTensor> constants) {
  if (!entry.plan.ok())
    return entry.plan.status();
  std::vector<std::string> cubins;
  for (const KernelObject &object : entry.objects)
    cubins.push_back(object.object);
  cuda::CudaExecutable::Options options;
  options.graphs = false;
  options.next = cuda::AfterCall::kSameCall;
  options.algorithms = cuda::Algorithms::kAsked;
  return cuda::CudaExecutable::Load(device, *entry.plan, cubins,
                                    {constants.begin(), constants.end()}, {},
                                    options);
}

std::unique_ptr<CandidateRace>
raceOnCuda(const cuda::Device &device, std::vector<RaceEntry> entries,
           const Kernel *kernel, absl::Span<const ConstantTensor> constants,
           const ReferenceOptions &reference, ConvolutionPlanner &planner) {
  return std::make_unique<CudaRace>(device, std::move(entries), kernel,
                                    constants, reference, planner);
}

absl::Status runModelOnCuda(const cuda::Device &device, ModelCalls calls,
                            absl::Span<const ConstantTensor> constants) {
  if (!calls.plan.ok())
    return calls.plan.status();
  AITUNE_RETURN_IF_ERROR(device.MakeCurrent());
  std::vector<std::string> cubins;
  for (const KernelObject &object : calls.objects)
    cubins.push_back(object.object);
  cuda::CudaExecutable::Options options;
  options.graphs = false;
  AITUNE_ASSIGN_OR_RETURN(
      auto executable,
      cuda::CudaExecutable::Load(device, *std::move(calls.plan), cubins,
                                 {constants.begin(), constants.end()},
                                 std::move(calls.regions), options));
  AITUNE_ASSIGN_OR_RETURN(cuda::Stream stream, cuda::Stream::Create(device));
  std::vector<cuda::DeviceBuffer> memory;
  auto onDevice = [&](TensorView view) -> absl::StatusOr<TensorView> {
    AITUNE_ASSIGN_OR_RETURN(cuda::DeviceBuffer buffer,
                            cuda::DeviceBuffer::Allocate(
                                device, std::max<int64_t>(256, BytesOf(view))));
    view.data = buffer.data();
    memory.push_back(std::move(buffer));
    return view;
  };
  std::vector<TensorView> given;
  for (const TensorView &input : calls.inputs) {
    AITUNE_ASSIGN_OR_RETURN(given.emplace_back(), onDevice(input));
    AITUNE_RETURN_IF_ERROR(device.driver().Check(
        device.driver().cuMemcpyHtoDAsync(
            reinterpret_cast<CUdeviceptr>(given.back().data), input.data,
            BytesOf(input), stream.get()),
        "copying an input"));
  }
  std::vector<RegionValue> values;
  for (const TensorView &result : calls.outputs.front()) {
    AITUNE_ASSIGN_OR_RETURN(values.emplace_back(), onDevice(result));
  }
  for (auto [call, results] : llvm::enumerate(calls.outputs)) {
    executable->PoisonMemory(stream.get());
    if (calls.steps) {
      AITUNE_RETURN_IF_ERROR(
          executable->RunPart(given, absl::MakeSpan(values), *calls.steps,
                              calls.copies[call], stream.get()));
      continue;
    }
    AITUNE_RETURN_IF_ERROR(
        executable->Run(given, absl::MakeSpan(values), stream.get()));
    AITUNE_RETURN_IF_ERROR(stream.Synchronize());
    for (size_t i = 0; i < results.size(); ++i)
      AITUNE_RETURN_IF_ERROR(
          device.driver().Check(device.driver().cuMemcpyDtoH(
                                    results[i].data,
                                    reinterpret_cast<CUdeviceptr>(
                                        std::get<TensorView>(values[i]).data),
                                    BytesOf(results[i])),
                                "copying a result"));
  }
  return absl::OkStatus();
}

} // namespace aitune
