// The pass that finds how contractions see their operands.
#ifndef AITUNE_COMPILER_CODEGEN_CONTRACTION_PASSES_H
#define AITUNE_COMPILER_CODEGEN_CONTRACTION_PASSES_H

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace aitune {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/codegen/contraction/Passes.h.inc"

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CONTRACTION_PASSES_H
