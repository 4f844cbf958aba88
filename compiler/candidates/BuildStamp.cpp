#include "compiler/candidates/BuildStamp.h"

namespace aitune {

const std::string &buildStamp() {
  static const auto *const stamp = new std::string(
#include "compiler/candidates/sources.inc"
  );
  return *stamp;
}

} // namespace aitune
