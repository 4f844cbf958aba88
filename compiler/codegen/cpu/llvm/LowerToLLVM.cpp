#include "compiler/codegen/cpu/llvm/LowerToLLVM.h"

#include "compiler/codegen/cpu/llvm/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace aitune {

void buildLowerToLLVMPipeline(OpPassManager &passManager,
                              const Target &target) {
  // A program's conversions alone: those of approximations, which come next,
  // have no other use for what is out of range than that it is some number.
  passManager.addPass(createCpuDefineConversionsPass());
  // Approximations are written in arith and profit from the same clean-up.
  CpuExpandMathPassOptions mathOptions;
  mathOptions.hasBfloat16 = target.hasAvx512Bf16;
  mathOptions.hasScale = target.hasAvx512;
  mathOptions.vectorMathBits = target.hasVectorMath ? target.vectorBits : 0;
  passManager.addPass(createCpuExpandMathPass(mathOptions));
  // Strided memref accesses turn into plain address arithmetic.
  passManager.addPass(memref::createExpandStridedMetadataPass());
  // Which leaves affine.apply, and tile bounds are affine maps anyway.
  passManager.addPass(createLowerAffinePass());
  // One constant each; loop-invariant address parts merge before LLVM sees
  // them.
  passManager.addPass(createCSEPass());
  // Transfers and multi-dimensional vectors become one-dimensional ones; needs
  // scf, so before control flow is flattened.
  passManager.addPass(createConvertVectorToSCFPass());
  passManager.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectorOptions;
  vectorOptions.reassociateFPReductions = true;
  vectorOptions.x86Vector = target.hasAvx2 || target.hasAvx512;
  vectorOptions.amx = target.hasAmxBf16 || target.hasAmxInt8;
  passManager.addPass(createConvertVectorToLLVMPass(vectorOptions));
  // The remaining dialects, in any order: each leaves casts that the last line
  // resolves.
  passManager.addPass(createConvertMathToLLVMPass());
  passManager.addPass(createFinalizeMemRefToLLVMConversionPass());
  passManager.addPass(createArithToLLVMConversionPass());
  passManager.addPass(createConvertIndexToLLVMPass());
  passManager.addPass(createUBToLLVMConversionPass());
  passManager.addPass(createConvertControlFlowToLLVMPass());
  passManager.addPass(createConvertFuncToLLVMPass());
  passManager.addPass(createReconcileUnrealizedCastsPass());
  // On LLVM's conversions, so that it is behind all that make some.
  passManager.addPass(createCpuFreezeConversionsPass());
}

LogicalResult lowerToLLVM(ModuleOp module, const Target &target) {
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.isDeclaration())
      function.erase();
  PassManager passManager(module.getContext());
  buildLowerToLLVMPipeline(passManager, target);
  return passManager.run(module);
}

} // namespace aitune
