#include "compiler/fusion/KernelFunction.h"

#include "compiler/dialect/KernelAttributes.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;

namespace aitune {

func::FuncOp createKernelFunction(OpBuilder &builder, Location location,
                                  llvm::StringRef name, FunctionType type,
                                  ait::KernelKind kind) {
  auto function = func::FuncOp::create(builder, location, name, type);
  function.setPrivate();
  ait::setKernelKind(function, kind);
  ait::setScheduleConfig(function, builder.getDictionaryAttr({}));
  return function;
}

std::string describeSource(Location location) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  location->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner)) {
      stream << file.getFilename().getValue() << ":" << file.getLine();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return text;
}

std::string describeScope(Location location) {
  std::string scope;
  location->walk([&](Location inner) {
    auto named = dyn_cast<NameLoc>(inner);
    if (!named)
      return WalkResult::advance();
    const llvm::StringRef name = named.getName().getValue();
    if (name.contains('/'))
      scope = name.rsplit('/').first.str();
    return WalkResult::interrupt();
  });
  return scope;
}

double estimateBytes(RankedTensorType type) {
  double elements = 1;
  for (int64_t size : type.getShape())
    elements *= ShapedType::isDynamic(size) ? 128.0 : double(size);
  return elements * std::max(type.getElementTypeBitWidth() / 8, 1u);
}

} // namespace aitune
