#include "compiler/pipelines/Pipelines.h"

#include "compiler/codegen/contraction/Passes.h"
#include "compiler/codegen/cpu/contraction/Passes.h"
#include "compiler/codegen/cpu/loops/Passes.h"
#include "compiler/codegen/linalg/Passes.h"
#include "compiler/dialect/Ait.h"
#include "compiler/fusion/Passes.h"
#include "compiler/pipelines/ExtensionPoints.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace aitune {

void registerCompilerDialects(DialectRegistry &registry) {
  registry.insert<ait::AitDialect, affine::AffineDialect, arith::ArithDialect,
                  func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect, vector::VectorDialect>();
}

void buildTransformPipeline(OpPassManager &passManager,
                            const TransformOptions &options) {
  addRegisteredPasses(PassPoint::AfterImport, passManager);
  OpPassManager &functions = passManager.nest<func::FuncOp>();
  const DeviceFacts &device = options.device;
  // The import is verbose on purpose: what folds away here need not be matched
  // by any later pattern.
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  // No device has code for transposed convolutions. Before filters are folded:
  // it moves some.
  functions.addPass(createTransposedConvolutions());
  // Before filters are folded: it moves some.
  if (!device.hasVolumeKernels)
    functions.addPass(createVolumesToPlanes());
  // Before the layout pass: filters of one dimension, and of volumes that
  // became planes, are moved constants still, that nothing else had its hands
  // on.
  functions.addPass(createFoldFilters(options.pool));
  functions.addPass(
      createRelaxChecks({options.uncheckedIndices,
                         options.uncheckedIndices || device.dividesByZero},
                        options.constants));
  // Before attention is looked for: its scale and mask stand at the scores
  // then, not behind reshapes and broadcasts.
  functions.addPass(createSimplify({device.sharesReductions}));
  // Before softmax is taken apart: attention is recognised by it.
  functions.addPass(createFormAttention());
  // Before the softmax that it makes is taken apart.
  if (device.mostKeptElements)
    functions.addPass(createAttentionToMatmuls({*device.mostKeptElements}));
  // Fusion then sees only pointwise operations, reductions and data movement
  // beside the contractions. Where threads share reductions, few large groups
  // are taken apart.
  functions.addPass(
      createDecompose({device.sharesReductions ? device.busyResults : 0}));
  if (!device.hasFewChannelKernels)
    functions.addPass(createPatchesToMatmul());
  if (device.sharesReductions) {
    functions.addPass(createArgExtremaToReductions());
    functions.addPass(createPoolsToReductions());
  }
  // Before layouts are chosen.
  if (!device.readsPlanes)
    functions.addPass(createPlanesToMatmul());
  // After decomposition, so that permutes sink through what normalisations are
  // made of.
  functions.addPass(createLayout({device.hasDepthwisePlaneKernels}));
  if (device.idlesInMatmuls)
    functions.addPass(createMergeMatmuls());
  // Reshapes and broadcasts that would part a contraction from its epilogue
  // move below it.
  functions.addPass(createSimplify({device.sharesReductions}));
  // After permutes and reshapes sank below reductions: their axes are then in
  // the order of memory, and as few as can be.
  if (device.sharesReductions)
    functions.addPass(createSplitReductions({device.busyResults}));
  // After reshapes sank as far as they go: what stays of them parts kernels.
  functions.addPass(createWidenAtReaders());
  // Permutes that met cancel, and those that moved only axes of size 1 become
  // free reshapes.
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  // One call of LibTorch for operators that follow each other.
  functions.addPass(createMergeFallbacks());
  addRegisteredPasses(PassPoint::AfterTransforms, passManager);
}

void buildFusionPipeline(OpPassManager &passManager, RejectFunction reject) {
  // Kernels while all is still in one function: grouping needs every use.
  passManager.nest<func::FuncOp>().addPass(
      createFormKernels(std::move(reject)));
  // Grouping clones what is cheap to recompute and leaves the originals dead.
  passManager.nest<func::FuncOp>().addPass(createCanonicalizerPass());
  // One function a kernel, identical ones once: the layers of a transformer
  // share all of theirs.
  passManager.addPass(createOutlineKernels());
  addRegisteredPasses(PassPoint::AfterFusion, passManager);
}

void buildKernelToLinalgPipeline(OpPassManager &passManager,
                                 bool emulateEagerCasts) {
  addRegisteredPasses(PassPoint::BeforeCodegen, passManager);
  // First, so that no later phase meets arithmetic in f16 or bf16.
  passManager.nest<func::FuncOp>().addPass(
      createPromoteKernelArithmetic({emulateEagerCasts}));
  // Removes a rounding to a narrow type whose result is widened again at once.
  // Eager rounds there, so the roundings stay where its results are wanted.
  if (!emulateEagerCasts)
    passManager.nest<func::FuncOp>().addPass(createCanonicalizerPass());
  // Loop kernels only: contractions keep their operation, for which their
  // generators have templates.
  passManager.addPass(createLowerToLinalgPass());
  // Last, as what it finds holds for the operands as they are: both devices'
  // templates read it.
  passManager.nest<func::FuncOp>().addPass(createAnalyzeContractions());
}

void buildKernelToLoopsPipeline(OpPassManager &passManager,
                                const std::string &target) {
  // Each of these takes the kernels of its family and leaves others alone.
  passManager.addPass(createCpuLowerContractionsPass({target}));
  passManager.addPass(createCpuLowerLoopsPass({target}));
}

} // namespace aitune
