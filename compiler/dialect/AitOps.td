// Operations that hold a graph together: constants, views, data movement,
// contractions, normalisations, fusion regions and fallbacks. The pointwise
// ones and the reductions are in AitPointwiseOps.td.
#ifndef AIT_OPS_TD
#define AIT_OPS_TD

include "compiler/dialect/AitBase.td"
include "compiler/dialect/AitPointwiseOps.td"
include "compiler/dialect/KernelAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

//===-- Without an operand of the graph ----------------------------------===//

def Ait_ConstantOp : Ait_Op<"constant", [Pure]> {
  let summary = "a tensor of the constant pool, such as a weight, with static sizes";
  let description = [{
    `index` is the tensor's position in the pool
    (compiler/support/ConstantPool.h), so that weights of gigabytes stay out of
    the IR. Operations with the same index
    have the same elements. `name` is the weight's name in the model, for
    people.
  }];
  let arguments = (ins I64Attr:$index, DefaultValuedAttr<StrAttr, "\"\"">:$name);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$index attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Ait_FullOp : Ait_Op<"full", [Pure]> {
  let summary = "a tensor whose elements are all `value`, of its element type (aten::full)";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Ait_IotaOp : Ait_Op<"iota", [Pure]> {
  let summary = "element i of axis `dim` is start + step * i, whatever the other indices are (aten::arange)";
  let description = [{
    Computed in f64 for floats and in i64 for integers, then converted, as ATen
    does.
  }];
  let arguments = (ins I64Attr:$dim, F64Attr:$start, F64Attr:$step);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Ait_SymbolOp : Ait_Op<"symbol", [Pure]> {
  let summary = "the value of symbol number `index` of the module's ait.symbols";
  let description = [{
    ait-lower-to-linalg puts it into loop kernels, where it writes sizes as
    arithmetic.
  }];
  let arguments = (ins I64Attr:$index);
  let results = (outs Index:$result);
  let assemblyFormat = "$index attr-dict";
}

def Ait_ReportOp : Ait_Op<"report", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "`value`, with a message to the runtime if `failed` holds";
  let description = [{
    ait-lower-to-linalg writes an ait.check as scalar arithmetic and an
    ait.report. If `failed` holds, the kernel stores `shown`, the number that the error names,
    in the entry `check` of its checks (KernelChecks in
    runtime/cpu/kernel_abi.h). The function's attribute `ait.checks` describes
    the entries, in the same order. Pure although it stores, since it makes no
    difference whether one value is reported twice, or not at all if nothing
    reads it.
  }];
  let arguments = (ins AnySignlessInteger:$value, I1:$failed, I64:$shown, I64Attr:$check);
  let results = (outs AnySignlessInteger:$result);
  let assemblyFormat = "$value `if` $failed `of` $shown attr-dict `:` type($value)";
}

//===-- Views ------------------------------------------------------------===//
//
// The result has the input's element type and elements. A reshape costs
// nothing; fusion reads the others in place where it can.

def Ait_ReshapeOp : Ait_Op<"reshape", [Pure, Ait_Movement, Ait_Selection]> {
  let summary = "the elements in row-major order under other sizes, of the same product (aten::reshape)";
  let arguments = (ins Ait_Tensor:$input);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Ait_PermuteOp : Ait_Op<"permute", [Pure, Ait_Movement, Ait_Selection,
    DeclareOpInterfaceMethods<Ait_LinearView>]> {
  let summary = "axis i of the result is axis permutation[i] of the input (aten::permute)";
  let arguments = (ins Ait_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Ait_ExpandOp : Ait_Op<"expand", [Pure, Ait_Movement, Ait_Selection,
    DeclareOpInterfaceMethods<Ait_LinearView>]> {
  let summary = "repeats the input along axes of size 1 and new leading axes (aten::expand)";
  let description = [{
    Axes correspond from the last one on. Each axis of the input has the size of
    the result's axis or size 1.
  }];
  let arguments = (ins Ait_Tensor:$input);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Ait_SliceOp : Ait_Op<"slice", [Pure, Ait_Movement, Ait_Selection,
    DeclareOpInterfaceMethods<Ait_LinearView>]> {
  let summary = "element i of an axis is element start + step * i of the input's (aten::slice, select, narrow)";
  let description = [{
    `starts` (at least 0) and `steps` (at least 1) have a number for each axis,
    in elements. The result's sizes say how many elements are taken.
  }];
  let arguments = (ins Ait_Tensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

//===-- Data movement ----------------------------------------------------===//
//
// Indices are i32 or i64. One that is out of range gives the nearest element, or
// 0 where there is none, so that no memory outside of the tensor is read; an
// ait.check before the operation reports it.

def Ait_ConcatOp : Ait_Op<"concat", [Pure, Ait_Movement]> {
  let summary = "the inputs one after the other along axis `dim`; other axes are equal (aten::cat)";
  let arguments = (ins Variadic<Ait_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Ait_PadOp : Ait_Op<"pad", [Pure, Ait_Movement]> {
  let summary = "the input with elements `value` before and after it (aten::constant_pad_nd)";
  let description = [{
    `low` and `high` have a number for each axis: the elements added before and
    after the input.
  }];
  let arguments = (ins Ait_Tensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, F64Attr:$value);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Ait_SliceScatterOp : Ait_Op<"slice_scatter", [Pure, Ait_Movement]> {
  let summary = "the input with a slice replaced by `source` (aten::slice_scatter, select_scatter)";
  let description = [{
    `starts` and `steps` as those of ait.slice, of which `source` is the result.
  }];
  let arguments = (ins Ait_Tensor:$input, Ait_Tensor:$source, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input `,` $source attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_EmbeddingOp : Ait_Op<"embedding", [Pure, Ait_Movement, Ait_Selection]> {
  let summary = "result[i..., :] = weight[indices[i...], :], with a weight of rank 2 (aten::embedding)";
  let arguments = (ins Ait_Tensor:$weight, Ait_Tensor:$indices);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$weight `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_IndexSelectOp : Ait_Op<"index_select", [Pure, Ait_Movement, Ait_Selection]> {
  let summary = "element i of axis `dim` is element indices[i] of the input's (aten::index_select)";
  let description = [{
    `indices` is of rank 1. Negative indices count from the end of the axis.
  }];
  let arguments = (ins Ait_Tensor:$input, Ait_Tensor:$indices, I64Attr:$dim);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_GatherOp : Ait_Op<"gather", [Pure, Ait_Movement, Ait_Selection]> {
  let summary = "result[i...] = input[i...] with indices[i...] as the index of axis `dim` (aten::gather)";
  let description = [{
    `indices` has the result's sizes, which are at most the input's along the
    other axes. Negative indices count from the end of the axis.
  }];
  let arguments = (ins Ait_Tensor:$input, Ait_Tensor:$indices, I64Attr:$dim);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_FlipOp : Ait_Op<"flip", [Pure, Ait_Movement, Ait_Selection,
    DeclareOpInterfaceMethods<Ait_LinearView>]> {
  let summary = "the input with the order of the axes' elements reversed along `dims` (aten::flip)";
  let arguments = (ins Ait_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Ait_CumsumOp : Ait_Op<"cumsum", [Pure]> {
  let summary = "element i is the sum of elements 0 to i along axis `dim` (aten::cumsum)";
  let description = [{
    f16 and bf16 are added up in f32, f32 in f64, and rounded to the result's
    element type for each element.
  }];
  let arguments = (ins Ait_Tensor:$input, I64Attr:$dim);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Contractions -----------------------------------------------------===//

def Ait_MatmulOp : Ait_Op<"matmul", [Pure, DeclareOpInterfaceMethods<Ait_Contraction>]> {
  let summary = "lhs [..., M, K] times rhs [..., K, N] gives [..., M, N] (aten::matmul)";
  let description = [{
    The leading (batch) axes are equal, or rhs is of rank 2 and every batch
    reads all of it. With transpose_lhs the last two axes of lhs are [K, M], with
    transpose_rhs those of rhs are [N, K].

    lhs and rhs have one element type, which is the result's. Products of f16
    and bf16 are added up in f32; inside kernels the result may be f32. Products
    with quantised weights: lhs f32, f16 or bf16 and rhs i8 or f8E4M3FN give f32;
    lhs ui8 and rhs i8 give i32.
  }];
  let arguments = (ins Ait_Tensor:$lhs, Ait_Tensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Ait_ConvolutionOp : Ait_Op<"convolution", [Pure, DeclareOpInterfaceMethods<Ait_Contraction>]> {
  let summary = "convolution of images or volumes without bias (aten::convolution)";
  let description = [{
    The filter is [O, I / groups, KH, KW], with static sizes. Input and result
    are [N, C, H, W], or [N, H, W, C] with channels_last, which ait-layout sets.
    Volumes have a depth before the height, in the filter too. `stride`,
    `padding` and `dilation` are ATen's: a number for each of these axes, in
    pixels. Input and filter have one element type, which is the result's;
    inside kernels the result may be f32.
  }];
  let arguments = (ins Ait_Tensor:$input, Ait_Tensor:$filter,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilation, I64Attr:$groups,
                       UnitAttr:$channels_last);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input `,` $filter attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_TransposedConvolutionOp : Ait_Op<"transposed_convolution", [Pure]> {
  let summary = "the gradient of a convolution with respect to its input (aten::conv_transpose2d, 3d)";
  let description = [{
    The filter is [I, O / groups, KH, KW], with static sizes; input and result
    are [N, C, H, W]. All else is as of ait.convolution, which
    ait-transposed-convolutions makes of it. `output_padding` is ATen's.
  }];
  let arguments = (ins Ait_Tensor:$input, Ait_Tensor:$filter,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilation, I64Attr:$groups,
                       DenseI64ArrayAttr:$output_padding);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input `,` $filter attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_AttentionOp : Ait_Op<"attention",
    [Pure, DeclareOpInterfaceMethods<Ait_Contraction, ["isWrittenThroughStrides"]>]> {
  let summary = "softmax(q k^T * scale + mask) v (aten::scaled_dot_product_attention)";
  let description = [{
    q is [..., T, D], k [..., S, D], v [..., S, E] and the result [..., T, E],
    all of one element type; the softmax is along S. The mask can be expanded to
    [..., T, S]. A boolean one (i1) leaves out the pairs where it is false, or
    gives them masked_score in place of their score; a floating one is added to
    the scores. With masked_score, one of f32 is added too, except that pairs
    where it is mlir::ait::kMaskedPair get masked_score, whatever their score.
    is_causal leaves out s > t.

    A query whose scores are all -infinity, because every key is left out, gives
    0, as aten::scaled_dot_product_attention does; with masked_rows_are_nan it
    gives NaN, as a softmax of such scores does.
  }];
  let arguments = (ins Ait_Tensor:$query, Ait_Tensor:$key, Ait_Tensor:$value,
                       Optional<Ait_Tensor>:$mask, F64Attr:$scale, UnitAttr:$is_causal,
                       UnitAttr:$masked_rows_are_nan,
                       OptionalAttr<F64Attr>:$masked_score);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

//===-- Windows ----------------------------------------------------------===//
//
// Input and result are [N, C, H, W], or [N, H, W, C] with channels_last, of one
// element type.

class Ait_Pool2dOp<string mnemonic, dag extra> : Ait_Op<mnemonic, [Pure, Ait_Window]> {
  let arguments = !con((ins Ait_Tensor:$input, DenseI64ArrayAttr:$kernel_size,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding), extra,
                       (ins UnitAttr:$channels_last));
  let results = (outs Ait_Tensor:$result);
  let description = [{
    `kernel_size`, `stride` and `padding` are ATen's: two numbers each, for
    height and width, in pixels. The result's sizes say how many windows there
    are, with ATen's ceil_mode or without.
  }];
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return verifyPool2d(getOperation()); }
  }];
}

def Ait_MaxPool2dOp : Ait_Pool2dOp<"max_pool2d", (ins DenseI64ArrayAttr:$dilation)> {
  let summary = "the greatest element of each window, NaN if there is one; padding counts as -infinity (aten::max_pool2d)";
}

def Ait_AvgPool2dOp : Ait_Pool2dOp<"avg_pool2d", (ins BoolAttr:$count_include_pad, OptionalAttr<I64Attr>:$divisor_override)> {
  let summary = "the sum of each window divided by divisor_override, or else by the number of its pixels, "
                "which includes those of the padding with count_include_pad (aten::avg_pool2d)";
}

def Ait_UpsampleNearest2dOp : Ait_Op<"upsample_nearest2d", [Pure, Ait_Movement, Ait_Selection]> {
  let summary = "pixel (y, x) is the input's pixel (floor(y * scale_h), floor(x * scale_w)), or the last one "
                "(aten::upsample_nearest2d)";
  let arguments = (ins Ait_Tensor:$input, F64Attr:$scale_h, F64Attr:$scale_w, UnitAttr:$channels_last);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Ait_UpsampleBilinear2dOp : Ait_Op<"upsample_bilinear2d", [Pure, Ait_Window]> {
  let summary = "bilinear interpolation between the four nearest pixels (aten::upsample_bilinear2d)";
  let description = [{
    Row y of the result is at row y * scale_h of the input with align_corners,
    else at max((y + 0.5) * scale_h - 0.5, 0); columns likewise. Computed in f32,
    for f64 in f64.
  }];
  let arguments = (ins Ait_Tensor:$input, F64Attr:$scale_h, F64Attr:$scale_w, BoolAttr:$align_corners, UnitAttr:$channels_last);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Normalisations ---------------------------------------------------===//
//
// ait-decompose makes primitives of them, so that fusion sees one kind of loop.
// The result has the input's type. Weight and bias, which may be missing, have
// the element type of the input and the sizes of the normalised axes, those of
// group_norm the size [C].

class Ait_NormalizationOp<string mnemonic, dag args> : Ait_Op<mnemonic, [Pure, AttrSizedOperandSegments]> {
  let arguments = args;
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = [{
    $input (`weight` $weight^ `:` type($weight))? (`bias` $bias^ `:` type($bias))? attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return verifyNormalization(getOperation()); }
  }];
}

def Ait_SoftmaxOp : Ait_Op<"softmax", [Pure]> {
  let summary = "exp(x) / sum(exp(x)) along axis `dim`; with `log`, its logarithm (aten::softmax, log_softmax)";
  let arguments = (ins Ait_Tensor:$input, I64Attr:$dim, UnitAttr:$log);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Ait_LayerNormOp : Ait_NormalizationOp<"layer_norm", (ins Ait_Tensor:$input,
    Optional<Ait_Tensor>:$weight, Optional<Ait_Tensor>:$bias, I64Attr:$normalized_rank, F64Attr:$eps)> {
  let summary = "(x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias over the last normalized_rank axes "
                "(aten::layer_norm)";
}

def Ait_RmsNormOp : Ait_NormalizationOp<"rms_norm", (ins Ait_Tensor:$input,
    Optional<Ait_Tensor>:$weight, Optional<Ait_Tensor>:$bias, I64Attr:$normalized_rank, F64Attr:$eps)> {
  let summary = "x / sqrt(mean(x^2) + eps) * weight + bias over the last normalized_rank axes (aten::rms_norm)";
}

def Ait_GroupNormOp : Ait_NormalizationOp<"group_norm", (ins Ait_Tensor:$input,
    Optional<Ait_Tensor>:$weight, Optional<Ait_Tensor>:$bias, I64Attr:$groups, F64Attr:$eps)> {
  let summary = "as layer_norm, over each of `groups` groups of neighbouring channels of [N, C, ...] (aten::group_norm)";
}

//===-- Kernels and fallbacks --------------------------------------------===//

def Ait_YieldOp : Ait_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["KernelOp"]>]> {
  let summary = "the values a kernel writes";
  let arguments = (ins Variadic<Ait_Tensor>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Ait_KernelOp : Ait_Op<"kernel", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "operations that one kernel computes, whose values between them never reach memory";
  let description = [{
    ait-form-kernels makes it, ait-outline-kernels turns it into a function and
    an ait.launch. `kind` is the template that generates its code: loop
    (pointwise operations, reductions, data movement), or matmul, convolution or
    attention (one contraction, views of its operands and pointwise operations
    on its result). `name` is what the function is named after; empty: after
    the operations.
  }];
  let arguments = (ins Variadic<Ait_Tensor>:$inputs, Ait_KernelKindAttr:$kind,
                       DefaultValuedAttr<StrAttr, "\"\"">:$name);
  let results = (outs Variadic<Ait_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind `(` $inputs `)` attr-dict-with-keyword `:` functional-type($inputs, $results) $body
  }];
  let hasVerifier = 1;
}

def Ait_LaunchOp : Ait_Op<"launch", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel that is a function";
  let description = [{
    `kernel` is a private func.func of the module with the attributes of
    KernelAttributes.h, whose types are the operands' and the results'.
    `check_locations` has the place in the model's source, FILE:LINE, of each
    ait.check of the kernel, by its `number`: launches of one kernel differ in
    them.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Ait_Tensor>:$inputs,
                       OptionalAttr<StrArrayAttr>:$check_locations);
  let results = (outs Variadic<Ait_Tensor>:$results);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
}

def Ait_FallbackOp : Ait_Op<"fallback", []> {
  let summary = "calls of operators that LibTorch runs";
  let description = [{
    `trace_ops` are the calls' positions in the frontend's trace, in the order in
    which they run. `operators` has the name of each call's operator, such as
    "aten::sort.stable", and `reasons` why it is not compiled. `input_values` and
    `output_values` are the numbers of the operands and the results among the
    trace's values, from which the frontend makes the region that runs the calls.
  }];
  let arguments = (ins Variadic<Ait_Value>:$inputs, DenseI64ArrayAttr:$trace_ops,
                       StrArrayAttr:$operators, StrArrayAttr:$reasons,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$input_values,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$output_values);
  let results = (outs Variadic<Ait_Value>:$results);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $results)";
}

#endif // AIT_OPS_TD
