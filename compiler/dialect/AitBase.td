// The `ait` dialect: PyTorch inference as values.
//
// Names and meaning of the operations follow ATen's schemas. Three rules keep
// passes small:
// - No aliasing and no layout: every tensor is a value of its own, dense and
//   row-major. Another order of the axes is an `ait.permute`; operations on
//   images have the attribute `channels_last`.
// - No implicit broadcasting and no implicit dtype promotion: `ait.expand` and
//   `ait.convert` are explicit, so operands of a pointwise operation agree in shape.
// - Reductions keep the reduced axes with size 1; dropping them is an
//   `ait.reshape`.
// Dynamic sizes are expressions over the module's symbols, carried in the
// tensor type's encoding: tensor<?x128xf32, affine_map<()[s0] -> (s0, 128)>>.
// Element types are those of PyTorch's dtypes (ElementTypes.h): f64, f32, f16,
// bf16, f8E4M3FN, i64, i32, i16, i8, ui8, and i1 for bool.
#ifndef AIT_BASE_TD
#define AIT_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Ait_Dialect : Dialect {
  let name = "ait";
  let cppNamespace = "::mlir::ait";
  let summary = "PyTorch inference graphs, functional and with explicit broadcasts";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 0;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerOperations();
  }];
}

class Ait_Type<string name, string typeMnemonic>
    : TypeDef<Ait_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Ait_OpaqueType : Ait_Type<"Opaque", "opaque"> {
  let summary = "a value that only LibTorch understands, such as a list; ait.fallback alone makes and reads it";
}

def Ait_Tensor : Type<
    And<[AnyRankedTensor.predicate, CPred<"::mlir::ait::isValidTensorType($_self)">]>,
    "a ranked tensor without encoding if static, else with its sizes as an affine_map<()[s0, ...] -> (...)>",
    "::mlir::RankedTensorType">;
def Ait_Value : AnyTypeOf<[Ait_Tensor, Ait_OpaqueType], "a ranked tensor or an opaque LibTorch value">;

class Ait_Op<string mnemonic, list<Trait> traits = []>
    : Op<Ait_Dialect, mnemonic, traits>;

#endif // AIT_BASE_TD
