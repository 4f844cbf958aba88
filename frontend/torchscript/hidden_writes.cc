#include "frontend/torchscript/hidden_writes.h"

#include <set>
#include <string>

namespace aitune::frontend {

HiddenWrites HiddenWritesOf(const c10::FunctionSchema& schema) {
  static const auto* const kNames =
      new std::set<std::string>{"aten::batch_norm",
                                "aten::native_batch_norm",
                                "aten::_batch_norm_impl_index",
                                "aten::cudnn_batch_norm",
                                "aten::miopen_batch_norm",
                                "aten::instance_norm",
                                "aten::batch_norm_update_stats",
                                "aten::batch_norm_gather_stats",
                                "aten::batch_norm_gather_stats_with_counts"};
  HiddenWrites writes;
  if (kNames->count(schema.name()) == 0) return writes;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const std::string& name = schema.arguments()[i].name();
    if (name == "running_mean" || name == "running_var")
      writes.arguments.push_back(i);
    if (name == "training" || name == "use_input_stats") writes.flag = i;
  }
  return writes;
}

bool MayGiveArgument(const c10::FunctionSchema& schema) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::type_as",         "aten::atleast_1d",
      "aten::atleast_2d",      "aten::atleast_3d",
      "aten::einsum",          "aten::sum_to_size",
      "aten::dropout",         "aten::feature_dropout",
      "aten::alpha_dropout",   "aten::feature_alpha_dropout",
      "aten::conj_physical",   "aten::cartesian_prod",
      "aten::meshgrid",        "aten::broadcast_tensors",
      "aten::to_dense",        "aten::dequantize",
      "aten::channel_shuffle", "aten::chain_matmul",
      "aten::unsafe_split",    "aten::unsafe_split_with_sizes",
      "aten::unsafe_chunk",    "aten::lift"};
  const std::string& name = schema.name();
  return kNames->count(name) > 0 || name.rfind("aten::_cast_", 0) == 0;
}

}  // namespace aitune::frontend
