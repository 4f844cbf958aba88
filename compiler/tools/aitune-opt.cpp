// aitune-opt: runs passes, and the compiler's phases by name, over MLIR text,
// for FileCheck tests and by hand.
#include "compiler/codegen/contraction/Passes.h"
#include "compiler/codegen/cpu/contraction/Passes.h"
#include "compiler/codegen/cpu/llvm/Passes.h"
#include "compiler/codegen/cpu/loops/Passes.h"
#include "compiler/codegen/gpu/Passes.h"
#include "compiler/codegen/linalg/Passes.h"
#include "compiler/dialect/Ait.h"
#include "compiler/fusion/Passes.h"
#include "compiler/pipelines/RegisterPipelines.h"
#include "compiler/transforms/Passes.h"
#include "quant/transforms/registered_pass.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::ait::AitDialect, mlir::affine::AffineDialect,
                  mlir::arith::ArithDialect,
                  mlir::bufferization::BufferizationDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::linalg::LinalgDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect,
                  mlir::vector::VectorDialect>();
  mlir::registerTransformsPasses();
  aitune::registerTransformsPasses();
  aitune::registerFusionPasses();
  aitune::registerCodegenLinalgPasses();
  aitune::registerCodegenContractionPasses();
  aitune::registerCpuLLVMPasses();
  aitune::registerCpuLoopPasses();
  aitune::registerCpuContractionPasses();
  aitune::registerCodegenGpuPasses();
  aitune::registerPipelines();
  aitune::quant::RegisterQuantizeLayers();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "AITune's passes over MLIR\n", registry));
}
