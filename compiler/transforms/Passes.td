// Rewrites of the graph before fusion, and of kernels after it.
#ifndef AITUNE_COMPILER_TRANSFORMS_PASSES_TD
#define AITUNE_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def Decompose : Pass<"ait-decompose", "mlir::func::FuncOp"> {
  let summary = "makes normalisations and softmax of primitives, so that fusion sees one kind of loop";
  let description = [{
    layer_norm, rms_norm, group_norm and softmax become means, pointwise
    operations and broadcasts. f16 and bf16 ones compute in f32 and round once,
    as eager's kernels do.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def Simplify : Pass<"ait-simplify", "mlir::func::FuncOp"> {
  let summary = "moves reshapes and broadcasts out of the way of fusion, and folds arithmetic with fills";
  let description = [{
    Reshapes sink below pointwise operations, reductions and matmuls until they
    cancel or are free; broadcasts sink below pointwise operations, so that
    those compute less; contractions get shared operands of rank 2 and rows in
    memory order. Results stay bit for bit.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def FormAttention : Pass<"ait-form-attention", "mlir::func::FuncOp"> {
  let summary = "makes matmul, softmax and matmul one ait.attention, whose kernel keeps the scores in cache";
  let description = [{
    Runs before softmax is decomposed. Takes scales, additive masks and masked
    fills on the way, in the result's element type or in f32 between
    conversions.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def MergeMatmuls : Pass<"ait-merge-matmuls", "mlir::func::FuncOp"> {
  let summary = "multiplies an input with several weights at once: query, key and value of attention";
  let description = [{
    Weights, biases and scales of codes are joined along their columns, once at
    load; each result becomes a slice. Only where the results are read as they are, by attention
    or another matmul: pointwise operations would no longer be epilogues.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def PatchesToMatmul : Pass<"ait-patches-to-matmul", "mlir::func::FuncOp"> {
  let summary = "convolutions of patches that do not overlap as matmuls";
  let description = [{
    The first layer of a vision transformer: its few channels do not fill what
    convolution kernels read at once, while whole patches do.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def Layout : Pass<"ait-layout", "mlir::func::FuncOp"> {
  let summary = "gives convolutions and their neighbours channels-last axes, the order their kernels read";
  let description = [{
    Convolutions, pools and upsamples become channels_last between two
    permutes. The permutes after them sink through pointwise operations,
    reductions, concats, pads and slices until they meet the permute before the
    next one and cancel.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def PromoteKernelArithmetic : Pass<"ait-promote-kernel-arithmetic", "mlir::func::FuncOp"> {
  let summary = "computes f16 and bf16 kernels in f32, rounding where they store";
  let description = [{
    Runs on outlined kernels. Contractions keep their narrow operands and give
    f32; everything else computes in f32. With emulate-eager-casts every
    operation's result is rounded to its tensor's type, as eager does.
  }];
  let options = [
    Option<"emulateEagerCasts", "emulate-eager-casts", "bool", "false",
           "round after every operation as eager does">,
  ];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def RelaxChecks : Pass<"ait-relax-checks", "mlir::func::FuncOp"> {
  let summary = "drops ait.checks that no data can fail, and silences those that are not wanted";
  let description = [{
    Ranges of integers are found from index sequences, fills, constants of the
    pool, symbols' ranges and what is computed of them. A check that counts from
    the end and can't fail is silent, as negative indices still need it.
  }];
  let options = [
    Option<"silenceIndices", "silence-indices", "bool", "false",
           "indices out of range are limited without an error">,
    Option<"silenceDivisors", "silence-divisors", "bool", "false",
           "divisions of integers by 0 give any number without an error">,
  ];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def ArgExtremaToReductions : Pass<"ait-arg-extrema-to-reductions", "mlir::func::FuncOp"> {
  let summary = "turns argmax and argmin along long axes into two reductions";
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def FoldFilters : Pass<"ait-fold-filters", "mlir::func::FuncOp"> {
  let summary = "makes constants of convolutions' filters that are moved constants";
  let description = [{
    A convolution of one dimension has a reshape between the weight and the
    two-dimensional one that it becomes, one of three dimensions a permute too.
    Only constants of the pool are packed at load.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def MergeFallbacks : Pass<"ait-merge-fallbacks", "mlir::func::FuncOp"> {
  let summary = "joins neighbouring fallbacks, so that one call of LibTorch runs them";
  let dependentDialects = ["mlir::ait::AitDialect"];
}

#endif // AITUNE_COMPILER_TRANSFORMS_PASSES_TD
