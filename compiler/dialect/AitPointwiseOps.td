// Pointwise operations and reductions: what loop kernels are made of. A new
// pointwise operation needs a line here and its scalar form in
// compiler/codegen/linalg/PointwiseToScalar.cpp.
#ifndef AIT_POINTWISE_OPS_TD
#define AIT_POINTWISE_OPS_TD

include "compiler/dialect/AitBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

// Marks operations that compute each element from the same element of each operand.
def Ait_Pointwise : NativeOpTrait<"ait::Pointwise">;
// Marks pointwise operations so cheap that a reader may compute them again.
def Ait_CheapPointwise : NativeOpTrait<"ait::CheapPointwise">;
// Marks reductions that keep the reduced axes with size 1.
def Ait_Reduction : NativeOpTrait<"ait::Reduction">;

//===-- One operand ------------------------------------------------------===//

class Ait_SameTypeUnaryOp<string mnemonic, dag attributes = (ins), list<Trait> traits = []>
    : Ait_Op<mnemonic, [Pure, Ait_Pointwise, SameOperandsAndResultType] # traits> {
  let arguments = !con((ins Ait_Tensor:$input), attributes);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}
class Ait_CheapUnaryOp<string mnemonic, dag attributes = (ins)>
    : Ait_SameTypeUnaryOp<mnemonic, attributes, [Ait_CheapPointwise]>;
class Ait_PredicateOp<string mnemonic, list<Trait> traits = []>
    : Ait_Op<mnemonic, [Pure, Ait_Pointwise, SameOperandsAndResultShape] # traits> {
  let arguments = (ins Ait_Tensor:$input);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Ait_AbsOp : Ait_CheapUnaryOp<"abs">;
def Ait_NegOp : Ait_CheapUnaryOp<"neg">;
def Ait_SignOp : Ait_SameTypeUnaryOp<"sign">;
def Ait_FloorOp : Ait_CheapUnaryOp<"floor">;
def Ait_CeilOp : Ait_CheapUnaryOp<"ceil">;
def Ait_RoundOp : Ait_CheapUnaryOp<"round">;
def Ait_TruncOp : Ait_CheapUnaryOp<"trunc">;
def Ait_ExpOp : Ait_SameTypeUnaryOp<"exp">;
def Ait_Exp2Op : Ait_SameTypeUnaryOp<"exp2">;
def Ait_Expm1Op : Ait_SameTypeUnaryOp<"expm1">;
def Ait_LogOp : Ait_SameTypeUnaryOp<"log">;
def Ait_Log2Op : Ait_SameTypeUnaryOp<"log2">;
def Ait_Log10Op : Ait_SameTypeUnaryOp<"log10">;
def Ait_Log1pOp : Ait_SameTypeUnaryOp<"log1p">;
def Ait_SqrtOp : Ait_SameTypeUnaryOp<"sqrt">;
def Ait_RsqrtOp : Ait_SameTypeUnaryOp<"rsqrt">;
def Ait_ReciprocalOp : Ait_SameTypeUnaryOp<"reciprocal">;
def Ait_SinOp : Ait_SameTypeUnaryOp<"sin">;
def Ait_CosOp : Ait_SameTypeUnaryOp<"cos">;
def Ait_TanOp : Ait_SameTypeUnaryOp<"tan">;
def Ait_AsinOp : Ait_SameTypeUnaryOp<"asin">;
def Ait_AcosOp : Ait_SameTypeUnaryOp<"acos">;
def Ait_AtanOp : Ait_SameTypeUnaryOp<"atan">;
def Ait_SinhOp : Ait_SameTypeUnaryOp<"sinh">;
def Ait_CoshOp : Ait_SameTypeUnaryOp<"cosh">;
def Ait_TanhOp : Ait_SameTypeUnaryOp<"tanh">;
def Ait_ErfOp : Ait_SameTypeUnaryOp<"erf">;
def Ait_SigmoidOp : Ait_SameTypeUnaryOp<"sigmoid">;
def Ait_LogSigmoidOp : Ait_SameTypeUnaryOp<"log_sigmoid">;
def Ait_ReluOp : Ait_CheapUnaryOp<"relu">;
def Ait_SiluOp : Ait_SameTypeUnaryOp<"silu">;
def Ait_MishOp : Ait_SameTypeUnaryOp<"mish">;
def Ait_HardswishOp : Ait_SameTypeUnaryOp<"hardswish">;
def Ait_HardsigmoidOp : Ait_SameTypeUnaryOp<"hardsigmoid">;
def Ait_LogicalNotOp : Ait_PredicateOp<"logical_not", [Ait_CheapPointwise]>;
def Ait_BitwiseNotOp : Ait_CheapUnaryOp<"bitwise_not">;
def Ait_IsNanOp : Ait_PredicateOp<"isnan", [Ait_CheapPointwise]>;
def Ait_IsInfOp : Ait_PredicateOp<"isinf">;

def Ait_GeluOp : Ait_SameTypeUnaryOp<"gelu", (ins UnitAttr:$tanh_approximation)>;
def Ait_EluOp : Ait_SameTypeUnaryOp<"elu", (ins F64Attr:$alpha, F64Attr:$scale, F64Attr:$input_scale)>;
def Ait_LeakyReluOp : Ait_SameTypeUnaryOp<"leaky_relu", (ins F64Attr:$negative_slope)>;
def Ait_SoftplusOp : Ait_SameTypeUnaryOp<"softplus", (ins F64Attr:$beta, F64Attr:$threshold)>;
def Ait_ClampOp : Ait_CheapUnaryOp<"clamp", (ins OptionalAttr<F64Attr>:$min, OptionalAttr<F64Attr>:$max)> {
  let summary = "limits to [min, max]; NaN stays NaN (aten::clamp, hardtanh, relu6)";
}

def Ait_ConvertOp : Ait_PredicateOp<"convert", [Ait_CheapPointwise]> {
  let summary = "another element type (aten::to), rounding to nearest even; to bool: x != 0";
  let hasFolder = 1;
}

def Ait_CheckOp : Ait_SameTypeUnaryOp<"check", (ins OptionalAttr<AffineMapAttr>:$size, UnitAttr:$from_end,
    UnitAttr:$silent, StrAttr:$operator_name, OptionalAttr<I64Attr>:$number)> {
  let summary = "integers for which eager raises unless they are in range";
  let description = [{
    With `size`, a map of the module's symbols to one number, the elements are
    indices of an axis of that size: in [0, size), or with `from_end` in
    [-size, size), of which negative ones count from the end. Without, they are
    divisors: not 0. The result is in range whatever the input is: an index in
    [0, size), a divisor that is not 0.

    A kernel says which check failed, and of which value
    (runtime/cpu/kernel_abi.h), unless the check is `silent`.
    `operator_name` is the operator that the error names; `number` is given by
    outline-kernels: the check's place among those of its kernel.
  }];
  let hasVerifier = 1;
}

//===-- Two and three operands -------------------------------------------===//

class Ait_BinaryOp<string mnemonic, list<Trait> traits = []>
    : Ait_Op<mnemonic, [Pure, Ait_Pointwise, SameOperandsAndResultType] # traits> {
  let arguments = (ins Ait_Tensor:$lhs, Ait_Tensor:$rhs);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
class Ait_CheapBinaryOp<string mnemonic> : Ait_BinaryOp<mnemonic, [Ait_CheapPointwise]>;
class Ait_CompareOp<string mnemonic>
    : Ait_Op<mnemonic, [Pure, Ait_Pointwise, Ait_CheapPointwise, SameTypeOperands, SameOperandsAndResultShape]> {
  let arguments = (ins Ait_Tensor:$lhs, Ait_Tensor:$rhs);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def Ait_AddOp : Ait_CheapBinaryOp<"add">;
def Ait_SubOp : Ait_CheapBinaryOp<"sub">;
def Ait_MulOp : Ait_CheapBinaryOp<"mul">;
def Ait_DivOp : Ait_BinaryOp<"div"> { let summary = "true division of floats, truncating division of integers"; }
def Ait_FloorDivideOp : Ait_BinaryOp<"floor_divide">;
def Ait_RemainderOp : Ait_BinaryOp<"remainder"> { let summary = "Python's %: the sign of the divisor"; }
def Ait_FmodOp : Ait_BinaryOp<"fmod"> { let summary = "C's fmod: the sign of the dividend"; }
def Ait_PowOp : Ait_BinaryOp<"pow">;
def Ait_Atan2Op : Ait_BinaryOp<"atan2">;
def Ait_MaximumOp : Ait_CheapBinaryOp<"maximum"> { let summary = "NaN if either is NaN"; }
def Ait_MinimumOp : Ait_CheapBinaryOp<"minimum"> { let summary = "NaN if either is NaN"; }
def Ait_BitwiseAndOp : Ait_CheapBinaryOp<"bitwise_and">;
def Ait_BitwiseOrOp : Ait_CheapBinaryOp<"bitwise_or">;
def Ait_BitwiseXorOp : Ait_CheapBinaryOp<"bitwise_xor">;
def Ait_EqOp : Ait_CompareOp<"eq">;
def Ait_NeOp : Ait_CompareOp<"ne">;
def Ait_LtOp : Ait_CompareOp<"lt">;
def Ait_LeOp : Ait_CompareOp<"le">;
def Ait_GtOp : Ait_CompareOp<"gt">;
def Ait_GeOp : Ait_CompareOp<"ge">;

def Ait_WhereOp : Ait_Op<"where", [Pure, Ait_Pointwise, Ait_CheapPointwise, SameOperandsAndResultShape,
                                   AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let summary = "on_true where the condition holds, on_false elsewhere";
  let arguments = (ins Ait_Tensor:$condition, Ait_Tensor:$on_true, Ait_Tensor:$on_false);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)";
}

//===-- Reductions -------------------------------------------------------===//

class Ait_ReductionOp<string mnemonic> : Ait_Op<mnemonic, [Pure, Ait_Reduction]> {
  let arguments = (ins Ait_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return verifyReduction(getOperation()); }
  }];
}

def Ait_SumOp : Ait_ReductionOp<"sum">;
def Ait_MeanOp : Ait_ReductionOp<"mean">;
def Ait_ProdOp : Ait_ReductionOp<"prod">;
def Ait_AmaxOp : Ait_ReductionOp<"amax"> { let summary = "greatest; NaN if any is NaN"; }
def Ait_AminOp : Ait_ReductionOp<"amin"> { let summary = "least; NaN if any is NaN"; }
def Ait_AnyOp : Ait_ReductionOp<"any">;
def Ait_AllOp : Ait_ReductionOp<"all">;
def Ait_ArgmaxOp : Ait_ReductionOp<"argmax"> { let summary = "index of the first greatest along one axis"; }
def Ait_ArgminOp : Ait_ReductionOp<"argmin"> { let summary = "index of the first least along one axis"; }

#endif // AIT_POINTWISE_OPS_TD
