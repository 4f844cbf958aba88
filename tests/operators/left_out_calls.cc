#include "tests/operators/left_out_calls.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace aitune {
namespace {

bool Fits(const LeftOutCall& left_out, const OperatorCall& call) {
  const std::vector<std::string> names =
      absl::StrSplit(left_out.ops, ' ', absl::SkipEmpty());
  const std::string but = left_out.but;
  return (names.empty() ||
          std::find(names.begin(), names.end(), call.op) != names.end()) &&
         absl::StrContains(call.call, left_out.calls) &&
         (but.empty() || !absl::StrContains(call.call, but));
}

}  // namespace

const std::vector<LeftOutCall>& LeftOutCalls() {
  static const auto& calls = *new std::vector<LeftOutCall>{
      {"_cast_Float _cast_Half _autocast_to_full_precision "
       "_autocast_to_reduced_precision",
       "", "", LeftOutOf::kAll,
       "the operator's name says the precision, which a reference in another "
       "precision then has, too"},
      {"cpu linspace", "", "", LeftOutOf::kAll,
       "the result is on the CPU, where a program on a GPU has nothing else"},
      {"sort argsort topk", "", "stable=True", LeftOutOf::kAll,
       "the order of equal elements is not specified"},
      {"_reshape_alias _weight_norm native_batch_norm "
       "_native_batch_norm_legit_no_training",
       "", "", LeftOutOf::kAll,
       "eager reads beyond operands that have other sizes or strides than in "
       "the call of the table"},
      {"slice_scatter select_scatter diagonal_scatter as_strided_scatter", "",
       "", LeftOutOf::kRepeated,
       "eager writes to a copy of the operand's memory, where elements of "
       "`unfold` are others' too"},
      {"_transformer_encoder_layer_fwd", "", "", LeftOutOf::kAll,
       "eager normalises numbers that are equal but for rounding: its noise"},
      {"floor ceil round trunc fix sign sgn signbit copysign frac "
       "floor_divide remainder fmod hardshrink threshold softplus "
       "grid_sampler grid_sampler_2d linalg_vector_norm bucketize "
       "searchsorted",
       "", "", LeftOutOf::kRounded,
       "results or slopes jump where an operand changes by its rounding"},
      {"", " > ", "", LeftOutOf::kRounded,
       "results jump where an operand changes by its rounding"},
      {"", "rounding_mode", "", LeftOutOf::kRounded,
       "results jump where an operand changes by its rounding"},
  };
  return calls;
}

const LeftOutCall* FindLeftOutCall(const OperatorCall& call) {
  const std::vector<LeftOutCall>& all = LeftOutCalls();
  const auto found =
      std::find_if(all.begin(), all.end(),
                   [&](const LeftOutCall& one) { return Fits(one, call); });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace aitune
