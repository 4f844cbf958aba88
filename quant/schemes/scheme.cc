#include "quant/schemes/scheme.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "quant/schemes/rows.h"

namespace aitune::quant {
namespace {

constexpr std::pair<Scheme, std::string_view> kSchemeNames[] = {
    {Scheme::kInt8WeightOnly, "int8wo"},
    {Scheme::kInt8Dynamic, "int8dq"},
    {Scheme::kFloat8WeightOnly, "fp8wo"},
    {Scheme::kFloat8Dynamic, "fp8dq"},
};

// A sum of this many products of two bytes, each at most 128 * 128, fits
// int32; one more might not.
constexpr int64_t kMaxInt8Columns = ((int64_t{1} << 31) - 1) / (128 * 128);

// torchao quantises a layer to float8 on both sides only where both sizes are
// multiples of this, as the matrix product wants it.
constexpr int64_t kFloat8SizeMultiple = 16;

std::optional<Refusal> RefuseSizes(Scheme scheme, const FloatMatrix& weight) {
  const auto refusal = [&](std::string_view why) {
    return Refusal{RefusalReason::kShape,
                   absl::StrCat("the weight is [", weight.rows, ", ",
                                weight.columns, "], ", std::string(why))};
  };
  if (weight.rows == 0 || weight.columns == 0)
    return refusal("it has no elements");
  if (weight.columns == 1)
    return refusal("a row of one element has no scale in torchao");
  if (scheme == Scheme::kInt8Dynamic && weight.columns > kMaxInt8Columns)
    return refusal(absl::StrCat("a sum of more than ", kMaxInt8Columns,
                                " products may not fit int32"));
  if (scheme == Scheme::kFloat8Dynamic &&
      (weight.rows % kFloat8SizeMultiple != 0 ||
       weight.columns % kFloat8SizeMultiple != 0))
    return refusal(absl::StrCat("fp8dq takes multiples of ",
                                kFloat8SizeMultiple, " in both axes"));
  return std::nullopt;
}

}  // namespace

std::string_view Name(Scheme scheme) {
  for (const auto& [candidate, name] : kSchemeNames) {
    if (candidate == scheme) return name;
  }
  return "unknown";
}

std::optional<Scheme> ParseScheme(std::string_view name) {
  for (const auto& [scheme, candidate] : kSchemeNames) {
    if (candidate == name) return scheme;
  }
  return std::nullopt;
}

std::string_view Name(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kShape:
      return "shape";
    case RefusalReason::kDtype:
      return "dtype";
    case RefusalReason::kFiltered:
      return "filtered";
    case RefusalReason::kNotFinite:
      return "not finite";
  }
  return "unknown";
}

std::optional<Refusal> RefuseWeight(Scheme scheme, Granularity granularity,
                                    const FloatMatrix& weight) {
  const absl::Status status = CheckMatrix(weight);
  if (!IsQuantizable(weight.dtype))
    return Refusal{RefusalReason::kDtype, std::string(status.message())};
  if (!status.ok())
    return Refusal{RefusalReason::kShape, std::string(status.message())};
  if (auto refusal = RefuseSizes(scheme, weight)) return refusal;
  if (scheme == Scheme::kFloat8Dynamic && granularity == Granularity::kPerRow &&
      weight.dtype != DataType::kBFloat16)
    return Refusal{
        RefusalReason::kDtype,
        "PerRow quantization only works for bfloat16 precision input weight"};
  RowReader reader(weight);
  for (int64_t row = 0; row < weight.rows; ++row) {
    if (!IsFinite(GreatestMagnitude(reader.Row(row), weight.columns)))
      return Refusal{RefusalReason::kNotFinite, "weight is not finite"};
  }
  return std::nullopt;
}

}  // namespace aitune::quant
