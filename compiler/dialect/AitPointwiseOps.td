// Pointwise operations and reductions, of which loop kernels are made.
//
// A new pointwise operation needs a line here, its value for one element in
// compiler/codegen/linalg/PointwiseToScalar.cpp, and the same in float64 and
// int64 in compiler/reference.
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
//
// Each summary says the element of the result for the element x of the input,
// as the operator of the same name in ATen computes it. Those marked "floats"
// have no code for other element types.

class Ait_SameTypeUnaryOp<string mnemonic, string element, dag attributes = (ins), list<Trait> traits = []>
    : Ait_Op<mnemonic, [Pure, Ait_Pointwise, SameOperandsAndResultType] # traits> {
  let summary = element;
  let arguments = !con((ins Ait_Tensor:$input), attributes);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}
class Ait_CheapUnaryOp<string mnemonic, string element, dag attributes = (ins)>
    : Ait_SameTypeUnaryOp<mnemonic, element, attributes, [Ait_CheapPointwise]>;
class Ait_PredicateOp<string mnemonic, string element, list<Trait> traits = []>
    : Ait_Op<mnemonic, [Pure, Ait_Pointwise, SameOperandsAndResultShape] # traits> {
  let summary = element;
  let arguments = (ins Ait_Tensor:$input);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Ait_AbsOp : Ait_CheapUnaryOp<"abs", "|x|">;
def Ait_NegOp : Ait_CheapUnaryOp<"neg", "-x">;
def Ait_SignOp : Ait_SameTypeUnaryOp<"sign", "-1, 0 or 1, with the sign of x; 0 for NaN">;
def Ait_FloorOp : Ait_CheapUnaryOp<"floor", "the greatest integer not above x">;
def Ait_CeilOp : Ait_CheapUnaryOp<"ceil", "the least integer not below x">;
def Ait_RoundOp : Ait_CheapUnaryOp<"round", "the integer nearest to x; of two, the even one">;
def Ait_TruncOp : Ait_CheapUnaryOp<"trunc", "x without its fraction">;
def Ait_ExpOp : Ait_SameTypeUnaryOp<"exp", "e to the power of x; floats">;
def Ait_Exp2Op : Ait_SameTypeUnaryOp<"exp2", "2 to the power of x; floats">;
def Ait_Expm1Op : Ait_SameTypeUnaryOp<"expm1", "exp(x) - 1, exact near 0; floats">;
def Ait_LogOp : Ait_SameTypeUnaryOp<"log", "the natural logarithm of x; floats">;
def Ait_Log2Op : Ait_SameTypeUnaryOp<"log2", "the logarithm of x to base 2; floats">;
def Ait_Log10Op : Ait_SameTypeUnaryOp<"log10", "the logarithm of x to base 10; floats">;
def Ait_Log1pOp : Ait_SameTypeUnaryOp<"log1p", "log(1 + x), exact near 0; floats">;
def Ait_SqrtOp : Ait_SameTypeUnaryOp<"sqrt", "the square root of x; floats">;
def Ait_RsqrtOp : Ait_SameTypeUnaryOp<"rsqrt", "1 / sqrt(x); floats">;
def Ait_ReciprocalOp : Ait_SameTypeUnaryOp<"reciprocal", "1 / x; floats">;
def Ait_SinOp : Ait_SameTypeUnaryOp<"sin", "the sine of x radians; floats">;
def Ait_CosOp : Ait_SameTypeUnaryOp<"cos", "the cosine of x radians; floats">;
def Ait_TanOp : Ait_SameTypeUnaryOp<"tan", "the tangent of x radians; floats">;
def Ait_AsinOp : Ait_SameTypeUnaryOp<"asin", "the angle in radians whose sine is x; floats">;
def Ait_AcosOp : Ait_SameTypeUnaryOp<"acos", "the angle in radians whose cosine is x; floats">;
def Ait_AtanOp : Ait_SameTypeUnaryOp<"atan", "the angle in radians whose tangent is x; floats">;
def Ait_SinhOp : Ait_SameTypeUnaryOp<"sinh", "(exp(x) - exp(-x)) / 2; floats">;
def Ait_CoshOp : Ait_SameTypeUnaryOp<"cosh", "(exp(x) + exp(-x)) / 2; floats">;
def Ait_AsinhOp : Ait_SameTypeUnaryOp<"asinh", "the number whose sinh is x; floats">;
def Ait_AcoshOp : Ait_SameTypeUnaryOp<"acosh", "the number from 0 up whose cosh is x, NaN below 1; floats">;
def Ait_AtanhOp : Ait_SameTypeUnaryOp<"atanh", "the number whose tanh is x, NaN beyond 1 and -1; floats">;
def Ait_TanhOp : Ait_SameTypeUnaryOp<"tanh", "sinh(x) / cosh(x); floats">;
def Ait_ErfOp : Ait_SameTypeUnaryOp<"erf", "the error function of x; floats">;
def Ait_SigmoidOp : Ait_SameTypeUnaryOp<"sigmoid", "1 / (1 + exp(-x)); floats">;
def Ait_LogSigmoidOp : Ait_SameTypeUnaryOp<"log_sigmoid", "log(sigmoid(x)); floats">;
def Ait_ReluOp : Ait_CheapUnaryOp<"relu", "max(x, 0); NaN stays NaN">;
def Ait_SiluOp : Ait_SameTypeUnaryOp<"silu", "x * sigmoid(x); floats">;
def Ait_MishOp : Ait_SameTypeUnaryOp<"mish", "x * tanh(log(1 + exp(x))); floats">;
def Ait_HardswishOp : Ait_SameTypeUnaryOp<"hardswish", "x * hardsigmoid(x); floats">;
def Ait_HardsigmoidOp : Ait_SameTypeUnaryOp<"hardsigmoid", "min(max(x + 3, 0), 6) / 6; NaN stays NaN; floats">;
def Ait_LogicalNotOp : Ait_PredicateOp<"logical_not", "whether x is 0", [Ait_CheapPointwise]>;
def Ait_BitwiseNotOp : Ait_CheapUnaryOp<"bitwise_not", "x with all bits inverted; integers and i1">;
def Ait_IsNanOp : Ait_PredicateOp<"isnan", "whether x is NaN; false for integers", [Ait_CheapPointwise]>;
def Ait_IsInfOp : Ait_PredicateOp<"isinf", "whether x is an infinity; false for integers">;

def Ait_GeluOp : Ait_SameTypeUnaryOp<"gelu",
    "x * (1 + erf(x / sqrt(2))) / 2; with tanh_approximation, "
    "x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2; floats",
    (ins UnitAttr:$tanh_approximation)>;
def Ait_EluOp : Ait_SameTypeUnaryOp<"elu",
    "scale * x for x > 0, else scale * alpha * (exp(input_scale * x) - 1); floats",
    (ins F64Attr:$alpha, F64Attr:$scale, F64Attr:$input_scale)>;
def Ait_LeakyReluOp : Ait_SameTypeUnaryOp<"leaky_relu",
    "x for x > 0, else negative_slope * x; floats", (ins F64Attr:$negative_slope)>;
def Ait_SoftplusOp : Ait_SameTypeUnaryOp<"softplus",
    "x where beta * x > threshold, else log(1 + exp(beta * x)) / beta; floats",
    (ins F64Attr:$beta, F64Attr:$threshold)>;
def Ait_ClampOp : Ait_CheapUnaryOp<"clamp",
    "min(max(x, min), max), without the limits that are not set; NaN stays NaN (aten::clamp, hardtanh, relu6)",
    (ins OptionalAttr<F64Attr>:$min, OptionalAttr<F64Attr>:$max)>;

def Ait_ConvertOp : Ait_PredicateOp<"convert",
    "x in another element type (aten::to): floats rounded to the nearest, of two to the even one; "
    "from a float to an integer without the fraction; to i1 whether x is not 0",
    [Ait_CheapPointwise]> {
  let hasFolder = 1;
}

def Ait_CheckOp : Ait_SameTypeUnaryOp<"check",
    "an index in [0, size) or a divisor that is not 0, for integers of which eager refuses others",
    (ins OptionalAttr<AffineMapAttr>:$size, UnitAttr:$from_end,
         UnitAttr:$silent, StrAttr:$operator_name, OptionalAttr<I64Attr>:$number)> {
  let description = [{
    With `size`, a map of the module's symbols to one number, the elements are
    indices of an axis with that many entries. They must be in [0, size), or
    with `from_end` in [-size, size), of which negative ones count from the end.
    Without `size` the elements are divisors and must not be 0.

    The result is in range whatever the input is: an index is moved to the
    nearest entry, a divisor of 0 becomes 1. A kernel says which of its checks
    failed, and of which value (runtime/cpu/kernel_abi.h), unless the check is
    `silent`.

    `operator_name` is the operator that the error names. `number` is the
    position of the check among those of its kernel, which ait-outline-kernels
    sets.
  }];
  let hasVerifier = 1;
}

//===-- Two and three operands -------------------------------------------===//
//
// Operands are `lhs` and `rhs`, of one type. Sums, differences and products of
// integers are taken modulo 2 to the number of bits, as ATen's are.

class Ait_BinaryOp<string mnemonic, string element, list<Trait> traits = []>
    : Ait_Op<mnemonic, [Pure, Ait_Pointwise, SameOperandsAndResultType] # traits> {
  let summary = element;
  let arguments = (ins Ait_Tensor:$lhs, Ait_Tensor:$rhs);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
class Ait_CheapBinaryOp<string mnemonic, string element>
    : Ait_BinaryOp<mnemonic, element, [Ait_CheapPointwise]>;
// The result's element type is i1.
class Ait_CompareOp<string mnemonic, string element>
    : Ait_Op<mnemonic, [Pure, Ait_Pointwise, Ait_CheapPointwise, SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = element;
  let arguments = (ins Ait_Tensor:$lhs, Ait_Tensor:$rhs);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def Ait_AddOp : Ait_CheapBinaryOp<"add", "lhs + rhs">;
def Ait_SubOp : Ait_CheapBinaryOp<"sub", "lhs - rhs">;
def Ait_MulOp : Ait_CheapBinaryOp<"mul", "lhs * rhs">;
def Ait_DivOp : Ait_BinaryOp<"div", "lhs / rhs; for integers without its fraction">;
def Ait_FloorDivideOp : Ait_BinaryOp<"floor_divide", "floor(lhs / rhs)">;
def Ait_RemainderOp : Ait_BinaryOp<"remainder", "lhs - floor(lhs / rhs) * rhs: Python's %, with the sign of rhs">;
def Ait_FmodOp : Ait_BinaryOp<"fmod", "lhs - trunc(lhs / rhs) * rhs: C's fmod, with the sign of lhs">;
def Ait_PowOp : Ait_BinaryOp<"pow", "lhs to the power of rhs">;
def Ait_Atan2Op : Ait_BinaryOp<"atan2", "the angle in radians of the point (rhs, lhs); floats">;
def Ait_CopysignOp : Ait_CheapBinaryOp<"copysign", "|lhs| with the sign of rhs, also of -0 and of NaN; floats">;
def Ait_MaximumOp : Ait_CheapBinaryOp<"maximum", "the greater one; NaN if either is NaN">;
def Ait_MinimumOp : Ait_CheapBinaryOp<"minimum", "the lesser one; NaN if either is NaN">;
def Ait_BitwiseAndOp : Ait_CheapBinaryOp<"bitwise_and", "the bits that both have; integers and i1">;
def Ait_BitwiseOrOp : Ait_CheapBinaryOp<"bitwise_or", "the bits that either has; integers and i1">;
def Ait_BitwiseXorOp : Ait_CheapBinaryOp<"bitwise_xor", "the bits that one of them has; integers and i1">;
def Ait_EqOp : Ait_CompareOp<"eq", "lhs == rhs; false for NaN">;
def Ait_NeOp : Ait_CompareOp<"ne", "lhs != rhs; true for NaN">;
def Ait_LtOp : Ait_CompareOp<"lt", "lhs < rhs; false for NaN">;
def Ait_LeOp : Ait_CompareOp<"le", "lhs <= rhs; false for NaN">;
def Ait_GtOp : Ait_CompareOp<"gt", "lhs > rhs; false for NaN">;
def Ait_GeOp : Ait_CompareOp<"ge", "lhs >= rhs; false for NaN">;

def Ait_WhereOp : Ait_Op<"where", [Pure, Ait_Pointwise, Ait_CheapPointwise, SameOperandsAndResultShape,
                                   AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let summary = "on_true where the condition (i1) holds, on_false elsewhere";
  let arguments = (ins Ait_Tensor:$condition, Ait_Tensor:$on_true, Ait_Tensor:$on_false);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)";
}

//===-- Reductions -------------------------------------------------------===//

class Ait_ReductionOp<string mnemonic, string element> : Ait_Op<mnemonic, [Pure, Ait_Reduction]> {
  let summary = element # " of the elements along the axes `dims`";
  let description = [{
    `dims` are the reduced axes in ascending order, each once. The result has
    size 1 along them and the input's sizes elsewhere. Its element type is the
    input's; that of any and all is i1, that of argmax and argmin i32 or i64.
  }];
  let arguments = (ins Ait_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Ait_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return verifyReduction(getOperation()); }
  }];
}

def Ait_SumOp : Ait_ReductionOp<"sum", "the sum">;
def Ait_MeanOp : Ait_ReductionOp<"mean", "the mean">;
def Ait_ProdOp : Ait_ReductionOp<"prod", "the product">;
def Ait_AmaxOp : Ait_ReductionOp<"amax", "the greatest, or NaN if there is one,">;
def Ait_AminOp : Ait_ReductionOp<"amin", "the least, or NaN if there is one,">;
def Ait_AnyOp : Ait_ReductionOp<"any", "whether any is not 0,">;
def Ait_AllOp : Ait_ReductionOp<"all", "whether none is 0,">;
def Ait_ArgmaxOp : Ait_ReductionOp<"argmax", "the index of the first greatest, or of the first NaN,"> {
  let description = "`dims` is one axis. The result's element type is i32 or i64.";
}
def Ait_ArgminOp : Ait_ReductionOp<"argmin", "the index of the first least, or of the first NaN,"> {
  let description = "`dims` is one axis. The result's element type is i32 or i64.";
}

#endif // AIT_POINTWISE_OPS_TD
