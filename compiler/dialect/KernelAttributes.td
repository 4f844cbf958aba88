// The types of kernels' attributes, and the interface and traits by which passes
// handle operations without knowing their names.
//
// KernelAttributes.h has the names of the attributes that have these types, and
// the functions that read and write them.
#ifndef AIT_KERNEL_ATTRIBUTES_TD
#define AIT_KERNEL_ATTRIBUTES_TD

include "compiler/dialect/AitBase.td"
include "mlir/IR/EnumAttr.td"

//===-- Attributes -------------------------------------------------------===//

def Ait_KernelKind : I32EnumAttr<"KernelKind", "the template that generates a kernel's code", [
    I32EnumAttrCase<"Loop", 0, "loop">,
    I32EnumAttrCase<"Matmul", 1, "matmul">,
    I32EnumAttrCase<"Convolution", 2, "convolution">,
    I32EnumAttrCase<"Attention", 3, "attention">]> {
  let cppNamespace = "::mlir::ait";
  let genSpecializedAttr = 0;
}

def Ait_KernelKindAttr : EnumAttr<Ait_Dialect, Ait_KernelKind, "kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Ait_PackedLayout : I32EnumAttr<"PackedLayout", "the order of a packed constant's elements", [
    I32EnumAttrCase<"MatmulPanels", 0, "matmul_panels">,
    I32EnumAttrCase<"ConvolutionPanels", 1, "convolution_panels">,
    I32EnumAttrCase<"Depthwise", 2, "depthwise">,
    I32EnumAttrCase<"Winograd2x2", 3, "winograd_2x2">,
    I32EnumAttrCase<"Winograd4x4", 4, "winograd_4x4">]> {
  let cppNamespace = "::mlir::ait";
  let genSpecializedAttr = 0;
}
def Ait_PackedLayoutAttr : EnumAttr<Ait_Dialect, Ait_PackedLayout, "packed_layout"> {
  let assemblyFormat = "`<` $value `>`";
}

def Ait_PackingAttr : AttrDef<Ait_Dialect, "Packing"> {
  let mnemonic = "packing";
  let summary = "how a kernel's constant argument is rearranged when the model is loaded";
  let description = [{
    runtime/cpu/pack.h defines the layouts. `argument` is the number of the
    kernel's argument. `block_columns` is the number of columns of a panel; 0 for
    depthwise, which has no panels. `steps_together` is the number of neighbours
    along the contracted axis that lie side by side. With `transposed` the
    matrix is stored [columns, steps].
  }];
  let parameters = (ins "int64_t":$argument, EnumParameter<Ait_PackedLayout>:$layout,
      DefaultValuedParameter<"int64_t", "0">:$block_columns,
      DefaultValuedParameter<"int64_t", "1">:$steps_together,
      DefaultValuedParameter<"bool", "false">:$transposed);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Ait_OperandViewAttr : AttrDef<Ait_Dialect, "OperandView"> {
  let mnemonic = "operand_view";
  let summary = "where the elements of a contraction's operand lie in a kernel's argument";
  let description = [{
    `argument` is the number of the kernel's argument and `element_type` its
    element type. `axes` has a map of the module's symbols for each axis of the
    operand: the size and the stride of each mode of the axis, outermost mode
    first. The index of an axis is a number in the mixed radix of its modes'
    sizes; an axis of size 1 has no modes. Element (i0, i1, ...) lies at `offset`
    plus the sum of all modes' index times stride. Offset and strides are counted
    in elements from the argument's first one. Layout
    (compiler/codegen/contraction/OperandLayout.h) is the same as a struct.
  }];
  let parameters = (ins "int64_t":$argument, "::mlir::Type":$element_type,
      "::mlir::AffineMap":$offset, ArrayRefParameter<"::mlir::AffineMap">:$axes);
  let assemblyFormat = [{
    `<` `argument` `=` $argument `,` `element_type` `=` $element_type `,`
    `offset` `=` $offset `,` `axes` `=` `[` $axes `]` `>`
  }];
  let genVerifyDecl = 1;
}

def Ait_ContractionAttr : AttrDef<Ait_Dialect, "Contraction"> {
  let mnemonic = "contraction";
  let summary = "how a kernel's contraction sees its operands";
  let description = [{
    `sizes` maps the module's symbols to the sizes batch, m, n and k of the
    product (compiler/codegen/contraction/ContractionAnalysis.h). `operands` has
    an entry for each operand: an #ait.operand_view if it is an argument seen
    through views, else a text that says why it is not.
  }];
  let parameters = (ins "::mlir::AffineMap":$sizes, "::mlir::ArrayAttr":$operands);
  let assemblyFormat = "`<` `sizes` `=` $sizes `,` `operands` `=` $operands `>`";
  let genVerifyDecl = 1;
}

//===-- Interfaces and traits --------------------------------------------===//

def Ait_Contraction : OpInterface<"Contraction"> {
  let cppNamespace = "::mlir::ait";
  let description = [{
    Operations that multiply and add along axes that the result does not have:
    matmul, convolution, attention. A kernel has at most one, which decides the
    kernel's kind; pointwise operations on its result follow it in the kernel.
    Its operands keep the element type in which they are in memory, also where
    the arithmetic after it is done in a wider one.
  }];
  let methods = [
    InterfaceMethod<"The kind of a kernel with this operation.",
        "::mlir::ait::KernelKind", "getKernelKind">,
    InterfaceMethod<"How a kernel reads `operand`, one of this operation's.",
        "::mlir::ait::OperandRead", "getOperandRead", (ins "::mlir::OpOperand &":$operand)>,
    InterfaceMethod<"The sizes of the product, of the first one if there are two.",
        "::mlir::ait::ProductSizes", "getProductSizes">,
    InterfaceMethod<[{
        Whether a kernel writes the result through strides, so that a permute of
        it costs nothing.
      }], "bool", "isWrittenThroughStrides", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<"The number of floating-point operations, two for a multiply-add, over the module's symbols.",
        "::mlir::AffineExpr", "countFlops">,
  ];
}

def Ait_LinearView : OpInterface<"LinearView"> {
  let cppNamespace = "::mlir::ait";
  let description = [{
    Movements of one operand whose result reads it at an index that is linear in
    its own: an expression of dims, numbers and sizes. Both devices' loops and
    what computes views of constants know them by this alone.
  }];
  let methods = [
    InterfaceMethod<[{
        The index of the operand's element that is the result's element at
        `index`: an expression for each axis of the operand. `index` has one for
        each axis of the result.
      }], "::llvm::SmallVector<::mlir::AffineExpr>", "getSourceIndex",
      (ins "::llvm::ArrayRef<::mlir::AffineExpr>":$index)>,
  ];
}

// Marks operations whose result has only elements of the operands and a constant
// of the operation: nothing is computed.
def Ait_Movement : NativeOpTrait<"ait::Movement">;
// Marks movements whose result has elements of the first operand alone.
def Ait_Selection : NativeOpTrait<"ait::Selection">;
// Marks operations that compute each element from neighbouring elements of the
// operand, such as pools.
def Ait_Window : NativeOpTrait<"ait::Window">;

#endif // AIT_KERNEL_ATTRIBUTES_TD
