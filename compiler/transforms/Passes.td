// Rewrites of the graph before fusion, and ait-promote-kernel-arithmetic, which
// rewrites kernels after it. compiler/README.md says in which order they run.
#ifndef AITUNE_COMPILER_TRANSFORMS_PASSES_TD
#define AITUNE_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def Decompose : Pass<"ait-decompose", "mlir::func::FuncOp"> {
  let summary = "makes normalisations and softmax of primitives, so that fusion sees one kind of loop";
  let description = [{
    layer_norm, rms_norm, group_norm and softmax become reductions, pointwise
    operations and broadcasts. Those of f16 and bf16 read what is rounded, also
    where their kernel computes it, compute in f32 and round once, as eager's
    kernels do. The statistics of large groups of a group_norm,
    where they are few, come from those of parts of them, which are more
    reductions.
  }];
  let options = [
    Option<"enoughGroups", "enough-groups", "int64_t", "0",
           "the number of groups that keeps the device busy">,
  ];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def Simplify : Pass<"ait-simplify", "mlir::func::FuncOp"> {
  let summary = "moves reshapes and broadcasts out of the way of fusion, and folds arithmetic with constants";
  let description = [{
    - Reshapes sink below pointwise operations, reductions and matmuls until
      they cancel or reach a place where they are free.
    - Broadcasts sink below pointwise operations, which then compute fewer
      elements.
    - Slices and permutes sink below reshapes, so that contractions can read
      them in place.
    - The right side of a matmul that is the same for all batches gets rank 2;
      transposed operands are read in rows; attention broadcasts its mask
      itself. Products of a row or a column are sums where that is faster.
    - Arithmetic on ait.full is computed, identities such as x * 1 disappear,
      divisions by powers of two become products.
    No result changes by a bit, but by the order of such sums.
  }];
  let options = [
    Option<"threadsShareSums", "threads-share-sums", "bool", "false",
           "whether several threads compute a sum, as on a GPU">,
  ];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def WidenAtReaders : Pass<"ait-widen-at-readers", "mlir::func::FuncOp"> {
  let summary = "moves conversions to wider types below reshapes, to the kernels that read them";
  let description = [{
    A reshape parts two kernels. Above it the conversion would be a kernel of its
    own, whose result is read as often as the narrow tensor and is twice as large.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def FormAttention : Pass<"ait-form-attention", "mlir::func::FuncOp"> {
  let summary = "makes matmul, softmax and matmul one ait.attention, whose kernel never stores all scores";
  let description = [{
    Matches a scale of the scores, a mask that is added to them, and a
    replacement of masked scores by a number of at most -1e9, in the result's
    element type or in f32 between conversions, but no scores that are
    converted to a narrower type. ait-decompose must run after
    it, as it is the softmax by which attention is recognised.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def MergeMatmuls : Pass<"ait-merge-matmuls", "mlir::func::FuncOp"> {
  let summary = "makes one matmul of those that multiply one input with different weights, as query, key and value";
  let description = [{
    Weights, biases and scales of codes are joined along the columns, once at
    load, and each result becomes a slice. Only matmuls are merged whose results
    attentions and matmuls read, directly or through views (pointwise operations
    after them would no longer be epilogues), or that have one row or two.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def TransposedConvolutions : Pass<"ait-transposed-convolutions", "mlir::func::FuncOp"> {
  let summary = "turns transposed convolutions into convolutions whose channels are pixels";
  let description = [{
    With a stride s, every s-th pixel of the result is a convolution of the input
    with every s-th element of the filter (Shi et al., "Is the deconvolution layer
    the same as a convolutional layer?", arXiv:1609.07009). One convolution has as
    its channels the pixels that read the same input, and they are put in their
    places then.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def VolumesToPlanes : Pass<"ait-volumes-to-planes", "mlir::func::FuncOp"> {
  let summary = "turns convolutions of volumes into convolutions of images";
  let description = [{
    One whose filter has height and width 1 is an image's, of rows along the
    depth, without a copy. For others, positions along depth become a part of
    the batch, and the channels under all taps along depth become the channels
    of one pixel. With groups, there is a convolution for each tap along depth;
    of f16 and bf16 these give f32, and their sum is rounded.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def PatchesToMatmul : Pass<"ait-patches-to-matmul", "mlir::func::FuncOp"> {
  let summary = "turns convolutions of patches that do not overlap into matmuls";
  let description = [{
    A convolution whose stride is the size of its filter, as the first layer of
    a vision transformer has, multiplies each patch of the image with the
    filters. Its few channels do not fill the 16 bytes that convolution kernels
    copy at once; whole patches do. Convolutions whose channels are a multiple of
    8 stay as they are.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def PlanesToMatmul : Pass<"ait-planes-to-matmul", "mlir::func::FuncOp"> {
  let summary = "turns convolutions of single pixels that stand alone into matmuls of planes";
  let description = [{
    The result of a convolution of 1x1 filters is the product of its filter, a
    matrix, and of the image's planes as they lie in memory. Where nothing that
    is connected with it wants channels-last images, and the product is so small
    that the permutes of ait-layout would cost more than they gain, it becomes
    that product: a matmul for each group of each image.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def Layout : Pass<"ait-layout", "mlir::func::FuncOp"> {
  let summary = "gives convolutions and their neighbours channels-last axes, the order that their kernels read";
  let description = [{
    Convolutions, pools and upsamples get `channels_last`, with a permute to
    [N, H, W, C] before and one back to [N, C, H, W] after them. The permute back
    sinks below pointwise operations, reductions, concats, pads and slices until
    it meets the permute before the next such operation; the two then cancel.
    On the way it may cross reshapes that take groups of channels apart. Any
    other permute that parts neighbours in memory sinks below reductions too, and
    below pointwise operations and concats if it is that of all operands.

    With depthwise-planes a depthwise convolution of a constant filter stays as it
    is where nothing around it is to be channels-last: a kernel of its own reads
    such images row by row, and two permutes would take longer than it does.
    What is around are the operations that a permute would sink through, and
    what they read and are read by.
  }];
  let options = [
    Option<"depthwisePlanes", "depthwise-planes", "bool", "false",
           "leave depthwise convolutions alone that stand between no others">,
  ];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def PromoteKernelArithmetic : Pass<"ait-promote-kernel-arithmetic", "mlir::func::FuncOp"> {
  let summary = "makes kernels of f16 and bf16 compute in f32 and round where they store";
  let description = [{
    Takes every func.func with `ait.kind`. Contractions keep their f16 or bf16
    operands and give f32; movements of loaded elements stay as they are; all
    other operations compute in f32. Conversions with `ait.rounds` still round,
    and operands of operations that are NaN beside some rounded numbers (ait.asin
    beyond 1), or magnify the rounding (ait.exp of bf16), are rounded.
    With emulate-eager-casts the result of every operation is rounded to the
    element type of its tensor.
  }];
  let options = [
    Option<"emulateEagerCasts", "emulate-eager-casts", "bool", "false",
           "round after every operation, as eager does">,
  ];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def RelaxChecks : Pass<"ait-relax-checks", "mlir::func::FuncOp"> {
  let summary = "removes ait.checks that no data can fail, and makes those silent that are not wanted";
  let description = [{
    Finds the range of the checked integers from ait.iota, ait.full, constants of
    the pool, the ranges of symbols, and what is computed of these. A check with
    `from_end` that cannot fail becomes silent instead if its indices may be
    negative, since it also makes these count from the start.
  }];
  let options = [
    Option<"silenceIndices", "silence-indices", "bool", "false",
           "an index out of range gives the nearest entry without an error">,
    Option<"silenceDivisors", "silence-divisors", "bool", "false",
           "a division of integers by 0 gives an unspecified number without an error">,
  ];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def PoolsToReductions : Pass<"ait-pools-to-reductions", "mlir::func::FuncOp"> {
  let summary = "turns pools of large windows that do not overlap into reductions";
  let description = [{
    Each window becomes axes of its own, which are reduced. Of 16-bit elements the
    mean is formed in f32, as that of a pool is.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def ArgExtremaToReductions : Pass<"ait-arg-extrema-to-reductions", "mlir::func::FuncOp"> {
  let summary = "turns argmax and argmin along long axes into two reductions";
  let description = [{
    The threads of a GPU share a reduction of numbers, but not one with two
    results. So the extremum is found first, then the least position at which it
    is. Axes of dynamic size or of less than 64 elements stay with one thread.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def AttentionToMatmuls : Pass<"ait-attention-to-matmuls", "mlir::func::FuncOp"> {
  let summary = "takes attention apart whose depth no kernel of the device has";
  let description = [{
    softmax(q k^T * scale + mask) v becomes two matmuls and a softmax between
    them, where the depth of the keys or values is above most-depth or dynamic:
    the kernels for attention keep rows of queries and values in registers. The
    scores of f16 and bf16 are in f32; queries of f16 are scaled before. Heads of an image decoder have such depths,
    and attention between the channels of an image, whose depth is its pixels.
  }];
  let options = [
    Option<"mostDepth", "most-depth", "int64_t", "256",
           "the greatest depth that a kernel of the device has">,
  ];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def SplitReductions : Pass<"ait-split-reductions", "mlir::func::FuncOp"> {
  let summary = "reduces in two steps where the results are too few for a GPU";
  let description = [{
    A block of threads computes one result, or some that are neighbours in
    memory: the mean of an image of few channels would keep one multiprocessor
    of a hundred busy. Its last axes are reduced first, which gives as many
    results as the other ones have elements, then the others. Sums and means of
    f16 and bf16 are in f32 between the two. Axes of unknown size count as 1.
  }];
  let options = [
    Option<"enoughGroups", "enough-groups", "int64_t", "128",
           "the number of blocks of threads that keeps the device busy">,
  ];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def FoldFilters : Pass<"ait-fold-filters", "mlir::func::FuncOp"> {
  let summary = "computes filters of convolutions that are reshapes, permutes or slices of constants";
  let description = [{
    The importer reshapes the weight of a one-dimensional convolution, and slices
    and permutes that of a three-dimensional one. This pass adds the result to
    the pool as a constant of its own, because only constants of the pool can be
    packed at load. Without a pool it does nothing.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

def MergeFallbacks : Pass<"ait-merge-fallbacks", "mlir::func::FuncOp"> {
  let summary = "joins neighbouring ait.fallbacks, so that one call of LibTorch runs them";
  let description = [{
    Neighbours are fallbacks between which only constants and fills stand. The
    joined one has the calls of both, in order, and those results of the first
    that something else reads.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
}

#endif // AITUNE_COMPILER_TRANSFORMS_PASSES_TD
