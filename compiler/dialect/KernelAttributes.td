// What kernels carry as attributes, and the interface of what they contract.
//
// The names of the discardable attributes, and what reads and writes them, are
// in KernelAttributes.h; here are the types of their values.
#ifndef AIT_KERNEL_ATTRIBUTES_TD
#define AIT_KERNEL_ATTRIBUTES_TD

include "compiler/dialect/AitBase.td"
include "mlir/IR/EnumAttr.td"

//===-- Attributes -------------------------------------------------------===//

def Ait_KernelKind : I32EnumAttr<"KernelKind", "the schedule family of a kernel", [
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
    runtime/cpu/pack.h defines the layouts. `argument` is the argument's number;
    `block_columns` the columns of a panel (0 for layouts without panels);
    `steps_together` how many neighbours along the contracted axis lie side by
    side; `transposed` says that a matrix is stored [columns, steps].
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
    `element_type` is the argument's. Element (i0, i1, ...) of the operand lies
    `offset` plus the axes' contributions from the argument's first one,
    counted in elements. `axes` has a map of the module's symbols for each axis:
    size and stride of each of its modes, outermost first; an axis's index is a
    number in the mixed radix of its modes' sizes. An axis of size 1 has none.
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
    `sizes` maps the module's symbols to batch, m, n and k of the product
    (compiler/codegen/contraction/ContractionAnalysis.h says which). `operands`
    has an #ait.operand_view for each operand that is an argument seen through
    views, and for each other one why it has none, as text.
  }];
  let parameters = (ins "::mlir::AffineMap":$sizes, "::mlir::ArrayAttr":$operands);
  let assemblyFormat = "`<` `sizes` `=` $sizes `,` `operands` `=` $operands `>`";
  let genVerifyDecl = 1;
}

//===-- Interfaces and traits --------------------------------------------===//

def Ait_Contraction : OpInterface<"Contraction"> {
  let cppNamespace = "::mlir::ait";
  let description = [{
    Operations that multiply and add over an axis that the result lacks: the one
    costly operation of a kernel of its own kind, which pointwise operations
    follow. Their operands stay in the type in which they are stored, also where
    the arithmetic around them is done in a wider one.
  }];
  let methods = [
    InterfaceMethod<"The kind of the kernels around it.",
        "::mlir::ait::KernelKind", "getKernelKind">,
    InterfaceMethod<[{
        Whether its kernels can walk `operand`, one of its own, through the
        strides of a view; others they read dense or element by element.
      }], "bool", "isReadThroughStrides", (ins "::mlir::OpOperand &":$operand)>,
    InterfaceMethod<"Its floating-point operations, a multiply-add being two, over the module's symbols.",
        "::mlir::AffineExpr", "countFlops">,
  ];
}

// Marks operations whose result holds nothing but elements of the operands and
// constants of the operation: no element is computed.
def Ait_Movement : NativeOpTrait<"ait::Movement">;
// Marks operations that compute each element from the elements of the operand
// around one place.
def Ait_Window : NativeOpTrait<"ait::Window">;

#endif // AIT_KERNEL_ATTRIBUTES_TD
