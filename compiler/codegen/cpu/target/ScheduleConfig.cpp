#include "compiler/codegen/cpu/target/ScheduleConfig.h"

#include <algorithm>
#include <cmath>

#include "compiler/codegen/cpu/target/Grain.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {

void writeNumbers(Builder &builder,
                  ArrayRef<std::pair<StringRef, int64_t>> numbers,
                  NamedAttrList &config) {
  for (auto [name, value] : numbers)
    config.set(name, builder.getI64IntegerAttr(value));
}

void readNumbers(DictionaryAttr config,
                 ArrayRef<std::pair<StringRef, int64_t *>> numbers) {
  if (!config)
    return;
  for (auto [name, value] : numbers)
    if (auto attribute = config.getAs<IntegerAttr>(name))
      *value = attribute.getInt();
}

std::string describeGrain(int64_t grain) {
  if (grain == kSerialGrain)
    return " one thread";
  return grain > 0 ? std::string(llvm::formatv(" grain{0}", grain)) : "";
}

double log2Of(int64_t value) {
  return std::log2(double(std::max<int64_t>(value, 1)));
}

double paddingOf(int64_t size, int64_t tile) {
  size = std::max<int64_t>(size, 1);
  return double(llvm::alignTo(size, tile)) / double(size);
}

} // namespace aitune
