#include "frontend/torchscript/operator_tags.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <set>
#include <string>

namespace aitune::frontend {

bool HasTag(const c10::FunctionSchema& schema, at::Tag tag) {
  const auto handle =
      c10::Dispatcher::singleton().findSchema(schema.operator_name());
  return handle && handle->hasTag(tag);
}

bool HasSizesOfData(const c10::FunctionSchema& schema) {
  static const auto* const kNames =
      new std::set<std::string>{"aten::nonzero",
                                "aten::nonzero_numpy",
                                "aten::argwhere",
                                "aten::masked_select",
                                "aten::unique",
                                "aten::_unique",
                                "aten::_unique2",
                                "aten::unique_dim",
                                "aten::unique_consecutive",
                                "aten::unique_dim_consecutive",
                                "aten::bincount",
                                "aten::one_hot",
                                "aten::boxes_nms",
                                "torchvision::nms",
                                "aten::tolist",
                                "aten::nested_tensor",
                                "aten::to_sparse",
                                "aten::linalg_lstsq",
                                "aten::_pack_padded_sequence"};
  return kNames->count(schema.name()) > 0 ||
         HasTag(schema, at::Tag::dynamic_output_shape);
}

}  // namespace aitune::frontend
