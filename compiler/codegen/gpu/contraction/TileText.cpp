// What a tile is called: by people, and by the kernels that compute it, with
// the device code that these need.
#include "compiler/codegen/gpu/contraction/TileConfig.h"
#include "compiler/codegen/gpu/contraction/WarpgroupInstruction.h"
#include "compiler/codegen/gpu/text/KernelText.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {

const char *TileConfig::algorithmName() const {
  switch (algorithm) {
  case Algorithm::Mma:
    return "mma";
  case Algorithm::Wgmma:
    return "wgmma";
  case Algorithm::Persistent:
    return "persistent";
  case Algorithm::Simt:
    return "simt";
  case Algorithm::Stream:
    return "stream";
  }
  llvm_unreachable("all algorithms have names");
}

std::string TileConfig::description() const {
  std::string text =
      llvm::formatv("{0} {1}x{2}, {3} stages", algorithmName(), m, n, stages);
  if (slices > 1)
    text += llvm::formatv(", {0} slices", slices);
  if (splits > 1)
    text += llvm::formatv(", {0} splits", splits);
  if (isPacked && !isPersistent())
    text += ", packed";
  return text;
}

std::string TileConfig::product(const std::string &sum,
                                const std::string &element,
                                const std::string &elementOfB, bool constantB,
                                const std::string &first,
                                const std::string &last) const {
  if (isPacked)
    return llvm::formatv("{4} *tile = multiplyTileByPackedGroups<Core, {0}, "
                         "{1}, {2}>(a, packed, {3}, shared);",
                         m, n, stages, last, sum);
  const char *constant = constantB ? "true" : "false";
  std::string call =
      isStream()
          ? llvm::formatv("{0}, {1}, {2}, {3}, {4}, {5}>",
                          widensB
                              ? "multiplyCodeStream<" +
                                    (element == elementOfB ? "half" : element) +
                                    ", " + elementOfB
                              : "multiplyStream<" + element,
                          m, n, stages, streamDepth, constant)
                .str()
          : llvm::formatv("{0}<Core, {1}, {2}, {3}, {4}>",
                          !isWgmma() ? "multiplyTile"
                          : widensB  ? "multiplyTileByCodeGroups"
                                     : "multiplyTileByGroups",
                          m, n, stages, constant)
                .str();
  return llvm::formatv("{3} *tile = {0}(a, b, {1}, {2}, shared);", call, first,
                       last, sum);
}

std::string TileConfig::core(const std::string &element,
                             const std::string &elementOfB,
                             bool rowsOfB) const {
  if (isStream())
    return "";
  if (isPersistent())
    return llvm::formatv("PersistentGroups<{0}, {1}, {2}, {3}>", element, m, n,
                         stages);
  if (isSimt())
    return llvm::formatv("SimtCore<{0}, {1}>", m, n);
  if (widensB && isWgmma())
    return llvm::formatv("CodeGroupCore<{0}, {1}, {2}, {3}>", element,
                         elementOfB, m, n);
  if (widensB)
    return llvm::formatv("CodeCore<{0}, {1}, {2}, {3}, {4}, {5}>", element,
                         elementOfB, m, n, warpM, warpN);
  if (isWgmma())
    return llvm::formatv("WgmmaCore<{0}, {1}, {2}>", element, m, n);
  return llvm::formatv("MmaCore<{0}, {1}, {2}, {3}, {4}, {5}, {6}>", element, m,
                       n, warpM, warpN, slices, rowsOfB ? "true" : "false");
}

std::string TileConfig::deviceCode(Type element) const {
  std::string text;
  auto add = [&](StringRef part) {
    text += part;
    text += "\n";
  };
  if (isWgmma() || isPersistent()) {
    // Multiplies 64 rows of A with all rows of B; with widensB, 64 rows of B
    // with all rows of A.
    add(WarpgroupInstruction{element, widensB ? m : n, widensB}.define(
        "multiplyGroup"));
    add(preludeText("Wgmma"));
  }
  if (isPersistent())
    add(preludeText("PersistentGroups"));
  if (widensB)
    add(preludeText("Codes"));
  else if (isStream())
    add(preludeText("Stream"));
  if (widensB && isWgmma())
    add(preludeText("CodeGroups"));
  return text;
}

} // namespace aitune
