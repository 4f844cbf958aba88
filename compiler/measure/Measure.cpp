#include "compiler/measure/Measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include <unistd.h>

#include "compiler/measure/TestData.h"
#include "runtime/plan/plan.h"
#include "runtime/strategy/interleaved_timing.h"

namespace aitune {
namespace {

using Clock = std::chrono::steady_clock;

/// Memory for tensors of given types, aligned as the plan's own.
class Tensors {
public:
  void add(const TensorTypeProto &type, const std::vector<int64_t> &symbols) {
    // The plan passed validation when its executable was loaded.
    const PlanTensorType planType = *FromProto(type, symbols.size());
    TensorView view;
    view.dtype = planType.dtype;
    for (const SizeExpression &size : planType.sizes)
      view.sizes.push_back(size.Evaluate(symbols));
    const size_t bytes = std::max<size_t>(64, ElementCount(view.sizes) *
                                                  SizeInBytes(view.dtype));
    memory.emplace_back(std::aligned_alloc(64, (bytes + 63) / 64 * 64),
                        &std::free);
    view.data = memory.back().get();
    std::memset(view.data, 0, bytes);
    views.push_back(std::move(view));
  }

  std::vector<std::unique_ptr<void, decltype(&std::free)>> memory;
  std::vector<TensorView> views;
};

/// Memory of 1.5 times the size of the last-level cache, which is read to evict
/// the contents of the cache. If that size is not known, the memory is larger
/// than the cache of any known CPU.
class CacheEviction {
public:
  void run() const {
    int64_t read = 0;
    for (size_t i = 0; i < buffer.size(); i += 64)
      read += buffer[i];
    volatile int64_t sum = read;
    (void)sum;
  }

private:
  static size_t bytes() {
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return cache > 0 ? size_t(cache) * 3 / 2 : size_t{96} << 20;
  }

  // Written once: untouched pages would all be the one page of zeros.
  std::vector<char> buffer = std::vector<char>(bytes(), 1);
};

Measurement summarize(std::vector<double> times) {
  const TimingSummary summary = Summarize(std::move(times));
  Measurement result;
  result.microseconds = summary.median;
  result.low = summary.median_low;
  result.high = summary.median_high;
  return result;
}

} // namespace

std::vector<Measurement>
measureCandidates(absl::Span<const Executable *const> candidates,
                  const MeasureOptions &options) {
  std::vector<Measurement> results(candidates.size());
  if (candidates.empty())
    return results;
  const ExecutablePlan &plan = candidates.front()->plan();
  std::vector<int64_t> symbols;
  for (const SymbolProto &symbol : plan.symbols())
    symbols.push_back(symbol.max());
  std::mt19937 generator(1);
  Tensors inputs;
  for (const TensorTypeProto &type : plan.inputs()) {
    inputs.add(type, symbols);
    fillRandom(inputs.views.back(), generator);
  }

  std::vector<Tensors> outputs(candidates.size());
  auto run = [&](size_t i) {
    std::vector<RegionValue> values(outputs[i].views.begin(),
                                    outputs[i].views.end());
    const auto start = Clock::now();
    absl::Status status =
        candidates[i]->Run(inputs.views, absl::MakeSpan(values));
    const double microseconds =
        std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    if (!status.ok())
      results[i].note = std::string(status.message());
    return microseconds;
  };

  const CacheEviction *eviction = nullptr;
  double evictionMicroseconds = 0;
  if (options.coldCache) {
    // Kept: a process that measures many kernels touches its pages once.
    static const CacheEviction shared;
    eviction = &shared;
    const auto start = Clock::now();
    eviction->run();
    evictionMicroseconds =
        std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }

  // The first run of each pays for set-up and checks its results.
  double roundMicroseconds = 0;
  const Tensors *reference = nullptr;
  for (size_t i = 0; i < candidates.size(); ++i) {
    for (const TensorTypeProto &type : plan.outputs())
      outputs[i].add(type, symbols);
    run(i);
    if (!results[i].note.empty())
      continue;
    if (reference && options.comparesResults)
      results[i].note = compareResults(reference->views, outputs[i].views);
    else
      reference = &outputs[i];
    roundMicroseconds += run(i) + evictionMicroseconds;
  }
  const int rounds =
      std::clamp(static_cast<int>(options.seconds * 1e6 /
                                  std::max(roundMicroseconds, 1.0)),
                 options.leastRounds, std::max(options.leastRounds, 200));
  std::vector<std::vector<double>> times(candidates.size());
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < candidates.size(); ++i)
      if (results[i].note.empty()) {
        if (eviction)
          eviction->run();
        times[i].push_back(run(i));
      }
  for (size_t i = 0; i < candidates.size(); ++i)
    if (results[i].note.empty())
      results[i] = summarize(std::move(times[i]));
  return results;
}

} // namespace aitune
