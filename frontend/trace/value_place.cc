#include "frontend/trace/value_place.h"

#include "absl/strings/str_cat.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {

std::string ValuePlace::Text() const {
  if (around == nullptr) return absl::StrCat("input ", child);
  return absl::StrCat(around->Text(), "[",
                      parent->kind == Structure::Kind::kDict
                          ? parent->keys[child]
                          : absl::StrCat(child),
                      "]");
}

absl::Status Mismatch(const std::string& place, const std::string& expected,
                      const c10::IValue& given) {
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": the model was compiled for ", expected,
                   ", given is ", Describe(given)));
}

}  // namespace aitune::frontend
