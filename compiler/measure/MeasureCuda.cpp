#include "compiler/measure/MeasureCuda.h"

#include <algorithm>
#include <cstring>

#include "compiler/measure/TestData.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

using cuda::Device;
using cuda::DeviceBuffer;

/// The number of random elements that are made; longer tensors repeat them.
constexpr int64_t kRandomElements = 1 << 18;
/// The number of pieces of a result that are compared, and the number of
/// elements of a piece.
constexpr int64_t kPieces = 16, kPieceElements = 2048;
/// The most copies of the weights. They are used in turn, so that none is in
/// the cache when it is used again.
constexpr int64_t kMostCopies = 64;
/// The number of launches in one timed graph, and the microseconds that the
/// graph should take at least.
constexpr int kLaunches = 16;
constexpr double kGraphMicroseconds = 150;
constexpr int kFewestRounds = 5, kMostRounds = 100;

TensorView makeView(const TensorTypeProto &type,
                    const std::vector<int64_t> &symbols) {
  // The plan passed validation when its executable was loaded.
  const PlanTensorType planType = *FromProto(type, symbols.size());
  TensorView view;
  view.dtype = planType.dtype;
  for (const SizeExpression &size : planType.sizes)
    view.sizes.push_back(size.Evaluate(symbols));
  return view;
}

int64_t bytesOf(const TensorView &view) {
  return ElementCount(view.sizes) * SizeInBytes(view.dtype);
}

class Bench {
public:
  Bench(const Device &device, const ExecutablePlan &plan,
        const std::set<int> &weights)
      : device(device), plan(plan), weights(weights) {}

  absl::Status prepare();
  /// Runs a candidate once and compares.
  absl::StatusOr<std::string> check(const cuda::CudaExecutable &candidate);
  absl::StatusOr<cuda::Graph> record(const cuda::CudaExecutable &candidate,
                                     int launches);
  absl::StatusOr<double> time(const cuda::Graph &graph);
  int copies() const { return copyCount; }

private:
  absl::Status fill(const TensorView &view, bool notANumber,
                    std::mt19937 &generator);
  std::vector<TensorView> inputsOf(int copy) const;
  std::vector<RegionValue> outputValues() const {
    return {outputs.begin(), outputs.end()};
  }
  absl::StatusOr<std::vector<std::string>> sample() const;

  const Device &device;
  const ExecutablePlan &plan;
  const std::set<int> &weights;
  int copyCount = 1;
  std::vector<DeviceBuffer> memory;
  std::vector<std::vector<TensorView>> inputs; // by input, one or copyCount
  std::vector<TensorView> outputs;
  std::vector<std::string> reference;
  cuda::Stream stream;
  cuda::Event start, end;
};

absl::Status Bench::fill(const TensorView &view, bool notANumber,
                         std::mt19937 &generator) {
  const int64_t count = ElementCount(view.sizes),
                width = SizeInBytes(view.dtype);
  TensorView part = view;
  part.sizes = {std::min(count, kRandomElements)};
  std::string data(part.sizes[0] * width, '\0');
  part.data = data.data();
  fillRandom(part, generator);
  // One NaN: a candidate that loses it is wrong. Only in images, where it
  // reaches few of the results: the others are to be compared.
  if (notANumber && part.sizes[0] > 0 && IsFloatingPoint(view.dtype))
    std::memset(data.data(), 0xff, width);
  for (int64_t done = 0; done < count; done += part.sizes[0])
    AITUNE_RETURN_IF_ERROR(device.driver().Check(
        device.driver().cuMemcpyHtoD(
            reinterpret_cast<CUdeviceptr>(view.data) + done * width,
            data.data(), std::min(part.sizes[0], count - done) * width),
        "copying test data"));
  return absl::OkStatus();
}

absl::Status Bench::prepare() {
  AITUNE_RETURN_IF_ERROR(device.MakeCurrent());
  std::vector<int64_t> symbols;
  for (const SymbolProto &symbol : plan.symbols())
    symbols.push_back(symbol.max());
  int64_t weightBytes = 0;
  for (int i : weights)
    weightBytes += bytesOf(makeView(plan.inputs(i), symbols));
  // Small ones stay in the cache in a model too.
  if (weightBytes > 256 << 10)
    copyCount = std::clamp<int64_t>(2 * device.l2_bytes() / weightBytes + 1, 1,
                                    kMostCopies);
  std::mt19937 generator(1);
  auto allocate = [&](TensorView &view) -> absl::Status {
    AITUNE_ASSIGN_OR_RETURN(
        DeviceBuffer buffer,
        DeviceBuffer::Allocate(device, std::max<int64_t>(256, bytesOf(view))));
    view.data = buffer.data();
    memory.push_back(std::move(buffer));
    return absl::OkStatus();
  };
  for (int i = 0; i < plan.inputs_size(); ++i) {
    inputs.emplace_back();
    for (int copy = 0; copy < (weights.count(i) ? copyCount : 1); ++copy) {
      TensorView view = makeView(plan.inputs(i), symbols);
      AITUNE_RETURN_IF_ERROR(allocate(view));
      if (copy == 0)
        AITUNE_RETURN_IF_ERROR(
            fill(view, i == 0 && view.sizes.size() == 4, generator));
      else
        device.driver().cuMemcpyDtoDAsync(
            reinterpret_cast<CUdeviceptr>(view.data),
            reinterpret_cast<CUdeviceptr>(inputs[i][0].data), bytesOf(view),
            nullptr);
      inputs[i].push_back(view);
    }
  }
  for (const TensorTypeProto &type : plan.outputs()) {
    outputs.push_back(makeView(type, symbols));
    AITUNE_RETURN_IF_ERROR(allocate(outputs.back()));
  }
  AITUNE_ASSIGN_OR_RETURN(stream, cuda::Stream::Create(device));
  AITUNE_ASSIGN_OR_RETURN(start, cuda::Event::Create(device, true));
  AITUNE_ASSIGN_OR_RETURN(end, cuda::Event::Create(device, true));
  return device.driver().Check(device.driver().cuCtxSynchronize(),
                               "copying test data");
}

std::vector<TensorView> Bench::inputsOf(int copy) const {
  std::vector<TensorView> views;
  for (const std::vector<TensorView> &copies : inputs)
    views.push_back(copies[copy % copies.size()]);
  return views;
}

/// Pieces of all outputs, spread over each.
absl::StatusOr<std::vector<std::string>> Bench::sample() const {
  std::vector<std::string> samples;
  for (const TensorView &view : outputs) {
    const int64_t count = ElementCount(view.sizes),
                  width = SizeInBytes(view.dtype);
    const int64_t pieces = count <= kPieces * kPieceElements ? 1 : kPieces;
    const int64_t length = pieces == 1 ? count : kPieceElements;
    std::string data(pieces * length * width, '\0');
    for (int64_t piece = 0; piece < pieces && length > 0; ++piece) {
      const int64_t first =
          pieces == 1 ? 0 : (count - length) * piece / (pieces - 1);
      AITUNE_RETURN_IF_ERROR(device.driver().Check(
          device.driver().cuMemcpyDtoH(
              data.data() + piece * length * width,
              reinterpret_cast<CUdeviceptr>(view.data) + first * width,
              length * width),
          "reading results"));
    }
    samples.push_back(std::move(data));
  }
  return samples;
}

absl::StatusOr<std::string>
Bench::check(const cuda::CudaExecutable &candidate) {
  const cuda::Driver &driver = device.driver();
  // Fill the outputs with NaN, so that elements that are not written are found.
  for (const TensorView &view : outputs)
    driver.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(view.data), 0xff,
                           bytesOf(view), stream.get());
  std::vector<RegionValue> values = outputValues();
  AITUNE_RETURN_IF_ERROR(
      candidate.Enqueue(inputsOf(0), absl::MakeSpan(values), stream.get()));
  AITUNE_RETURN_IF_ERROR(stream.Synchronize());
  AITUNE_ASSIGN_OR_RETURN(std::vector<std::string> samples, sample());
  if (reference.empty()) {
    reference = std::move(samples);
    return "";
  }
  auto views = [&](std::vector<std::string> &data) {
    std::vector<TensorView> result;
    for (size_t i = 0; i < data.size(); ++i)
      result.push_back({data[i].data(),
                        outputs[i].dtype,
                        {static_cast<int64_t>(data[i].size()) /
                         SizeInBytes(outputs[i].dtype)}});
    return result;
  };
  return compareResults(views(reference), views(samples));
}

absl::StatusOr<cuda::Graph> Bench::record(const cuda::CudaExecutable &candidate,
                                          int launches) {
  std::vector<RegionValue> values = outputValues();
  return cuda::Graph::Capture(device, stream.get(), [&]() -> absl::Status {
    for (int i = 0; i < launches; ++i)
      AITUNE_RETURN_IF_ERROR(
          candidate.Enqueue(inputsOf(i), absl::MakeSpan(values), stream.get()));
    return absl::OkStatus();
  });
}

absl::StatusOr<double> Bench::time(const cuda::Graph &graph) {
  AITUNE_RETURN_IF_ERROR(start.Record(stream.get()));
  AITUNE_RETURN_IF_ERROR(graph.Launch(stream.get()));
  AITUNE_RETURN_IF_ERROR(end.Record(stream.get()));
  AITUNE_ASSIGN_OR_RETURN(const float milliseconds,
                          end.MillisecondsSince(start));
  return milliseconds * 1e3;
}

struct Timed {
  size_t candidate;
  int launches;
  cuda::Graph graph;
  std::vector<double> times;
};

} // namespace

absl::StatusOr<std::vector<Measurement>> measureCudaCandidates(
    const Device &device,
    const std::vector<std::unique_ptr<cuda::CudaExecutable>> &candidates,
    const std::set<int> &weights, double seconds) {
  std::vector<Measurement> results(candidates.size());
  auto first = std::find_if(candidates.begin(), candidates.end(),
                            [](const auto &c) { return c != nullptr; });
  if (first == candidates.end())
    return results;
  Bench bench(device, (*first)->plan(), weights);
  AITUNE_RETURN_IF_ERROR(bench.prepare());
  std::vector<Timed> timed;
  double best = -1;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i])
      continue;
    auto prepare = [&]() -> absl::StatusOr<std::string> {
      AITUNE_ASSIGN_OR_RETURN(const std::string difference,
                              bench.check(*candidates[i]));
      if (!difference.empty())
        return difference;
      AITUNE_ASSIGN_OR_RETURN(cuda::Graph graph,
                              bench.record(*candidates[i], kLaunches));
      // The first launch also moves the graph to the GPU.
      AITUNE_RETURN_IF_ERROR(bench.time(graph).status());
      AITUNE_ASSIGN_OR_RETURN(const double microseconds, bench.time(graph));
      const double one = microseconds / kLaunches;
      best = best < 0 ? one : std::min(best, one);
      Timed entry{i, kLaunches, std::move(graph), {one}};
      if (one <= 2 * best &&
          (microseconds < kGraphMicroseconds || bench.copies() > kLaunches)) {
        const int wanted =
            static_cast<int>(kGraphMicroseconds / std::max(one, 0.5)) + 1;
        entry.launches = std::max({kLaunches, wanted, bench.copies()});
        AITUNE_ASSIGN_OR_RETURN(entry.graph,
                                bench.record(*candidates[i], entry.launches));
        AITUNE_RETURN_IF_ERROR(bench.time(entry.graph).status());
        entry.times.clear();
      }
      timed.push_back(std::move(entry));
      return std::string();
    };
    absl::StatusOr<std::string> note = prepare();
    results[i].note = note.ok() ? *note : std::string(note.status().message());
    results[i].code = note.status().code();
  }
  double roundMicroseconds = 0;
  for (const Timed &entry : timed)
    if (entry.times.empty() || entry.times.back() <= 1.5 * best)
      roundMicroseconds += std::max(best, 1.0) * entry.launches;
  const int rounds = std::clamp(
      static_cast<int>(seconds * 1e6 / std::max(roundMicroseconds, 1.0)),
      kFewestRounds, kMostRounds);
  for (int round = 0; round < rounds; ++round)
    for (Timed &entry : timed) {
      // Far behind: its exact time is of no interest.
      if (!entry.times.empty() && entry.times.back() > 1.5 * best)
        continue;
      AITUNE_ASSIGN_OR_RETURN(const double microseconds,
                              bench.time(entry.graph));
      entry.times.push_back(microseconds / entry.launches);
      best = std::min(best, entry.times.back());
    }
  for (Timed &entry : timed) {
    std::sort(entry.times.begin(), entry.times.end());
    Measurement &result = results[entry.candidate];
    result.microseconds = entry.times[entry.times.size() / 2];
    result.low = entry.times.front();
    result.high = entry.times.back();
  }
  return results;
}

} // namespace aitune
