#include "frontend/trace/libtorch_operands.h"

#include "absl/container/flat_hash_set.h"

namespace aitune::frontend {

bool RepeatsElements(absl::string_view op) {
  return op == "aten::expand" || op == "aten::expand_as" ||
         op == "aten::broadcast_to";
}

bool FillsTensor(absl::string_view op) {
  static const auto* const names = new absl::flat_hash_set<absl::string_view>{
      "aten::full",      "aten::full_like", "aten::new_full",
      "aten::new_ones",  "aten::new_zeros", "aten::ones",
      "aten::ones_like", "aten::zeros",     "aten::zeros_like"};
  return names->contains(op);
}

bool WritesSomeElements(absl::string_view op) {
  static const auto* const names = new absl::flat_hash_set<absl::string_view>{
      "aten::index_add",      "aten::index_copy",  "aten::index_fill",
      "aten::index_put",      "aten::scatter",     "aten::scatter_add",
      "aten::scatter_reduce", "aten::index_reduce"};
  return names->contains(op);
}

}  // namespace aitune::frontend
