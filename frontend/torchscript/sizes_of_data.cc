#include "frontend/torchscript/sizes_of_data.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>

#include <set>
#include <string>

namespace aitune::frontend {

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
  if (kNames->count(schema.name()) > 0) return true;
  const auto handle =
      c10::Dispatcher::singleton().findSchema(schema.operator_name());
  return handle && handle->hasTag(at::Tag::dynamic_output_shape);
}

}  // namespace aitune::frontend
