#include "compiler/candidates/TimeCudaModels.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "compiler/candidates/CudaRace.h"
#include "compiler/measure/TestData.h"
#include "compiler/measure/TimeCudaCopies.h"
#include "compiler/plan/PlanBuilder.h"
#include "runtime/cuda/cuda_executable.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

/// The number of random elements that are made; longer tensors repeat them.
constexpr int64_t kRandomElements = 1 << 18;
/// Times that a part is run in one graph: so few that the time to launch the
/// graph is not seen, and at most so many, for weights that are to be read from
/// memory.
constexpr int kFewestSteps = 8, kMostSteps = 64;
/// Bytes of weights that stay in the cache in a model too.
constexpr int64_t kSmallWeights = 256 << 10;
/// Microseconds that one timing should take at least.
constexpr double kTimedMicroseconds = 200;
constexpr int kMostCalls = 64, kFewestRounds = 5, kMostRounds = 100;

bool isOpaque(const ValueProto &value) {
  return value.storage() == ValueProto::OPAQUE;
}

/// Why a plan cannot be run on made-up numbers; OK if it can.
absl::Status checkTimeable(const ExecutablePlan &plan) {
  for (const Step &step : plan.steps()) {
    if (!step.has_fallback())
      continue;
    for (int input : step.inputs()) {
      const ValueProto &value = plan.values(input);
      const auto dtype = static_cast<DataType>(value.type().dtype());
      if (isOpaque(value) ||
          (!IsFloatingPoint(dtype) && dtype != DataType::kBool))
        return absl::UnimplementedError(
            absl::StrCat("LibTorch's ", step.fallback().operator_(),
                         " reads numbers that cannot be made up"));
    }
  }
  for (int output : plan.output_values())
    if (isOpaque(plan.values(output)))
      return absl::UnimplementedError("a result is no tensor");
  return absl::OkStatus();
}

/// Models of the same inputs, on the stream that LibTorch uses unless it is
/// told otherwise.
class CudaModelTimer {
public:
  explicit CudaModelTimer(const cuda::Device &device) : device(device) {}

  absl::Status prepare(const ExecutablePlan &plan);
  absl::Status run(const cuda::CudaExecutable &model);
  /// Microseconds of one of `calls` runs.
  absl::StatusOr<double> time(const cuda::CudaExecutable &model, int calls);

private:
  absl::StatusOr<TensorView> allocate(const TensorTypeProto &type,
                                      const std::vector<int64_t> &symbols);
  absl::Status fill(const TensorView &view);

  const cuda::Device &device;
  const CUstream stream = nullptr;
  std::vector<cuda::DeviceBuffer> memory;
  std::vector<TensorView> inputs;
  std::vector<RegionValue> outputs;
  std::map<DataType, std::string> random; ///< what inputs are filled with
  cuda::Event start, end;
};

absl::StatusOr<TensorView>
CudaModelTimer::allocate(const TensorTypeProto &type,
                         const std::vector<int64_t> &symbols) {
  AITUNE_ASSIGN_OR_RETURN(TensorView view, ViewOf(type, symbols));
  AITUNE_ASSIGN_OR_RETURN(cuda::DeviceBuffer buffer,
                          cuda::DeviceBuffer::Allocate(
                              device, std::max<int64_t>(256, BytesOf(view))));
  view.data = buffer.data();
  memory.push_back(std::move(buffer));
  return view;
}

absl::Status CudaModelTimer::fill(const TensorView &view) {
  std::string &data = random[view.dtype];
  const int64_t width = SizeInBytes(view.dtype);
  if (data.empty()) {
    std::mt19937 generator(1);
    data.resize(kRandomElements * width);
    TensorView part{data.data(), view.dtype, {kRandomElements}};
    fillRandom(part, generator);
  }
  for (int64_t done = 0; done < BytesOf(view); done += data.size())
    AITUNE_RETURN_IF_ERROR(device.driver().Check(
        device.driver().cuMemcpyHtoD(
            reinterpret_cast<CUdeviceptr>(view.data) + done, data.data(),
            std::min<int64_t>(data.size(), BytesOf(view) - done)),
        "copying test data"));
  return absl::OkStatus();
}

absl::Status CudaModelTimer::prepare(const ExecutablePlan &plan) {
  const std::vector<int64_t> symbols = symbolsOf(plan, JudgedInputs::Normal);
  if (!hasSizes(plan, symbols))
    return absl::OutOfRangeError("no sizes are known to measure at");
  for (const TensorTypeProto &type : plan.inputs()) {
    AITUNE_ASSIGN_OR_RETURN(inputs.emplace_back(), allocate(type, symbols));
    AITUNE_RETURN_IF_ERROR(fill(inputs.back()));
  }
  for (const TensorTypeProto &type : plan.outputs()) {
    if (type.dtype() == 0) { // LibTorch gives it
      outputs.push_back(OpaqueValue());
      continue;
    }
    AITUNE_ASSIGN_OR_RETURN(TensorView view, allocate(type, symbols));
    outputs.push_back(std::move(view));
  }
  AITUNE_ASSIGN_OR_RETURN(start, cuda::Event::Create(device, true));
  AITUNE_ASSIGN_OR_RETURN(end, cuda::Event::Create(device, true));
  return device.driver().Check(device.driver().cuStreamSynchronize(stream),
                               "copying test data");
}

absl::Status CudaModelTimer::run(const cuda::CudaExecutable &model) {
  std::vector<RegionValue> results = outputs;
  return model.Run(inputs, absl::MakeSpan(results), stream);
}

absl::StatusOr<double> CudaModelTimer::time(const cuda::CudaExecutable &model,
                                            int calls) {
  AITUNE_RETURN_IF_ERROR(start.Record(stream));
  for (int call = 0; call < calls; ++call)
    AITUNE_RETURN_IF_ERROR(run(model));
  AITUNE_RETURN_IF_ERROR(end.Record(stream));
  AITUNE_ASSIGN_OR_RETURN(const float milliseconds,
                          end.MillisecondsSince(start));
  return milliseconds * 1e3 / calls;
}

absl::StatusOr<std::unique_ptr<cuda::CudaExecutable>>
load(const cuda::Device &device, ModelToTime model,
     const std::shared_ptr<cuda::RegionRecorder> &recorder) {
  AITUNE_ASSIGN_OR_RETURN(ExecutablePlan plan, std::move(model.model.plan));
  AITUNE_RETURN_IF_ERROR(checkTimeable(plan));
  plan.set_device("cuda");
  plan.set_ignores_checks(true);
  std::vector<std::string> cubins;
  for (const KernelObject &object : model.model.objects)
    cubins.push_back(object.object);
  cuda::CudaExecutable::Options options;
  options.recorder = recorder;
  return cuda::CudaExecutable::Load(
      device, std::move(plan), cubins,
      {model.constants.begin(), model.constants.end()},
      std::move(model.regions), options);
}

/// Bytes of the constants that `plan` refers to.
int64_t constantBytes(const ExecutablePlan &plan,
                      absl::Span<const ConstantTensor> constants) {
  std::set<int> used;
  for (const ValueProto &value : plan.values())
    if (value.storage() == ValueProto::CONSTANT)
      used.insert(value.index());
  int64_t bytes = 0;
  for (int index : used)
    bytes += BytesOf(constants[index].view);
  return bytes;
}

/// Each model as often as it takes for its constants to come from memory.
absl::StatusOr<std::vector<Measurement>>
timeCold(const cuda::Device &device, const std::vector<ModelToTime> &models,
         double seconds) {
  std::vector<LoadedCopies> loaded;
  for (const ModelToTime &model : models) {
    if (!model.regions.empty())
      return absl::UnimplementedError(
          "what LibTorch runs can't be timed with constants that come from "
          "memory");
    RaceEntry entry = model.model;
    AITUNE_RETURN_IF_ERROR(entry.plan.status());
    entry.plan->set_device("cuda");
    LoadedCopies &copies = loaded.emplace_back();
    const int wanted =
        copiesBeyondCache(device, constantBytes(*entry.plan, model.constants));
    for (int copy = 0; copy < wanted; ++copy) {
      AITUNE_ASSIGN_OR_RETURN(copies.emplace_back(),
                              loadToRecord(device, entry, model.constants));
    }
  }
  return timeCudaCopies(device, loaded, seconds);
}

Measurement summarize(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  Measurement result;
  result.microseconds = times[times.size() / 2];
  result.low = times.front();
  result.high = times.back();
  return result;
}

} // namespace

absl::StatusOr<std::vector<Measurement>>
timeModelsOnCuda(const cuda::Device &device, std::vector<ModelToTime> models,
                 const std::shared_ptr<cuda::RegionRecorder> &recorder,
                 const ModelTiming &timing) {
  if (timing.coldConstants)
    return timeCold(device, models, timing.seconds);
  AITUNE_RETURN_IF_ERROR(device.MakeCurrent());
  std::vector<std::unique_ptr<cuda::CudaExecutable>> executables;
  for (ModelToTime &model : models) {
    AITUNE_ASSIGN_OR_RETURN(executables.emplace_back(),
                            load(device, std::move(model), recorder));
  }
  CudaModelTimer bench(device);
  AITUNE_RETURN_IF_ERROR(bench.prepare(executables.front()->plan()));
  std::vector<double> once;
  for (const auto &executable : executables) {
    // The second call is recorded.
    for (int call = 0; call < 3; ++call)
      AITUNE_RETURN_IF_ERROR(bench.run(*executable));
    if (const std::string reason(executable->GraphReason()); !reason.empty())
      return absl::UnimplementedError(
          absl::StrCat("it would run without a CUDA graph: ", reason));
    AITUNE_ASSIGN_OR_RETURN(once.emplace_back(), bench.time(*executable, 2));
  }
  double round = 0;
  std::vector<int> calls;
  for (double microseconds : once) {
    calls.push_back(std::clamp(
        static_cast<int>(kTimedMicroseconds / std::max(microseconds, 1.0)) + 1,
        1, kMostCalls));
    round += calls.back() * microseconds;
  }
  const int rounds =
      std::clamp(static_cast<int>(timing.seconds * 1e6 / std::max(round, 1.0)),
                 kFewestRounds, kMostRounds);
  std::vector<std::vector<double>> times(executables.size());
  for (int number = 0; number < rounds; ++number)
    for (size_t i = 0; i < executables.size(); ++i) {
      AITUNE_ASSIGN_OR_RETURN(times[i].emplace_back(),
                              bench.time(*executables[i], calls[i]));
    }
  std::vector<Measurement> results;
  for (std::vector<double> &of : times)
    results.push_back(summarize(std::move(of)));
  return results;
}

ExecutablePlan repeatStep(const ExecutablePlan &plan,
                          const std::set<int> &weights, int times) {
  ExecutablePlan repeated = plan;
  for (int number = 1; number < times; ++number) {
    Step step = plan.steps(0);
    step.set_name(absl::StrCat(step.name(), "#", number));
    for (int &input : *step.mutable_inputs()) {
      const ValueProto &value = plan.values(input);
      if (value.storage() != ValueProto::INPUT || !weights.count(value.index()))
        continue;
      ValueProto own = value;
      own.set_index(repeated.inputs_size());
      *repeated.add_inputs() = own.type();
      input = repeated.values_size();
      *repeated.add_values() = std::move(own);
    }
    for (int &output : *step.mutable_outputs()) {
      ValueProto own = plan.values(output);
      own.set_storage(ValueProto::ARENA);
      own.clear_index();
      output = repeated.values_size();
      *repeated.add_values() = std::move(own);
    }
    // Before the one that writes the results.
    repeated.mutable_steps()->Add(std::move(step));
    repeated.mutable_steps()->SwapElements(number - 1, number);
  }
  return repeated;
}

absl::StatusOr<Measurement>
timePartOnCuda(const cuda::Device &device, const LibTorchPart &part,
               const std::shared_ptr<cuda::RegionRecorder> &recorder,
               double seconds) {
  const std::vector<int64_t> symbols =
      symbolsOf(part.plan, JudgedInputs::Normal);
  int64_t weightBytes = 0;
  for (int input : part.weights) {
    AITUNE_ASSIGN_OR_RETURN(const PlanTensorType type,
                            FromProto(part.plan.inputs(input), symbols.size()));
    int64_t bytes = SizeInBytes(type.dtype);
    for (const SizeExpression &size : type.sizes)
      bytes *= size.Evaluate(symbols);
    weightBytes += bytes;
  }
  int times = kFewestSteps;
  if (weightBytes > kSmallWeights)
    times = std::clamp<int64_t>(2 * device.l2_bytes() / weightBytes + 1, 2,
                                kMostSteps);
  std::vector<ModelToTime> models(1);
  models[0].model.plan = repeatStep(
      part.plan, weightBytes > kSmallWeights ? part.weights : std::set<int>(),
      times);
  models[0].regions.push_back(part.makeRegion());
  AITUNE_ASSIGN_OR_RETURN(
      std::vector<Measurement> measured,
      timeModelsOnCuda(device, std::move(models), recorder, {seconds}));
  for (double *time :
       {&measured[0].microseconds, &measured[0].low, &measured[0].high})
    *time /= times;
  return measured[0];
}

} // namespace aitune
