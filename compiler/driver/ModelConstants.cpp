#include "compiler/driver/ModelConstants.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace aitune {

ConstantPool ModelConstants::pool() {
  ConstantPool pool;
  pool.find = [this](int64_t number) -> const ConstantTensor * {
    const auto position = static_cast<size_t>(number);
    if (number >= 0 && position < given.size())
      return &given[position];
    if (number < 0 || position - given.size() >= added.size())
      return nullptr;
    return &added[position - given.size()];
  };
  pool.add = [this](ConstantTensor constant) {
    added.push_back(std::move(constant));
    return static_cast<int64_t>(given.size() + added.size()) - 1;
  };
  return pool;
}

void ModelConstants::takeNew() {
  std::vector<ConstantTensor> all(given.begin(), given.end());
  all.insert(all.end(), added.begin(), added.end());
  together = std::move(all);
  constants = together;
}

} // namespace aitune
