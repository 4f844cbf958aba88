#include "runtime/backend/graph_spec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace aitune {
namespace {

bool HasAxis(const GraphSpec& spec, GraphAxis::Kind kind) {
  for (const GraphInput& input : spec.inputs) {
    for (const GraphAxis& axis : input.axes) {
      if (axis.kind == kind) return true;
    }
  }
  return false;
}

}  // namespace

std::string GraphInput::ToString() const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < axes.size(); ++i) {
    switch (axes[i].kind) {
      case GraphAxis::Kind::kFixed:
        texts.push_back(absl::StrCat(axes[i].size));
        break;
      case GraphAxis::Kind::kBatch:
        texts.push_back(absl::StrCat("batch", i));
        break;
      case GraphAxis::Kind::kDynamic:
        texts.push_back(absl::StrCat("dim", i));
        break;
    }
  }
  return absl::StrCat(std::string(Name(dtype)), "[", absl::StrJoin(texts, ", "),
                      "]");
}

bool GraphSpec::has_batch_axis() const {
  return HasAxis(*this, GraphAxis::Kind::kBatch);
}

bool GraphSpec::has_dynamic_axis() const {
  return HasAxis(*this, GraphAxis::Kind::kDynamic);
}

std::string GraphSpec::ToString() const {
  return absl::StrJoin(inputs, ", ",
                       [](std::string* out, const GraphInput& input) {
                         absl::StrAppend(out, input.ToString());
                       });
}

}  // namespace aitune
