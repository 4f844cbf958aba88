#include "tests/operators/accepted_differences.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace aitune {
namespace {

bool Fits(const char* list, const std::string& name) {
  const std::vector<std::string> names =
      absl::StrSplit(list, ' ', absl::SkipEmpty());
  return names.empty() ||
         std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const std::vector<AcceptedDifference>& AcceptedDifferences() {
  static const auto& differences = *new std::vector<AcceptedDifference>{
      {"", "", "Float Double Half BFloat16", "extreme", "", true, false,
       "sums and products of the largest numbers overflow, and cancel to NaN, "
       "in an order that is not eager's"},
      {"sort argsort", "(x)", "", "", "cuda", false, false,
       "the order of equal elements is not specified"},
      {"sort", "(m, 1, True)", "", "", "cuda", false, false,
       "the order of equal elements is not specified"},
      {"_transformer_encoder_layer_fwd", "", "Int Long Short Byte Char Bool",
       "plain", "", false, false,
       "no integers are normalised; eager alone does not look at the dtype of "
       "no elements"},
      {"var_mean std_mean", "", "Float Double Half BFloat16", "infinite", "",
       false, false,
       "eager's running mean subtracts infinities: NaN where a mean is "
       "infinite"},
      {"scaled_dot_product_attention "
       "_scaled_dot_product_flash_attention_for_cpu",
       "", "Float Double Half BFloat16", "nan", "", false, false,
       "eager's fused attention takes a row of scores that holds NaN for one "
       "that is masked throughout"},
      {"", "", "BFloat16", "extreme", "cpu", false, true,
       "the CPU's conversions to bfloat16 give 0 for denormal results"},
      {"upsample_trilinear3d", "[4, 3, 5]", "Float Double Half BFloat16",
       "infinite", "", false, false,
       "ours does not interpolate an axis that keeps its size; eager adds 0 "
       "times each element, NaN for an infinite one"},
      {"upsample_linear1d upsample_bilinear2d upsample_trilinear3d", "[1.05",
       "Float Double Half BFloat16", "infinite", "", false, false,
       "ours does not interpolate an axis that keeps its size; eager adds 0 "
       "times each element, NaN for an infinite one"},
      {"remainder fmod floor_divide", "", "Float Double Half BFloat16",
       "extreme", "", false, false,
       "eager's vectors have no remainder for quotients beyond the mantissa; "
       "ours is exact"},
      {"conv_transpose1d", "", "BFloat16", "infinite", "cpu", false, true,
       "oneDNN takes channels by twos, the last of an odd number with what "
       "lies beside it times 0: NaN; a check on such inputs repairs it"},
      {"conv1d", "None, 1, $n)", "BFloat16", "nan infinite", "cpu", false, true,
       "eager's padding times the filter is 0 or NaN by the number of threads "
       "and the strides"},
      {"rms_norm", "", "Double", "infinite", "cuda", false, false,
       "eager gives NaN for the whole row of an infinity, 0 on a CPU, as ours"},
      {"grid_sampler grid_sampler_2d", "", "Float Double Half BFloat16",
       "nan infinite", "cuda", false, false,
       "eager gives 0 at coordinates that are no numbers, NaN on a CPU, as "
       "ours"},
      {"addcmul", "", "Float Double Half BFloat16", "extreme", "cuda", false,
       false, "eager multiplies by the value first, which may overflow alone"},
  };
  return differences;
}

bool MayOccur(const AcceptedDifference& difference) {
  return !difference.only_avx512 || __builtin_cpu_supports("avx512f");
}

int FindAcceptedDifference(const Combination& combination,
                           const OperatorCall& call, const CallResult& result,
                           const std::string& device) {
  const std::vector<AcceptedDifference>& all = AcceptedDifferences();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const AcceptedDifference& one) {
        return result.outcome != Outcome::kDies && MayOccur(one) &&
               (!one.only_sums || call.kind == OperatorCall::Kind::kSum) &&
               Fits(one.ops, call.op) &&
               absl::StrContains(call.call, one.calls) &&
               Fits(one.dtypes, c10::toString(combination.dtype)) &&
               Fits(one.sets, result.set) && Fits(one.devices, device);
      });
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

}  // namespace aitune
