#include "compiler/fusion/Passes.h"

namespace aitune {
namespace {
#define GEN_PASS_REGISTRATION
#include "compiler/fusion/Passes.h.inc"
} // namespace

void registerFusionPasses() { registerAitFusionPasses(); }
} // namespace aitune
