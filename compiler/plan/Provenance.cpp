#include "compiler/plan/Provenance.h"

#include "absl/strings/str_cat.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace mlir;

namespace aitune {

static void collectTraceOps(Operation *op, std::set<int64_t> &positions) {
  op->getLoc()->walk([&](Location location) {
    if (auto fused = dyn_cast<FusedLoc>(location))
      if (auto position = dyn_cast_or_null<IntegerAttr>(fused.getMetadata()))
        positions.insert(position.getInt());
    return WalkResult::advance();
  });
}

std::vector<int64_t> traceOps(func::FuncOp kernel,
                              ArrayRef<ait::LaunchOp> launches) {
  std::set<int64_t> positions;
  kernel->walk([&](Operation *op) { collectTraceOps(op, positions); });
  for (ait::LaunchOp launch : launches)
    collectTraceOps(launch, positions);
  return {positions.begin(), positions.end()};
}

std::vector<int64_t> traceOps(Operation *op) {
  std::set<int64_t> positions;
  collectTraceOps(op, positions);
  return {positions.begin(), positions.end()};
}

std::string describe(Operation *op) {
  std::string text = op->getName().getStringRef().str(), name, place;
  op->getLoc()->walk([&](Location location) {
    if (auto named = dyn_cast<NameLoc>(location); named && name.empty())
      name = named.getName().getValue().rsplit('/').second.empty()
                 ? named.getName().str()
                 : named.getName().getValue().rsplit('/').second.str();
    if (auto file = dyn_cast<FileLineColLoc>(location); file && place.empty())
      place = absl::StrCat(
          llvm::sys::path::filename(file.getFilename().getValue()).str(), ":",
          file.getLine());
    return WalkResult::advance();
  });
  if (!name.empty())
    absl::StrAppend(&text, " of ", name);
  if (!place.empty())
    absl::StrAppend(&text, " at ", place);
  return text;
}

} // namespace aitune
