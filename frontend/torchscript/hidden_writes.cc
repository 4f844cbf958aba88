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

}  // namespace aitune::frontend
