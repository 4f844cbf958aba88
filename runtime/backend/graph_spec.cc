#include "runtime/backend/graph_spec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace aitune {
namespace {

bool HasAxis(const GraphSpec& spec, AxisSpec::Kind kind) {
  for (const InputSpec& input : spec.inputs) {
    for (const AxisSpec& axis : input.axes) {
      if (axis.kind == kind) return true;
    }
  }
  return false;
}

}  // namespace

std::string InputSpec::ToString() const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < axes.size(); ++i) {
    switch (axes[i].kind) {
      case AxisSpec::Kind::kFixed:
        texts.push_back(absl::StrCat(axes[i].size));
        break;
      case AxisSpec::Kind::kBatch:
        texts.push_back(absl::StrCat("batch", i));
        break;
      case AxisSpec::Kind::kDynamic:
        texts.push_back(absl::StrCat("dim", i));
        break;
    }
  }
  return absl::StrCat(std::string(Name(dtype)), "[", absl::StrJoin(texts, ", "),
                      "]");
}

bool GraphSpec::has_batch_axis() const {
  return HasAxis(*this, AxisSpec::Kind::kBatch);
}

bool GraphSpec::has_dynamic_axis() const {
  return HasAxis(*this, AxisSpec::Kind::kDynamic);
}

std::string GraphSpec::ToString() const {
  return absl::StrJoin(inputs, ", ",
                       [](std::string* out, const InputSpec& input) {
                         absl::StrAppend(out, input.ToString());
                       });
}

}  // namespace aitune
