#include "quant/transforms/layer_error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "quant/schemes/float8.h"
#include "quant/schemes/int8.h"
#include "quant/schemes/rows.h"

namespace aitune::quant {
namespace {

// Results of a row that are computed: one of each of so many parts, at any place
// in it, since layers that are interleaved may differ.
constexpr int64_t kMostColumns = 256;
// Decibels by which the worst of 100 rows may be below all rows.
constexpr double kRowMargin = 10;

// Eight of them are a vector of the CPU, which adds up in no other order than
// it is told to.
constexpr int kLanes = 16;

double Dot(const float* a, const float* b, int64_t count) {
  float sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  double sum = 0;
  for (const float part : sums) sum += part;
  for (; i < count; ++i) sum += double{a[i]} * b[i];
  return sum;
}

double Decibels(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

float Decode(Scheme scheme, int8_t code) {
  return scheme == Scheme::kInt8WeightOnly || scheme == Scheme::kInt8Dynamic
             ? static_cast<float>(code)
             : DecodeFloat8E4M3Fn(static_cast<uint8_t>(code));
}

// Rows of a matrix as the layer multiplies them, each with a factor.
struct Activations {
  std::vector<float> numbers, factors;
};

Activations Read(const FloatMatrix& inputs) {
  Activations read;
  RowReader reader(inputs);
  for (int64_t row = 0; row < inputs.rows; ++row) {
    const float* values = reader.Row(row);
    read.numbers.insert(read.numbers.end(), values, values + inputs.columns);
  }
  read.factors.assign(inputs.rows, 1);
  return read;
}

Activations Quantize(const Way& way, const FloatMatrix& inputs) {
  if (way.scheme != Scheme::kInt8Dynamic &&
      way.scheme != Scheme::kFloat8Dynamic)
    return Read(inputs);
  Activations quantized;
  std::vector<int8_t> codes(inputs.rows * inputs.columns);
  quantized.factors.resize(way.granularity == Granularity::kPerRow ? inputs.rows
                                                                   : 1);
  const absl::Status status =
      way.scheme == Scheme::kInt8Dynamic
          ? QuantizeInt8(inputs, way.granularity, Arithmetic::kFused,
                         absl::MakeSpan(codes),
                         absl::MakeSpan(quantized.factors))
          : QuantizeFloat8(
                inputs, way.granularity, Arithmetic::kFused,
                absl::MakeSpan(reinterpret_cast<uint8_t*>(codes.data()),
                               codes.size()),
                absl::MakeSpan(quantized.factors));
  if (!status.ok()) return Read(inputs);  // sizes fit: there is none
  quantized.factors.resize(inputs.rows, quantized.factors.front());
  for (const int8_t code : codes)
    quantized.numbers.push_back(Decode(way.scheme, code));
  return quantized;
}

// The least SQNR of the results of a layer that is quantised, in decibels.
// Gaussian numbers give 42, 39, 31 and 28 with the four schemes.
double LeastSqnr(Scheme scheme) {
  switch (scheme) {
    case Scheme::kInt8WeightOnly:
      return 34;
    case Scheme::kInt8Dynamic:
    case Scheme::kFloat8WeightOnly:
      return 28;
    case Scheme::kFloat8Dynamic:
      break;
  }
  return 25;
}

}  // namespace

LayerError MeasureError(const Way& way, const FloatMatrix& inputs,
                        const FloatMatrix& weight,
                        const QuantizedWeight& quantized) {
  LayerError error;
  if (inputs.rows == 0 || weight.rows == 0) return error;
  const int64_t k = weight.columns;
  const Activations exact = Read(inputs), ours = Quantize(way, inputs);
  const auto* codes = static_cast<const int8_t*>(quantized.codes.view.data);
  const auto* scales = static_cast<const float*>(quantized.scales.view.data);
  std::vector<double> signal(inputs.rows), noise(inputs.rows);
  std::vector<bool> is_exact_finite(inputs.rows, true);
  std::vector<float> numbers(k);
  RowReader reader(weight);
  const int64_t columns = std::min(weight.rows, kMostColumns);
  std::minstd_rand random;  // the same places in every build
  for (int64_t i = 0; i < columns; ++i) {
    const int64_t first = i * weight.rows / columns;
    const int64_t length = (i + 1) * weight.rows / columns - first;
    const int64_t n = first + static_cast<int64_t>(random()) % length;
    const float* row_of_weight = reader.Row(n);
    for (int64_t j = 0; j < k; ++j)
      numbers[j] = Decode(way.scheme, codes[n * k + j]);
    for (int64_t row = 0; row < inputs.rows; ++row) {
      const double wanted =
          Dot(exact.numbers.data() + row * k, row_of_weight, k);
      const double given =
          Dot(ours.numbers.data() + row * k, numbers.data(), k) *
          ours.factors[row] * scales[n];
      if (!std::isfinite(wanted)) {
        is_exact_finite[row] = false;
        continue;
      }
      signal[row] += wanted * wanted;
      noise[row] += (given - wanted) * (given - wanted);
    }
  }
  double all_signal = 0, all_noise = 0;
  std::vector<double> rows;
  for (int64_t row = 0; row < inputs.rows; ++row) {
    if (!is_exact_finite[row]) continue;
    if (!std::isfinite(noise[row])) {
      error.is_finite = false;
      continue;
    }
    all_signal += signal[row];
    all_noise += noise[row];
    if (signal[row] > 0) rows.push_back(Decibels(signal[row], noise[row]));
  }
  error.sqnr_db = Decibels(all_signal, all_noise);
  std::sort(rows.begin(), rows.end());
  error.low_sqnr_db = rows.empty() ? error.sqnr_db : rows[rows.size() / 100];
  return error;
}

std::string RefuseError(Scheme scheme, const LayerError& error) {
  const double least = LeastSqnr(scheme);
  if (!error.is_finite)
    return "inaccurate: results for the model's inputs are not finite";
  if (error.sqnr_db < least)
    return absl::StrFormat(
        "inaccurate: its results for the model's inputs keep %.1f dB, fewer "
        "than %.1f",
        error.sqnr_db, least);
  if (error.low_sqnr_db < least - kRowMargin)
    return absl::StrFormat(
        "inaccurate: a row of 100 of its results for the model's inputs keeps "
        "%.1f dB, fewer than %.1f",
        error.low_sqnr_db, least - kRowMargin);
  return "";
}

}  // namespace aitune::quant
