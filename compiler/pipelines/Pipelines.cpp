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
namespace {
// Groups that keep most of a large GPU busy, which has 132 multiprocessors.
constexpr int64_t kEnoughGroups = 128;
// The greatest depth of the kernels for attention of a GPU
// (codegen/gpu/contraction).
constexpr int64_t kMostDepth = 256;
} // namespace

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
  // The import is verbose on purpose: what folds away here need not be matched
  // by any later pattern.
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  // No device has code for transposed convolutions. Before filters are folded:
  // it moves some.
  functions.addPass(createTransposedConvolutions());
  // On a CPU alone, whose kernels are for images. Before filters are folded: it
  // moves some.
  if (!options.onCuda)
    functions.addPass(createVolumesToPlanes());
  // Before the layout pass: filters of one dimension, and on a CPU of three,
  // are moved constants still, that nothing else had its hands on.
  functions.addPass(createFoldFilters(options.pool));
  // Eager on a GPU divides integers by 0 without an error.
  functions.addPass(createRelaxChecks(
      {options.uncheckedIndices, options.uncheckedIndices || options.onCuda},
      options.constants));
  // Before attention is looked for: its scale and mask stand at the scores
  // then, not behind reshapes and broadcasts.
  functions.addPass(createSimplify());
  // Before softmax is taken apart: attention is recognised by it.
  functions.addPass(createFormAttention());
  // On a GPU alone: a CPU's kernels have any depth. Before the softmax that it
  // makes is taken apart.
  if (options.onCuda)
    functions.addPass(createAttentionToMatmuls({kMostDepth}));
  // Fusion then sees only pointwise operations, reductions and data movement
  // beside the contractions. A GPU takes few large groups apart; a core of a
  // CPU normalises a group by itself.
  functions.addPass(createDecompose({options.onCuda ? kEnoughGroups : 0}));
  // On a GPU alone: oneDNN has kernels for few channels.
  if (options.onCuda)
    functions.addPass(createPatchesToMatmul());
  // On a GPU alone: a core of a CPU reduces a row by itself.
  if (options.onCuda)
    functions.addPass(createArgExtremaToReductions());
  // On a GPU alone: a core of a CPU pools a window by itself.
  if (options.onCuda)
    functions.addPass(createPoolsToReductions());
  // On a CPU alone: a GPU's libraries read planes as they are. Before layouts
  // are chosen.
  if (!options.onCuda)
    functions.addPass(createPlanesToMatmul());
  // After decomposition, so that permutes sink through what normalisations are
  // made of. The CPU has a kernel for planes of depthwise convolutions.
  functions.addPass(createLayout({/*depthwisePlanes=*/!options.onCuda}));
  // On a GPU alone: one such matmul leaves most of a GPU idle. On a CPU it
  // keeps all cores busy, and the joined weights could not be packed at load,
  // since the CPU's kernels pack constants of the pool alone.
  if (options.onCuda)
    functions.addPass(createMergeMatmuls());
  // Reshapes and broadcasts that would part a contraction from its epilogue
  // move below it.
  functions.addPass(createSimplify());
  // On a GPU alone. After permutes and reshapes sank below reductions: their
  // axes are then in the order of memory, and as few as can be.
  if (options.onCuda)
    functions.addPass(createSplitReductions({kEnoughGroups}));
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
