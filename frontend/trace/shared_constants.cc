#include "frontend/trace/shared_constants.h"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

struct Registry {
  using Key = std::tuple<int, int, const void*, DataType, std::vector<int64_t>>;

  static Registry& Get() {
    static auto* const registry = new Registry();
    return *registry;
  }

  std::mutex mutex;
  std::map<Key, std::weak_ptr<const SharedConstant>> copies;
};

}  // namespace

std::shared_ptr<const SharedConstant> CopyOfConstant(
    const ConstantTensor& constant, const c10::Device& device) {
  const auto copy = [&] {
    return std::make_shared<const SharedConstant>(
        SharedConstant{TensorOn(constant.view).to(device), constant.owner});
  };
  if (constant.owner == nullptr) return copy();
  Registry& registry = Registry::Get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  for (auto it = registry.copies.begin(); it != registry.copies.end();)
    it = it->second.expired() ? registry.copies.erase(it) : std::next(it);
  std::weak_ptr<const SharedConstant>& known = registry.copies[{
      static_cast<int>(device.type()), device.index(), constant.view.data,
      constant.view.dtype, constant.view.sizes}];
  std::shared_ptr<const SharedConstant> shared = known.lock();
  if (shared == nullptr) known = shared = copy();
  return shared;
}

int64_t PartOf(const std::shared_ptr<const SharedConstant>& copy) {
  return static_cast<int64_t>(copy->tensor.nbytes()) / copy.use_count();
}

}  // namespace aitune::frontend
