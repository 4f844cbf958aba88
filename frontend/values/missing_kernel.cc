#include "frontend/values/missing_kernel.h"

#include "absl/strings/match.h"

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

std::optional<c10::ScalarType> MissingDtype(absl::string_view message) {
  for (const absl::string_view text : kNoDtype) {
    const size_t found = message.find(text);
    if (found == absl::string_view::npos) continue;
    absl::string_view rest = message.substr(found + text.size());
    rest = rest.substr(0, rest.find_first_of("'\n. "));
    for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
      const auto dtype = static_cast<c10::ScalarType>(i);
      if (rest == c10::toString(dtype)) return dtype;
    }
  }
  return std::nullopt;
}

}  // namespace aitune::frontend
