#include "compiler/tune/Measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_format.h"
#include "runtime/executable/plan.h"

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
    const size_t bytes = std::max<size_t>(64, ElementCount(view.sizes) * SizeInBytes(view.dtype));
    memory.emplace_back(std::aligned_alloc(64, (bytes + 63) / 64 * 64), &std::free);
    view.data = memory.back().get();
    std::memset(view.data, 0, bytes);
    views.push_back(std::move(view));
  }

  std::vector<std::unique_ptr<void, decltype(&std::free)>> memory;
  std::vector<TensorView> views;
};

/// A bfloat16 is the upper half of a float.
uint16_t toBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits >> 16;
}

float fromBFloat16(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof bits);
  return result;
}

/// Normal numbers for floating types, zeros and ones for the others (they are
/// indices and masks, for which those are always in range).
void fillRandom(TensorView &view, std::mt19937 &generator) {
  std::normal_distribution<float> normal;
  const int64_t count = ElementCount(view.sizes);
  for (int64_t i = 0; i < count; ++i) {
    switch (view.dtype) {
    case DataType::kFloat32:
      static_cast<float *>(view.data)[i] = normal(generator);
      break;
    case DataType::kFloat64:
      static_cast<double *>(view.data)[i] = normal(generator);
      break;
    case DataType::kFloat16:
      static_cast<_Float16 *>(view.data)[i] = static_cast<_Float16>(normal(generator));
      break;
    case DataType::kBFloat16:
      static_cast<uint16_t *>(view.data)[i] = toBFloat16(normal(generator));
      break;
    case DataType::kInt64:
      static_cast<int64_t *>(view.data)[i] = generator() & 1;
      break;
    case DataType::kInt32:
      static_cast<int32_t *>(view.data)[i] = generator() & 1;
      break;
    case DataType::kInt16:
      static_cast<int16_t *>(view.data)[i] = generator() & 1;
      break;
    default:
      static_cast<uint8_t *>(view.data)[i] = generator() & 1;
    }
  }
}

double elementOf(const TensorView &view, int64_t i) {
  switch (view.dtype) {
  case DataType::kFloat32:
    return static_cast<const float *>(view.data)[i];
  case DataType::kFloat64:
    return static_cast<const double *>(view.data)[i];
  case DataType::kFloat16:
    return static_cast<float>(static_cast<const _Float16 *>(view.data)[i]);
  case DataType::kBFloat16:
    return fromBFloat16(static_cast<const uint16_t *>(view.data)[i]);
  default:
    return 0;
  }
}

/// How far `actual` is from `expected`: the greatest difference over the root
/// mean square of `expected`. Infinite when only one of a pair is NaN.
double relativeDifference(const TensorView &expected, const TensorView &actual) {
  const int64_t count = ElementCount(expected.sizes);
  double squares = 0, greatest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double e = elementOf(expected, i), a = elementOf(actual, i);
    if (std::isnan(e) != std::isnan(a))
      return std::numeric_limits<double>::infinity();
    if (std::isnan(e) || e == a)
      continue;
    squares += e * e;
    greatest = std::max(greatest, std::abs(e - a));
  }
  const double scale = std::sqrt(squares / std::max<int64_t>(count, 1));
  return greatest == 0 ? 0 : greatest / std::max(scale, 1e-6);
}

double tolerance(DataType dtype) {
  switch (dtype) {
  case DataType::kFloat64:
    return 1e-9;
  case DataType::kFloat32:
    return 1e-3;
  default:
    return 0.1;
  }
}

std::string compare(const Tensors &expected, const Tensors &actual) {
  for (size_t i = 0; i < expected.views.size(); ++i) {
    const double difference = relativeDifference(expected.views[i], actual.views[i]);
    if (difference > tolerance(expected.views[i].dtype))
      return absl::StrFormat("result %d differs from the first candidate's by %.2g of its scale", i, difference);
  }
  return "";
}

double medianOf(std::vector<double> &times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

} // namespace

std::vector<Measurement> measureCandidates(const std::vector<std::unique_ptr<Executable>> &candidates,
                                           double budgetSeconds) {
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
    std::vector<RegionValue> values(outputs[i].views.begin(), outputs[i].views.end());
    const auto start = Clock::now();
    absl::Status status = candidates[i]->Run(inputs.views, absl::MakeSpan(values));
    const double microseconds = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    if (!status.ok())
      results[i].note = std::string(status.message());
    return microseconds;
  };

  // The first run of each pays for set-up and checks its results.
  double roundMicroseconds = 0;
  const Tensors *reference = nullptr;
  for (size_t i = 0; i < candidates.size(); ++i) {
    for (const TensorTypeProto &type : plan.outputs())
      outputs[i].add(type, symbols);
    run(i);
    if (!results[i].note.empty())
      continue;
    if (reference)
      results[i].note = compare(*reference, outputs[i]);
    else
      reference = &outputs[i];
    roundMicroseconds += run(i);
  }
  const int rounds =
      std::clamp(static_cast<int>(budgetSeconds * 1e6 / std::max(roundMicroseconds, 1.0)), 3, 200);
  std::vector<std::vector<double>> times(candidates.size());
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < candidates.size(); ++i)
      if (results[i].note.empty())
        times[i].push_back(run(i));
  for (size_t i = 0; i < candidates.size(); ++i)
    if (results[i].note.empty())
      results[i].microseconds = medianOf(times[i]);
  return results;
}

} // namespace aitune
