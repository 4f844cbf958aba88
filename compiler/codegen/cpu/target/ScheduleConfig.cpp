#include "compiler/codegen/cpu/target/ScheduleConfig.h"

#include "compiler/codegen/cpu/target/Grain.h"
#include "llvm/Support/FormatVariadic.h"

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

} // namespace aitune
