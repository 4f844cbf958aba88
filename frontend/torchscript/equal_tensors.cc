#include "frontend/torchscript/equal_tensors.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// What equal tensors have in common, and few others: the dtype, the sizes and
// the first bytes.
using Bucket = std::tuple<at::ScalarType, std::vector<int64_t>, std::string>;

Bucket BucketOf(const at::Tensor& tensor) {
  constexpr size_t kBytes = 64;
  return {tensor.scalar_type(), tensor.sizes().vec(),
          std::string(static_cast<const char*>(tensor.const_data_ptr()),
                      std::min(kBytes, tensor.nbytes()))};
}

}  // namespace

std::vector<std::string> NamesOfEqualTensors(const torch::jit::Module& module) {
  std::vector<std::string> names;
  std::map<Bucket, std::vector<at::Tensor>> seen;
  for (const auto& attribute : module.named_attributes()) {
    if (!attribute.value.isTensor()) continue;
    const at::Tensor& tensor = attribute.value.toTensor();
    if (!tensor.defined() || !IsPlainTensor(tensor) ||
        !tensor.is_contiguous() || !tensor.is_floating_point() ||
        tensor.numel() < 2)
      continue;
    std::vector<at::Tensor>& others = seen[BucketOf(tensor)];
    const auto equal = std::find_if(
        others.begin(), others.end(),
        [&](const at::Tensor& other) { return SameContent(tensor, other); });
    if (equal == others.end())
      others.push_back(tensor);
    else if (!equal->is_alias_of(tensor))
      names.push_back(attribute.name);
  }
  return names;
}

}  // namespace aitune::frontend
