#include "compiler/measure/TimeCudaCopies.h"

#include <algorithm>
#include <random>
#include <string>

#include "compiler/measure/TestData.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"
#include "runtime/strategy/interleaved_timing.h"

namespace aitune {
namespace {

/// Constants of fewer bytes are taken to stay in the cache in any model.
constexpr int64_t kFewBytes = 256 << 10;
/// The most copies of a model: beyond, loading them takes longer than timing.
constexpr int64_t kMostCopies = 48;
/// The number of random elements that are made; longer inputs repeat them.
constexpr int64_t kRandomElements = 1 << 18;
/// The least time of a graph in microseconds, and the fewest and the most runs
/// in it.
constexpr double kGraphMicroseconds = 150;
constexpr int kFewestRuns = 16, kMostRuns = 256;
constexpr int kFewestRounds = 15, kMostRounds = 200;

/// Device memory for the tensors of a plan.
struct Tensors {
  std::vector<cuda::DeviceBuffer> memory;
  std::vector<TensorView> views;

  absl::Status add(const cuda::Device &device, const TensorTypeProto &type) {
    AITUNE_ASSIGN_OR_RETURN(TensorView view, ViewOf(type, {}));
    AITUNE_ASSIGN_OR_RETURN(cuda::DeviceBuffer buffer,
                            cuda::DeviceBuffer::Allocate(
                                device, std::max<int64_t>(256, BytesOf(view))));
    view.data = buffer.data();
    memory.push_back(std::move(buffer));
    views.push_back(std::move(view));
    return absl::OkStatus();
  }
};

absl::Status fill(const cuda::Device &device, const TensorView &view,
                  std::mt19937 &generator) {
  const int64_t count = ElementCount(view.sizes),
                width = SizeInBytes(view.dtype);
  TensorView part = view;
  part.sizes = {std::min(count, kRandomElements)};
  std::string data(part.sizes[0] * width, '\0');
  part.data = data.data();
  fillRandom(part, generator);
  for (int64_t done = 0; done < count; done += part.sizes[0])
    AITUNE_RETURN_IF_ERROR(device.driver().Check(
        device.driver().cuMemcpyHtoD(
            reinterpret_cast<CUdeviceptr>(view.data) + done * width,
            data.data(), std::min(part.sizes[0], count - done) * width),
        "copying test data"));
  return absl::OkStatus();
}

/// One model's runs as a graph.
struct Recorded {
  cuda::Graph graph;
  int runs = 0;
  std::vector<double> times; ///< microseconds of one run
};

class Timer {
public:
  explicit Timer(const cuda::Device &device) : device(device) {}

  absl::Status prepare(const ExecutablePlan &plan) {
    AITUNE_RETURN_IF_ERROR(device.MakeCurrent());
    std::mt19937 generator(1);
    for (const TensorTypeProto &type : plan.inputs()) {
      AITUNE_RETURN_IF_ERROR(inputs.add(device, type));
      AITUNE_RETURN_IF_ERROR(fill(device, inputs.views.back(), generator));
    }
    for (const TensorTypeProto &type : plan.outputs())
      AITUNE_RETURN_IF_ERROR(outputs.add(device, type));
    AITUNE_ASSIGN_OR_RETURN(stream, cuda::Stream::Create(device));
    AITUNE_ASSIGN_OR_RETURN(start, cuda::Event::Create(device, true));
    AITUNE_ASSIGN_OR_RETURN(end, cuda::Event::Create(device, true));
    return absl::OkStatus();
  }

  /// A graph that takes some time and in which each copy runs.
  absl::StatusOr<Recorded> record(const LoadedCopies &copies) {
    const int atLeast = std::max(kFewestRuns, static_cast<int>(copies.size()));
    AITUNE_ASSIGN_OR_RETURN(Recorded recorded, record(copies, atLeast));
    // The first launch also moves the graph to the GPU.
    AITUNE_RETURN_IF_ERROR(run(recorded).status());
    AITUNE_ASSIGN_OR_RETURN(const double one, run(recorded));
    const int runs = std::min(
        kMostRuns, static_cast<int>(kGraphMicroseconds / std::max(one, 0.5)));
    if (runs <= atLeast)
      return recorded;
    AITUNE_ASSIGN_OR_RETURN(recorded, record(copies, runs));
    AITUNE_RETURN_IF_ERROR(run(recorded).status());
    return recorded;
  }

  /// The microseconds of one of its runs.
  absl::StatusOr<double> run(const Recorded &recorded) {
    AITUNE_RETURN_IF_ERROR(start.Record(stream.get()));
    AITUNE_RETURN_IF_ERROR(recorded.graph.Launch(stream.get()));
    AITUNE_RETURN_IF_ERROR(end.Record(stream.get()));
    AITUNE_ASSIGN_OR_RETURN(const float milliseconds,
                            end.MillisecondsSince(start));
    return milliseconds * 1e3 / recorded.runs;
  }

private:
  absl::StatusOr<Recorded> record(const LoadedCopies &copies, int runs) {
    std::vector<RegionValue> values(outputs.views.begin(), outputs.views.end());
    Recorded recorded;
    AITUNE_ASSIGN_OR_RETURN(
        recorded.graph,
        cuda::Graph::Capture(device, stream.get(), [&]() -> absl::Status {
          for (int i = 0; i < runs; ++i)
            AITUNE_RETURN_IF_ERROR(copies[i % copies.size()]->Enqueue(
                inputs.views, absl::MakeSpan(values), stream.get()));
          return absl::OkStatus();
        }));
    recorded.runs = runs;
    return recorded;
  }

  const cuda::Device &device;
  Tensors inputs, outputs;
  cuda::Stream stream;
  cuda::Event start, end;
};

} // namespace

int copiesBeyondCache(const cuda::Device &device, int64_t bytes) {
  if (bytes <= kFewBytes)
    return 1;
  return static_cast<int>(
      std::min<int64_t>(2 * device.l2_bytes() / bytes + 1, kMostCopies));
}

absl::StatusOr<std::vector<Measurement>>
timeCudaCopies(const cuda::Device &device,
               absl::Span<const LoadedCopies> models, double seconds) {
  Timer timer(device);
  AITUNE_RETURN_IF_ERROR(timer.prepare(models.front().front()->plan()));
  std::vector<Recorded> recorded;
  double roundMicroseconds = 0;
  for (const LoadedCopies &copies : models) {
    AITUNE_ASSIGN_OR_RETURN(recorded.emplace_back(), timer.record(copies));
    AITUNE_ASSIGN_OR_RETURN(const double one, timer.run(recorded.back()));
    roundMicroseconds += one * recorded.back().runs;
  }
  const int rounds = std::clamp(
      static_cast<int>(seconds * 1e6 / std::max(roundMicroseconds, 1.0)),
      kFewestRounds, kMostRounds);
  for (int round = 0; round < rounds; ++round)
    for (Recorded &model : recorded) {
      AITUNE_ASSIGN_OR_RETURN(const double microseconds, timer.run(model));
      model.times.push_back(microseconds);
    }
  std::vector<Measurement> results;
  for (Recorded &model : recorded) {
    // Summarize takes times in any unit.
    const TimingSummary summary = Summarize(std::move(model.times));
    Measurement &result = results.emplace_back();
    result.microseconds = summary.median;
    result.low = summary.median_low;
    result.high = summary.median_high;
  }
  return results;
}

} // namespace aitune
