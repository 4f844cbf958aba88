#include "compiler/plan/KernelImplementation.h"

#include "llvm/ADT/StringSet.h"

namespace aitune {

std::vector<KernelObject>
objectsOf(llvm::ArrayRef<const KernelImplementation *> implementations) {
  std::vector<KernelObject> objects;
  llvm::StringSet<> symbols;
  for (const KernelImplementation *implementation : implementations)
    for (const KernelObject &object : implementation->objects)
      if (symbols.insert(object.symbol).second)
        objects.push_back(object);
  return objects;
}

} // namespace aitune
