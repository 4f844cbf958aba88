#include "compiler/transforms/Passes.h"

namespace aitune {
namespace {
#define GEN_PASS_REGISTRATION
#include "compiler/transforms/Passes.h.inc"
} // namespace

void registerTransformsPasses() { registerAitTransformsPasses(); }
} // namespace aitune
