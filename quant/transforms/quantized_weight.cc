#include "quant/transforms/quantized_weight.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "quant/schemes/float8.h"
#include "quant/schemes/int8.h"
#include "quant/schemes/rows.h"

namespace aitune::quant {
namespace {

// The least signal to quantisation noise of a layer that is quantised, in
// decibels: what remains of it in the layer's result when its inputs are not
// correlated with the errors.
double LeastSqnr(Scheme scheme) {
  return scheme == Scheme::kInt8WeightOnly ? 34 : 28;
}

bool IsFloat8(Scheme scheme) {
  return scheme == Scheme::kFloat8WeightOnly ||
         scheme == Scheme::kFloat8Dynamic;
}

template <typename T>
ConstantTensor MakeConstant(DataType dtype, std::vector<int64_t> sizes,
                            std::string name, std::vector<T> values) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  ConstantTensor constant;
  constant.view = {owner->data(), dtype, std::move(sizes)};
  constant.owner = owner;
  constant.name = std::move(name);
  return constant;
}

// The codes as bytes, whatever they stand for, and a scale for each row.
absl::Status Quantize(Scheme scheme, Granularity granularity,
                      const FloatMatrix& matrix, std::vector<int8_t>* codes,
                      std::vector<float>* scales) {
  scales->resize(granularity == Granularity::kPerRow ? matrix.rows : 1);
  const absl::Status status =
      IsFloat8(scheme)
          ? QuantizeFloat8(
                matrix, granularity, Arithmetic::kEager,
                absl::MakeSpan(reinterpret_cast<uint8_t*>(codes->data()),
                               codes->size()),
                absl::MakeSpan(*scales))
          : QuantizeInt8(matrix, granularity, Arithmetic::kEager,
                         absl::MakeSpan(*codes), absl::MakeSpan(*scales));
  if (status.ok()) scales->resize(matrix.rows, scales->front());
  return status;
}

// What a code of a row with this scale stands for.
float NumberOf(Scheme scheme, int8_t code, float scale) {
  return (IsFloat8(scheme) ? DecodeFloat8E4M3Fn(static_cast<uint8_t>(code))
                           : static_cast<float>(code)) *
         scale;
}

double SqnrOf(Scheme scheme, const FloatMatrix& matrix, const int8_t* codes,
              const float* scales) {
  RowReader reader(matrix);
  double signal = 0, noise = 0;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const float* values = reader.Row(row);
    const int8_t* code = codes + row * matrix.columns;
    for (int64_t k = 0; k < matrix.columns; ++k) {
      const double error =
          double{NumberOf(scheme, code[k], scales[row])} - values[k];
      signal += double{values[k]} * values[k];
      noise += error * error;
    }
  }
  return noise == 0 ? std::numeric_limits<double>::infinity()
                    : 10 * std::log10(signal / noise);
}

DataType CodeType(Scheme scheme) {
  return IsFloat8(scheme) ? DataType::kFloat8E4M3Fn : DataType::kInt8;
}

// Whether `codes` and `scales` are of the scheme and stand for the matrix.
bool StandFor(const ConstantTensor& codes, const ConstantTensor& scales,
              Scheme scheme, Granularity granularity,
              const FloatMatrix& matrix) {
  if (codes.view.dtype != CodeType(scheme) ||
      codes.view.sizes != std::vector<int64_t>{matrix.rows, matrix.columns} ||
      scales.view.dtype != DataType::kFloat32 ||
      scales.view.sizes != std::vector<int64_t>{matrix.rows})
    return false;
  const auto* code = static_cast<const int8_t*>(codes.view.data);
  const auto* scale = static_cast<const float*>(scales.view.data);
  if (granularity == Granularity::kPerTensor &&
      !std::all_of(scale, scale + matrix.rows,
                   [&](float other) { return other == scale[0]; }))
    return false;
  RowReader reader(matrix);
  for (int64_t row = 0; row < matrix.rows; ++row, code += matrix.columns) {
    const float* values = reader.Row(row);
    for (int64_t k = 0; k < matrix.columns; ++k) {
      if (RoundTo(matrix.dtype, NumberOf(scheme, code[k], scale[row])) !=
          values[k])
        return false;
    }
  }
  return true;
}

// The codes and scales of `known` that the weight called `name` was made of.
bool FindCodes(const std::map<std::string, ConstantTensor>& known,
               const std::string& name, Scheme scheme, Granularity granularity,
               const FloatMatrix& matrix, QuantizedWeight* found) {
  const auto codes = known.find(name + ".codes");
  const auto scales = known.find(name + ".scales");
  if (codes == known.end() || scales == known.end() ||
      !StandFor(codes->second, scales->second, scheme, granularity, matrix))
    return false;
  found->codes = codes->second;
  found->scales = scales->second;
  return true;
}

}  // namespace

FloatMatrix RowsOf(const ConstantTensor& constant, bool is_rows) {
  const std::vector<int64_t>& sizes = constant.view.sizes;
  FloatMatrix matrix;
  matrix.data = constant.view.data;
  matrix.dtype = constant.view.dtype;
  matrix.rows = sizes[is_rows ? 0 : 1];
  matrix.columns = sizes[is_rows ? 1 : 0];
  matrix.row_stride = is_rows ? matrix.columns : 1;
  matrix.column_stride = is_rows ? 1 : matrix.rows;
  return matrix;
}

QuantizedWeight QuantizeWeight(
    Scheme scheme, Granularity granularity, const ConstantTensor& weight,
    bool is_rows, bool bounded,
    const std::map<std::string, ConstantTensor>& known) {
  QuantizedWeight result;
  const FloatMatrix matrix = RowsOf(weight, is_rows);
  if (const auto refusal = RefuseWeight(scheme, granularity, matrix)) {
    result.refusal =
        absl::StrCat(std::string(Name(refusal->reason)), ": ", refusal->text);
    return result;
  }
  if (!FindCodes(known, weight.name, scheme, granularity, matrix, &result)) {
    std::vector<int8_t> made(matrix.rows * matrix.columns);
    std::vector<float> scales;
    const absl::Status status =
        Quantize(scheme, granularity, matrix, &made, &scales);
    if (!status.ok()) {
      result.refusal = std::string(status.message());
      return result;
    }
    result.codes = MakeConstant(CodeType(scheme), {matrix.rows, matrix.columns},
                                weight.name + ".codes", std::move(made));
    result.scales = MakeConstant(DataType::kFloat32, {matrix.rows},
                                 weight.name + ".scales", std::move(scales));
  }
  const auto* codes = static_cast<const int8_t*>(result.codes.view.data);
  result.sqnr_db = SqnrOf(scheme, matrix, codes,
                          static_cast<const float*>(result.scales.view.data));
  if (bounded && result.sqnr_db < LeastSqnr(scheme)) {
    result.refusal = absl::StrFormat(
        "inaccurate: its codes keep %.1f dB of the weight, fewer than %.1f",
        result.sqnr_db, LeastSqnr(scheme));
    return result;
  }
  if (scheme == Scheme::kInt8Dynamic) {
    std::vector<int32_t> sums(matrix.rows);
    for (int64_t row = 0; row < matrix.rows; ++row) {
      uint32_t sum = 0;
      for (int64_t k = 0; k < matrix.columns; ++k)
        sum += static_cast<uint32_t>(int32_t{codes[row * matrix.columns + k]});
      sums[row] = static_cast<int32_t>(sum * 128);
    }
    result.sums = MakeConstant(DataType::kInt32, {matrix.rows},
                               weight.name + ".sums", std::move(sums));
  }
  return result;
}

}  // namespace aitune::quant
