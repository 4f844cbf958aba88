#include "frontend/values/missing_kernel.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace aitune::frontend {
namespace {

// Before the name of a dtype: of AT_DISPATCH macros ("\"nms_kernel\" not
// implemented for 'Half'") and of Fourier transforms.
constexpr absl::string_view kNoDtype[] = {"not implemented for '",
                                          "Unsupported dtype "};
// Of the dispatcher, before the name of an operator: it has no code for the
// device.
constexpr absl::string_view kNoDevice = "Could not run '";

}  // namespace

bool IsMissingKernel(absl::string_view message) {
  for (const absl::string_view text : kNoDtype) {
    if (absl::StrContains(message, text)) return true;
  }
  return absl::StrContains(message, kNoDevice);
}

bool IsMissingInHalf(absl::string_view message) {
  for (const absl::string_view text : kNoDtype) {
    for (const absl::string_view dtype : {"Half", "BFloat16", "ComplexHalf"}) {
      if (absl::StrContains(message, absl::StrCat(text, dtype))) return true;
    }
  }
  return false;
}

}  // namespace aitune::frontend
