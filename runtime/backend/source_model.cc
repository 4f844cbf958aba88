#include "runtime/backend/source_model.h"

namespace aitune {

std::vector<RegionValue> Values(const Sample& sample) {
  std::vector<RegionValue> values;
  values.reserve(sample.size());
  for (const OwnedValue& value : sample) values.push_back(value.value);
  return values;
}

}  // namespace aitune
