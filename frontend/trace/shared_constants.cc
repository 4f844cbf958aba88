#include "frontend/trace/shared_constants.h"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

struct Registry {
  // The last one is a hash of the content: what the model writes in place is
  // another constant for the versions that are made after it.
  using Key =
      std::tuple<int, int, const void*, DataType, std::vector<int64_t>, size_t>;

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
  const size_t content = absl::HashOf(
      absl::string_view(static_cast<const char*>(constant.view.data),
                        static_cast<size_t>(BytesOf(constant.view))));
  Registry& registry = Registry::Get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  for (auto it = registry.copies.begin(); it != registry.copies.end();)
    it = it->second.expired() ? registry.copies.erase(it) : std::next(it);
  std::weak_ptr<const SharedConstant>& known = registry.copies[{
      static_cast<int>(device.type()), device.index(), constant.view.data,
      constant.view.dtype, constant.view.sizes, content}];
  std::shared_ptr<const SharedConstant> shared = known.lock();
  if (shared == nullptr) known = shared = copy();
  return shared;
}

int64_t PartOf(const std::shared_ptr<const SharedConstant>& copy) {
  return static_cast<int64_t>(copy->tensor.nbytes()) / copy.use_count();
}

}  // namespace aitune::frontend
