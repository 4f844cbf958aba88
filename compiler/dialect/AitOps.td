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

//===-- Sources ----------------------------------------------------------===//

def Ait_ConstantOp : Ait_Op<"constant", [Pure]> {
  let summary = "a weight or folded tensor of the constant pool";
  let description = [{
    Refers to entry `index` of the pool by number: weights never enter the IR.
    Two operations with one index are the same value.
  }];
  let arguments = (ins I64Attr:$index, DefaultValuedAttr<StrAttr, "\"\"">:$name);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$index attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Ait_FullOp : Ait_Op<"full", [Pure]> {
  let summary = "a tensor filled with one number";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Ait_IotaOp : Ait_Op<"iota", [Pure]> {
  let summary = "start + step * i along one axis (aten::arange)";
  let arguments = (ins I64Attr:$dim, F64Attr:$start, F64Attr:$step);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Ait_SymbolOp : Ait_Op<"symbol", [Pure]> {
  let summary = "the value of the module's symbol s`index`";
  let description = [{Inside kernel functions once sizes are arithmetic (ait-lower-to-linalg).}];
  let arguments = (ins I64Attr:$index);
  let results = (outs Index:$result);
  let assemblyFormat = "$index attr-dict";
}

def Ait_ReportOp : Ait_Op<"report", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "the value, after telling the runtime about it if it failed";
  let description = [{
    What of an ait.check is left once its arithmetic is scalar
    (ait-lower-to-linalg). Entry `check` of the kernel's checks, which the
    function's `ait.checks` describes in this order, then holds `shown`. Pure,
    as the same value tells the same: it stands wherever the value is needed.
  }];
  let arguments = (ins AnySignlessInteger:$value, I1:$failed, I64:$shown, I64Attr:$check);
  let results = (outs AnySignlessInteger:$result);
  let assemblyFormat = "$value `if` $failed `of` $shown attr-dict `:` type($value)";
}

//===-- Views: no arithmetic, often free ---------------------------------===//

def Ait_ReshapeOp : Ait_Op<"reshape", [Pure, Ait_Movement]> {
  let summary = "the same elements in row-major order under other sizes";
  let arguments = (ins Ait_Tensor:$input);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Ait_PermuteOp : Ait_Op<"permute", [Pure, Ait_Movement]> {
  let summary = "axis i of the result is axis permutation[i] of the input";
  let arguments = (ins Ait_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Ait_ExpandOp : Ait_Op<"expand", [Pure, Ait_Movement]> {
  let summary = "repeats axes of size 1, adding leading axes (aten::expand)";
  let description = [{Axes align from the right; each is equal in size or 1 in the input.}];
  let arguments = (ins Ait_Tensor:$input);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Ait_SliceOp : Ait_Op<"slice", [Pure, Ait_Movement]> {
  let summary = "start + step * i along each axis (aten::slice, select, narrow)";
  let arguments = (ins Ait_Tensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

//===-- Data movement ----------------------------------------------------===//

def Ait_ConcatOp : Ait_Op<"concat", [Pure, Ait_Movement]> {
  let summary = "joins tensors along one axis (aten::cat)";
  let arguments = (ins Variadic<Ait_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Ait_PadOp : Ait_Op<"pad", [Pure, Ait_Movement]> {
  let summary = "surrounds a tensor with a constant (aten::constant_pad_nd)";
  let arguments = (ins Ait_Tensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, F64Attr:$value);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Ait_SliceScatterOp : Ait_Op<"slice_scatter", [Pure, Ait_Movement]> {
  let summary = "a copy of the input with a slice replaced (aten::slice_scatter, select_scatter)";
  let arguments = (ins Ait_Tensor:$input, Ait_Tensor:$source, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input `,` $source attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_EmbeddingOp : Ait_Op<"embedding", [Pure, Ait_Movement]> {
  let summary = "result[i..., :] = weight[indices[i...], :] (aten::embedding)";
  let arguments = (ins Ait_Tensor:$weight, Ait_Tensor:$indices);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$weight `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_IndexSelectOp : Ait_Op<"index_select", [Pure, Ait_Movement]> {
  let summary = "picks entries of one axis by a rank-1 index (aten::index_select)";
  let description = [{Negative indices count from the end.}];
  let arguments = (ins Ait_Tensor:$input, Ait_Tensor:$indices, I64Attr:$dim);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_GatherOp : Ait_Op<"gather", [Pure, Ait_Movement]> {
  let summary = "picks along one axis by an index of the result's shape (aten::gather)";
  let arguments = (ins Ait_Tensor:$input, Ait_Tensor:$indices, I64Attr:$dim);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_FlipOp : Ait_Op<"flip", [Pure, Ait_Movement]> {
  let summary = "reverses axes (aten::flip)";
  let arguments = (ins Ait_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Ait_CumsumOp : Ait_Op<"cumsum", [Pure]> {
  let summary = "running sum along one axis (aten::cumsum)";
  let arguments = (ins Ait_Tensor:$input, I64Attr:$dim);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Contractions -----------------------------------------------------===//

def Ait_MatmulOp : Ait_Op<"matmul", [Pure, DeclareOpInterfaceMethods<Ait_Contraction>]> {
  let summary = "lhs [..., M, K] times rhs [..., K, N]";
  let description = [{
    The leading (batch) axes are equal, or rhs is of rank 2 and shared. With
    transpose_lhs the last two axes of lhs are [K, M], with transpose_rhs those
    of rhs are [N, K]. Accumulates in f32 for f16 and bf16.
  }];
  let arguments = (ins Ait_Tensor:$lhs, Ait_Tensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Ait_ConvolutionOp : Ait_Op<"convolution", [Pure, DeclareOpInterfaceMethods<Ait_Contraction>]> {
  let summary = "two-dimensional convolution without bias (aten::convolution)";
  let description = [{
    The filter is [O, I / groups, KH, KW] ([I, O / groups, KH, KW] when
    transposed). Input and result are [N, C, H, W], or [N, H, W, C] with
    channels_last (set by the layout pass).
  }];
  let arguments = (ins Ait_Tensor:$input, Ait_Tensor:$filter,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilation, I64Attr:$groups,
                       UnitAttr:$transposed, DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$output_padding,
                       UnitAttr:$channels_last);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input `,` $filter attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Ait_AttentionOp : Ait_Op<"attention", [Pure, DeclareOpInterfaceMethods<Ait_Contraction>]> {
  let summary = "softmax(q k^T * scale + mask) v (aten::scaled_dot_product_attention)";
  let description = [{
    q is [..., T, D], k [..., S, D], v [..., S, E], mask broadcastable (by
    ait.expand) to [..., T, S]: boolean (true takes part) or floating (added).
    is_causal masks s > t.
  }];
  let arguments = (ins Ait_Tensor:$query, Ait_Tensor:$key, Ait_Tensor:$value,
                       Optional<Ait_Tensor>:$mask, F64Attr:$scale, UnitAttr:$is_causal);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

//===-- Windows ----------------------------------------------------------===//

class Ait_Pool2dOp<string mnemonic, dag extra> : Ait_Op<mnemonic, [Pure, Ait_Window]> {
  let arguments = !con((ins Ait_Tensor:$input, DenseI64ArrayAttr:$kernel_size,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding), extra,
                       (ins UnitAttr:$channels_last));
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return verifyPool2d(getOperation()); }
  }];
}

def Ait_MaxPool2dOp : Ait_Pool2dOp<"max_pool2d", (ins DenseI64ArrayAttr:$dilation)> {
  let summary = "greatest of each window; axes as ait.convolution's; ceil_mode shows in the result's sizes";
}

def Ait_AvgPool2dOp : Ait_Pool2dOp<"avg_pool2d", (ins BoolAttr:$count_include_pad, OptionalAttr<I64Attr>:$divisor_override)> {
  let summary = "mean of each window; axes as ait.convolution's; ceil_mode shows in the result's sizes";
}

def Ait_UpsampleNearest2dOp : Ait_Op<"upsample_nearest2d", [Pure, Ait_Movement]> {
  let summary = "nearest neighbour: source = floor(target * scale); axes as ait.convolution's";
  let arguments = (ins Ait_Tensor:$input, F64Attr:$scale_h, F64Attr:$scale_w, UnitAttr:$channels_last);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Ait_UpsampleBilinear2dOp : Ait_Op<"upsample_bilinear2d", [Pure, Ait_Window]> {
  let summary = "bilinear interpolation; axes as ait.convolution's";
  let arguments = (ins Ait_Tensor:$input, F64Attr:$scale_h, F64Attr:$scale_w, BoolAttr:$align_corners, UnitAttr:$channels_last);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Normalisations: kept until `decompose`, then made of primitives ---===//

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
  let summary = "exp(x - max) / sum along one axis";
  let arguments = (ins Ait_Tensor:$input, I64Attr:$dim, UnitAttr:$log);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Ait_LayerNormOp : Ait_NormalizationOp<"layer_norm", (ins Ait_Tensor:$input,
    Optional<Ait_Tensor>:$weight, Optional<Ait_Tensor>:$bias, I64Attr:$normalized_rank, F64Attr:$eps)> {
  let summary = "(x - mean) / sqrt(var + eps) * weight + bias over the last normalized_rank axes";
}

def Ait_RmsNormOp : Ait_NormalizationOp<"rms_norm", (ins Ait_Tensor:$input,
    Optional<Ait_Tensor>:$weight, Optional<Ait_Tensor>:$bias, I64Attr:$normalized_rank, F64Attr:$eps)> {
  let summary = "x / sqrt(mean(x^2) + eps) * weight over the last normalized_rank axes";
}

def Ait_GroupNormOp : Ait_NormalizationOp<"group_norm", (ins Ait_Tensor:$input,
    Optional<Ait_Tensor>:$weight, Optional<Ait_Tensor>:$bias, I64Attr:$groups, F64Attr:$eps)> {
  let summary = "layer_norm over groups of channels of [N, C, ...]";
}

//===-- Regions ----------------------------------------------------------===//

def Ait_YieldOp : Ait_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["KernelOp"]>]> {
  let summary = "the values a kernel writes";
  let arguments = (ins Variadic<Ait_Tensor>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Ait_KernelOp : Ait_Op<"kernel", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "operations computed in one launch, in registers and cache";
  let description = [{
    Made by fusion. `kind` is the schedule family: loop (pointwise, reductions,
    normalisations, data movement), matmul, convolution or attention (one
    contraction with pointwise operations after it). `ait-outline-kernels` turns
    each into a function and an ait.launch.
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
  let summary = "runs an outlined kernel";
  let description = [{
    `kernel` is a private func.func of the module with the attributes of
    KernelAttributes.h. `check_locations` are the TorchScript sources of its
    checks, by their number: launches of one kernel differ in them.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Ait_Tensor>:$inputs,
                       OptionalAttr<StrArrayAttr>:$check_locations);
  let results = (outs Variadic<Ait_Tensor>:$results);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
}

def Ait_FallbackOp : Ait_Op<"fallback", []> {
  let summary = "operators that LibTorch runs, and why";
  let description = [{
    `trace_ops` are the positions in the trace of the calls it stands for, in
    order; `operators` their schemas; `reasons` one text each. `input_values`
    and `output_values` are the operands' and results' numbers in the trace, by
    which the frontend makes the region.
  }];
  let arguments = (ins Variadic<Ait_Value>:$inputs, DenseI64ArrayAttr:$trace_ops,
                       StrArrayAttr:$operators, StrArrayAttr:$reasons,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$input_values,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$output_values);
  let results = (outs Variadic<Ait_Value>:$results);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $results)";
}

#endif // AIT_OPS_TD
