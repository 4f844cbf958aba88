#include "quant/transforms/layer_writer.h"

#include <utility>

#include "compiler/dialect/ElementTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "mlir/IR/Builders.h"

namespace aitune::quant {
namespace {

namespace ait = mlir::ait;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;

// Unsigned codes of activations are the signed ones plus this.
constexpr double kZeroPoint = 128;
// Of quant/schemes/int8.h and float8.h: a scale is the greatest magnitude over
// the divisor, codes are of numbers from `least` to `greatest`.
struct CodeRules {
  double divisor, smallest_scale, least, greatest;
};
constexpr CodeRules kInt8Rules{127.5, 0x1p-23, -128, 127};
constexpr CodeRules kFloat8Rules{448, 0x1p-126, -448, 448};

// Writes operations at one place, with the types that they imply.
class Writer {
 public:
  Writer(mlir::OpBuilder& builder, mlir::Location location)
      : builder_(builder), location_(location) {}

  template <typename Op, typename... Arguments>
  Value Create(Type type, Arguments&&... arguments) {
    return Op::create(builder_, location_, type,
                      std::forward<Arguments>(arguments)...);
  }
  template <typename Op>
  Value Binary(Value lhs, Value rhs) {
    return Create<Op>(lhs.getType(), lhs, rhs);
  }
  template <typename Op>
  Value WithNumber(Value value, double number) {
    return Binary<Op>(value, Full(value, number));
  }
  Value Full(Value like, double number) {
    return Create<ait::FullOp>(like.getType(),
                               builder_.getF32FloatAttr(number));
  }
  Value Convert(Value value, Type element) {
    auto type = mlir::cast<RankedTensorType>(value.getType());
    if (type.getElementType() == element) return value;
    return Create<ait::ConvertOp>(ait::withElementType(type, element), value);
  }
  // `value`, f32 or i32, repeated to the sizes of `like`.
  Value Expand(Value value, Value like) {
    auto type = mlir::cast<RankedTensorType>(value.getType());
    auto target = ait::withElementType(
        mlir::cast<RankedTensorType>(like.getType()), type.getElementType());
    return type == target ? value : Create<ait::ExpandOp>(target, value);
  }

 private:
  mlir::OpBuilder& builder_;
  const mlir::Location location_;
};

// The scale of what shares one, as quant/schemes computes it. One of a tensor
// is given for each row if it is `repeated`.
Value ScaleOf(Writer& w, Value x, const CodeRules& rules,
              Granularity granularity, bool repeated) {
  auto type = mlir::cast<RankedTensorType>(x.getType());
  Value greatest = w.Create<ait::AbsOp>(type, x);
  auto sizes = ait::getSymbolicSizes(type);
  // Of each row, then of all: a row is what a group of threads reduces.
  const int64_t first =
      granularity == Granularity::kPerRow ? type.getRank() - 1 : 0;
  auto reduce = [&](llvm::ArrayRef<int64_t> axes) {
    for (const int64_t axis : axes)
      sizes[axis] = mlir::getAffineConstantExpr(1, type.getContext());
    greatest = w.Create<ait::AmaxOp>(
        ait::getTensorType(sizes, type.getElementType()), greatest, axes);
  };
  reduce({type.getRank() - 1});
  if (first < type.getRank() - 1) {
    const Value of_rows = greatest;
    reduce(llvm::to_vector(llvm::seq<int64_t>(first, type.getRank() - 1)));
    // The greatest of all is that of each row and all: so it is in memory.
    if (repeated)
      greatest = w.Binary<ait::MaximumOp>(w.Expand(greatest, of_rows), of_rows);
  }
  return w.WithNumber<ait::MaximumOp>(
      w.WithNumber<ait::DivOp>(greatest, rules.divisor), rules.smallest_scale);
}

}  // namespace

const LayerWriter::QuantizedInput& LayerWriter::QuantizeInput(
    Value input, const Way& way, mlir::Location location) {
  const auto [found, is_new] = inputs_.try_emplace(input);
  if (!is_new) return found->second;
  const bool is_float = way.scheme == Scheme::kFloat8Dynamic;
  const CodeRules& rules = is_float ? kFloat8Rules : kInt8Rules;
  mlir::OpBuilder builder(location.getContext());
  builder.setInsertionPointAfterValue(input);
  Writer w(builder, location);
  const Value x = w.Convert(input, builder.getF32Type());
  // Libraries take one scale a row beside one a column of the weight.
  const Value scale =
      ScaleOf(w, x, rules, way.granularity, /*repeated=*/is_float);
  // int8 multiplies by the reciprocal, float8 divides: their bits differ.
  Value number;
  if (is_float) {
    number = w.Binary<ait::DivOp>(x, w.Expand(scale, x));
  } else {
    const Value factor =
        w.Expand(w.Binary<ait::DivOp>(w.Full(scale, 1), scale), x);
    number =
        w.Create<ait::RoundOp>(x.getType(), w.Binary<ait::MulOp>(x, factor));
  }
  const Value limited = w.Create<ait::ClampOp>(
      x.getType(), number, builder.getF64FloatAttr(rules.least),
      builder.getF64FloatAttr(rules.greatest));
  const Value codes =
      is_float ? w.Convert(limited, builder.getType<mlir::Float8E4M3FNType>())
               : w.Convert(w.WithNumber<ait::AddOp>(limited, kZeroPoint),
                           builder.getIntegerType(8, /*isSigned=*/false));
  found->second = {codes, scale};
  return found->second;
}

void LayerWriter::Rewrite(ait::MatmulOp matmul, const Way& way,
                          const QuantizedWeight& weight) {
  mlir::OpBuilder builder(matmul);
  Writer w(builder, matmul.getLoc());
  auto constant = [&](int64_t number, const ConstantTensor& tensor,
                      Type element) {
    return w.Create<ait::ConstantOp>(
        RankedTensorType::get(tensor.view.sizes, element),
        static_cast<uint64_t>(number), tensor.name);
  };
  const Value codes = constant(
      weight.codes_number, weight.codes,
      ait::toElementType(weight.codes.view.dtype, matmul.getContext()));
  const Value scales =
      constant(weight.scales_number, weight.scales, builder.getF32Type());
  const bool sums_integers = way.scheme == Scheme::kInt8Dynamic;
  const RankedTensorType type = matmul.getType();
  Value lhs = matmul.getLhs();
  QuantizedInput input;
  if (sums_integers || way.scheme == Scheme::kFloat8Dynamic) {
    input = QuantizeInput(lhs, way, matmul.getLoc());
    lhs = input.codes;
  }
  Value result = w.Create<ait::MatmulOp>(
      ait::withElementType(type, sums_integers ? Type(builder.getI32Type())
                                               : Type(builder.getF32Type())),
      lhs, codes, /*transpose_lhs=*/false, /*transpose_rhs=*/true);
  if (sums_integers) {
    const Value sums =
        constant(weight.sums_number, *weight.sums, builder.getI32Type());
    result = w.Binary<ait::SubOp>(result, w.Expand(sums, result));
    result = w.Convert(result, builder.getF32Type());
  }
  if (input.scale)
    result = w.Binary<ait::MulOp>(result, w.Expand(input.scale, result));
  result = w.Binary<ait::MulOp>(result, w.Expand(scales, result));
  matmul.replaceAllUsesWith(w.Convert(result, type.getElementType()));
  matmul.erase();
}

}  // namespace aitune::quant
