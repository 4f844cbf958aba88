#include "compiler/measure/CudaBench.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/measure/HostTensor.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

using cuda::DeviceBuffer;

/// The number of pieces of a result that are compared, and the number of
/// elements of a piece.
constexpr int64_t kPieces = 16, kPieceElements = 2048;
/// The most copies of the weights. They are used in turn, so that none is in
/// the cache when it is used again.
constexpr int64_t kMostCopies = 64;
/// Results of up to so many bytes are copied as a whole to be judged, which is
/// as fast as copying their samples.
constexpr int64_t kWholeBytes = 8 << 20;
/// The bytes behind each result, which no kernel may write.
constexpr int64_t kGuardBytes = 64;

} // namespace

absl::Status CudaBench::setInputs(JudgedInputs set) {
  const std::vector<int64_t> symbols = symbolsOf(plan, set);
  AITUNE_RETURN_IF_ERROR(host->make(set));
  for (int i = 0; i < plan.inputs_size(); ++i) {
    for (TensorView &copy : inputs[i])
      copy.sizes = host->shapes()[i].sizes;
    if (host->isNew(i))
      AITUNE_RETURN_IF_ERROR(fill(inputs[i][0], host->numbers(i)));
  }
  for (int i = 0; i < plan.outputs_size(); ++i) {
    AITUNE_ASSIGN_OR_RETURN(TensorView view, ViewOf(plan.outputs(i), symbols));
    outputs[i].sizes = std::move(view.sizes);
  }
  return stream.Synchronize();
}

/// Copies what is repeated once, and doubles it on the GPU.
absl::Status CudaBench::fill(const TensorView &view,
                             const TestNumbers &numbers) {
  const cuda::Driver &driver = device.driver();
  const CUdeviceptr data = reinterpret_cast<CUdeviceptr>(view.data);
  const int64_t bytes = BytesOf(view), width = SizeInBytes(view.dtype);
  int64_t done = std::min<int64_t>(bytes, numbers.run.size());
  if (done == 0)
    return absl::OkStatus();
  CUresult result =
      driver.cuMemcpyHtoDAsync(data, numbers.run.data(), done, stream.get());
  for (; done < bytes && result == CUDA_SUCCESS; done *= 2)
    result = driver.cuMemcpyDtoDAsync(
        data + done, data, std::min(done, bytes - done), stream.get());
  for (const auto &[position, value] : numbers.others)
    if (result == CUDA_SUCCESS)
      // Pageable memory: it is read before the call returns.
      result = driver.cuMemcpyHtoDAsync(data + position * width,
                                        elementBytes(view.dtype, value).data(),
                                        width, stream.get());
  return driver.Check(result, "copying test data");
}

absl::Status CudaBench::prepare() {
  AITUNE_RETURN_IF_ERROR(device.MakeCurrent());
  const std::vector<int64_t> symbols = symbolsOf(plan, JudgedInputs::Normal);
  if (!hasSizes(plan, symbols))
    return absl::OutOfRangeError("no sizes are known to measure at");
  int64_t weightBytes = 0;
  for (int i : weights) {
    AITUNE_ASSIGN_OR_RETURN(const TensorView view,
                            ViewOf(plan.inputs(i), symbols));
    weightBytes += BytesOf(view);
  }
  // Small ones stay in the cache in a model too.
  if (weightBytes > 256 << 10)
    copyCount = std::clamp<int64_t>(2 * device.l2_bytes() / weightBytes + 1, 1,
                                    kMostCopies);
  auto allocate = [&](TensorView &view, int64_t more) -> absl::Status {
    AITUNE_ASSIGN_OR_RETURN(
        DeviceBuffer buffer,
        DeviceBuffer::Allocate(device,
                               std::max<int64_t>(256, BytesOf(view) + more)));
    view.data = buffer.data();
    memory.push_back(std::move(buffer));
    return absl::OkStatus();
  };
  for (const TensorTypeProto &type : plan.inputs()) {
    const int i = static_cast<int>(inputs.size());
    inputs.emplace_back();
    for (int copy = 0; copy < (weights.count(i) ? copyCount : 1); ++copy) {
      AITUNE_ASSIGN_OR_RETURN(TensorView view, ViewOf(type, symbols));
      inputs[i].push_back(std::move(view));
      AITUNE_RETURN_IF_ERROR(allocate(inputs[i].back(), 0));
    }
  }
  for (const TensorTypeProto &type : plan.outputs()) {
    AITUNE_ASSIGN_OR_RETURN(TensorView view, ViewOf(type, symbols));
    outputs.push_back(std::move(view));
    AITUNE_RETURN_IF_ERROR(allocate(outputs.back(), kGuardBytes));
  }
  AITUNE_ASSIGN_OR_RETURN(stream, cuda::Stream::Create(device));
  AITUNE_ASSIGN_OR_RETURN(start, cuda::Event::Create(device, true));
  AITUNE_ASSIGN_OR_RETURN(end, cuda::Event::Create(device, true));
  return absl::OkStatus();
}

absl::Status CudaBench::copyWeights() {
  for (const std::vector<TensorView> &copies : inputs)
    for (size_t copy = 1; copy < copies.size(); ++copy)
      AITUNE_RETURN_IF_ERROR(device.driver().Check(
          device.driver().cuMemcpyDtoDAsync(
              reinterpret_cast<CUdeviceptr>(copies[copy].data),
              reinterpret_cast<CUdeviceptr>(copies[0].data), BytesOf(copies[0]),
              stream.get()),
          "copying weights"));
  return stream.Synchronize();
}

std::vector<TensorView> CudaBench::inputsOf(int copy) const {
  std::vector<TensorView> views;
  for (const std::vector<TensorView> &copies : inputs)
    views.push_back(copies[copy % copies.size()]);
  return views;
}

/// Pieces of all outputs, spread over each.
absl::StatusOr<std::vector<std::string>> CudaBench::sample() const {
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
      AITUNE_RETURN_IF_ERROR(
          read(view, first, length, data.data() + piece * length * width));
    }
    samples.push_back(std::move(data));
  }
  return samples;
}

absl::Status CudaBench::read(const TensorView &view, int64_t first,
                             int64_t count, char *to) const {
  const int64_t width = SizeInBytes(view.dtype);
  if (count == 0)
    return absl::OkStatus();
  return device.driver().Check(
      device.driver().cuMemcpyDtoH(
          to, reinterpret_cast<CUdeviceptr>(view.data) + first * width,
          count * width),
      "reading results");
}

/// With all overwritten that an earlier run left.
absl::Status CudaBench::runOnce(const cuda::CudaExecutable &candidate) {
  const cuda::Driver &driver = device.driver();
  candidate.PoisonMemory(stream.get());
  // Fill the outputs with NaN, so that elements that are not written are found.
  for (const TensorView &view : outputs) {
    const CUdeviceptr data = reinterpret_cast<CUdeviceptr>(view.data);
    driver.cuMemsetD8Async(data, 0xff, BytesOf(view), stream.get());
    driver.cuMemsetD8Async(data + BytesOf(view),
                           static_cast<unsigned char>(HostTensor::kGuard),
                           kGuardBytes, stream.get());
  }
  std::vector<RegionValue> values = outputValues();
  AITUNE_RETURN_IF_ERROR(
      candidate.Enqueue(inputsOf(0), absl::MakeSpan(values), stream.get()));
  return stream.Synchronize();
}

absl::StatusOr<std::string> CudaBench::findOverrun() {
  for (size_t i = 0; i < outputs.size(); ++i) {
    char guard[kGuardBytes];
    AITUNE_RETURN_IF_ERROR(device.driver().Check(
        device.driver().cuMemcpyDtoH(
            guard,
            reinterpret_cast<CUdeviceptr>(outputs[i].data) +
                BytesOf(outputs[i]),
            kGuardBytes),
        "reading behind a result"));
    for (char byte : guard)
      if (byte != HostTensor::kGuard)
        return absl::StrCat("writes beyond the end of result ", i);
  }
  return "";
}

absl::StatusOr<std::string> CudaBench::findDifference(JudgedInputs set) {
  const std::vector<ReferenceResult> *expected = judge->expected(set);
  if (!expected)
    return "";
  judgedResults.resize(outputs.size());
  std::vector<ResultMemory> kinds;
  std::vector<TensorView> views;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView &view = outputs[i];
    const std::vector<int64_t> &positions = (*expected)[i].positions;
    const int64_t width = SizeInBytes(view.dtype);
    const bool isWhole = BytesOf(view) <= kWholeBytes;
    kinds.push_back(isWhole ? ResultMemory::Whole : ResultMemory::Samples);
    std::string &data = judgedResults[i];
    data.resize(isWhole ? BytesOf(view)
                        : static_cast<int64_t>(positions.size()) * width);
    if (isWhole) {
      AITUNE_RETURN_IF_ERROR(
          read(view, 0, ElementCount(view.sizes), data.data()));
    } else {
      // Runs of neighbours at once.
      for (size_t first = 0; first < positions.size();) {
        size_t last = first;
        while (last + 1 < positions.size() &&
               positions[last + 1] == positions[last] + 1)
          ++last;
        AITUNE_RETURN_IF_ERROR(
            read(view, positions[first], static_cast<int64_t>(last - first + 1),
                 data.data() + static_cast<int64_t>(first) * width));
        first = last + 1;
      }
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    views.push_back(
        {judgedResults[i].data(), outputs[i].dtype, outputs[i].sizes});
  return judge->judge(set, views, kinds);
}

/// Twice: what is right the first time may be wrong with what that left.
absl::Status CudaBench::judgeOne(const cuda::CudaExecutable &candidate,
                                 JudgedInputs set, Measurement &result) {
  for (int call = 0; call < 2; ++call) {
    AITUNE_RETURN_IF_ERROR(runOnce(candidate));
    AITUNE_ASSIGN_OR_RETURN(result.note, findOverrun());
    if (result.note.empty() && judge) {
      AITUNE_ASSIGN_OR_RETURN(result.note, findDifference(set));
    }
    if (result.note.empty())
      continue;
    result.isWrong = true;
    if (call > 0)
      result.note += ", in a second run";
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status CudaBench::judgeOn(JudgedInputs set) {
  AITUNE_RETURN_IF_ERROR(setInputs(set));
  return judge ? judge->status() : absl::OkStatus();
}

absl::Status CudaBench::judgeAll(
    const std::vector<std::unique_ptr<cuda::CudaExecutable>> &candidates,
    std::vector<Measurement> &results) {
  if (judge && !judge->isPrepared())
    prepareAll(*judge, plan, weights);
  for (JudgedInputs set :
       judge ? judge->inputSets(plan)
             : std::vector<JudgedInputs>{JudgedInputs::Normal}) {
    // Without a reference the normal inputs are all that is looked at.
    const bool isKnown = judgeOn(set).ok() && judge && judge->expected(set);
    if (set == JudgedInputs::Normal || !isKnown)
      continue;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!candidates[i] || !results[i].note.empty())
        continue;
      if (absl::Status status = judgeOne(*candidates[i], set, results[i]);
          !status.ok())
        note(status, results[i]);
      if (lost)
        return absl::OkStatus();
    }
  }
  // What is timed from here on.
  host.reset();
  return copyWeights();
}

void CudaBench::note(const absl::Status &error, Measurement &result) {
  result.note = std::string(error.message());
  result.code = error.code();
  lost = !device.Synchronize().ok();
}

absl::Status CudaBench::check(const cuda::CudaExecutable &candidate,
                              Measurement &result) {
  AITUNE_RETURN_IF_ERROR(judgeOne(candidate, JudgedInputs::Normal, result));
  if (result.isWrong)
    return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(std::vector<std::string> samples, sample());
  if (reference.empty()) {
    reference = std::move(samples);
    return absl::OkStatus();
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
  result.note = compareResults(views(reference), views(samples));
  result.isWrong = !result.note.empty();
  return absl::OkStatus();
}

absl::StatusOr<cuda::Graph>
CudaBench::record(const cuda::CudaExecutable &candidate, int launches) {
  std::vector<RegionValue> values = outputValues();
  return cuda::Graph::Capture(device, stream.get(), [&]() -> absl::Status {
    for (int i = 0; i < launches; ++i)
      AITUNE_RETURN_IF_ERROR(
          candidate.Enqueue(inputsOf(i), absl::MakeSpan(values), stream.get()));
    return absl::OkStatus();
  });
}

absl::StatusOr<double>
CudaBench::timeOnce(const cuda::CudaExecutable &candidate) {
  std::vector<RegionValue> values = outputValues();
  return timeOf([&] {
    return candidate.Enqueue(inputsOf(0), absl::MakeSpan(values), stream.get());
  });
}

absl::StatusOr<double> CudaBench::time(const cuda::Graph &graph) {
  return timeOf([&] { return graph.Launch(stream.get()); });
}

absl::StatusOr<double>
CudaBench::timeOf(llvm::function_ref<absl::Status()> launch) {
  AITUNE_RETURN_IF_ERROR(start.Record(stream.get()));
  AITUNE_RETURN_IF_ERROR(launch());
  AITUNE_RETURN_IF_ERROR(end.Record(stream.get()));
  AITUNE_ASSIGN_OR_RETURN(const float milliseconds,
                          end.MillisecondsSince(start));
  return milliseconds * 1e3;
}

} // namespace aitune
