#include "compiler/codegen/gpu/contraction/ConvolutionKernel.h"

#include "absl/status/status.h"
#include "compiler/codegen/gpu/contraction/Contraction.h"
#include "compiler/codegen/gpu/contraction/TileConfig.h"
#include "compiler/codegen/gpu/contraction/TileSpace.h"
#include "compiler/codegen/gpu/contraction/TileWriter.h"
#include "compiler/codegen/gpu/loops/LoopKernel.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/status/status_macros.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {
namespace {

/// The number of tiles that are candidates, by their estimates: compiling them
/// is half of a network's build. On an H200 two more made the kernels of five
/// networks 0.2 % faster.
constexpr size_t kMostTiles = 4;

/// The attributes and sizes of a convolution.
struct Geometry {
  SmallVector<int64_t> stride, padding, dilation;
  int64_t groups;
  bool channelsLast;
  unsigned channelAxis, firstAxis; ///< firstAxis: of the spatial ones
  SmallVector<AffineExpr> inputSizes, outputSizes;
  SmallVector<int64_t> window; ///< the filter's sizes along the spatial axes
  int64_t groupChannels, outputs;

  unsigned spatial() const { return window.size(); }
  int64_t taps() const { return llvm::product_of(window); }
  bool isDepthwise() const { return groupChannels == 1 && groups == outputs; }
};

absl::StatusOr<Geometry> readGeometry(const ContractionParts &parts) {
  Geometry geometry;
  DictionaryAttr attributes = parts.attributes;
  auto list = [&](StringRef name) {
    return SmallVector<int64_t>(
        attributes.getAs<DenseI64ArrayAttr>(name).asArrayRef());
  };
  geometry.stride = list("stride");
  geometry.padding = list("padding");
  geometry.dilation = list("dilation");
  geometry.groups = attributes.getAs<IntegerAttr>("groups").getInt();
  geometry.channelsLast = attributes.contains("channels_last");
  unsigned rank = parts.resultType.getRank();
  geometry.channelAxis = geometry.channelsLast ? rank - 1 : 1;
  geometry.firstAxis = geometry.channelsLast ? 1 : 2;
  geometry.inputSizes = mlir::ait::getSymbolicSizes(parts.operandTypes[0]);
  geometry.outputSizes = mlir::ait::getSymbolicSizes(parts.resultType);
  if (!parts.operandTypes[1].hasStaticShape())
    return absl::UnimplementedError("a convolution with a dynamic filter");
  ArrayRef<int64_t> filter = parts.operandTypes[1].getShape();
  geometry.outputs = filter[0];
  geometry.groupChannels = filter[1];
  geometry.window = llvm::to_vector(filter.drop_front(2));
  return geometry;
}

/// Whether the filter is a constant that nothing else reads, so that it may be
/// packed at load.
bool mayPackFilter(const ContractionParts &parts) {
  auto argument = dyn_cast<BlockArgument>(parts.operand(1));
  return argument && argument.hasOneUse() &&
         mlir::ait::getKnownAt(parts.function, argument.getArgNumber()) ==
             mlir::ait::KnownAt::Load;
}

absl::StatusOr<GeneratedCandidate>
generateLoops(func::FuncOp kernel, ArrayAttr symbols, const GpuTarget &target) {
  AITUNE_ASSIGN_OR_RETURN(ContractionParts parts, takeApart(kernel));
  AITUNE_ASSIGN_OR_RETURN(const Geometry g, readGeometry(parts));
  MLIRContext *context = kernel.getContext();
  auto dim = [&](unsigned i) { return getAffineDimExpr(i, context); };
  auto number = [&](int64_t value) {
    return getAffineConstantExpr(value, context);
  };
  // Loops: the result's axes, then the filter's spatial axes, then the channel.
  const unsigned rank = g.spatial() + 2;
  AffineExpr out = dim(g.channelAxis), channel = dim(rank + g.spatial());
  SmallVector<AffineExpr> input, taps;
  for (unsigned i = 0; i < rank; ++i)
    input.push_back(dim(i));
  for (unsigned i = 0; i < g.spatial(); ++i) {
    taps.push_back(dim(rank + i));
    input[g.firstAxis + i] = dim(g.firstAxis + i) * g.stride[i] +
                             taps[i] * g.dilation[i] - g.padding[i];
  }
  int64_t groupOutputs = g.outputs / g.groups;
  input[g.channelAxis] =
      g.groups == 1 ? channel
                    : out.floorDiv(groupOutputs) * g.groupChannels + channel;
  SmallVector<AffineExpr> filter = {out, channel};
  llvm::append_range(filter, taps);
  bool pack = g.isDepthwise() && g.channelsLast && mayPackFilter(parts);
  unsigned filterNumber = 0;
  if (pack) {
    auto argument = cast<BlockArgument>(parts.operand(1));
    filterNumber = argument.getArgNumber();
    SmallVector<int64_t> packed = g.window;
    packed.push_back(g.outputs);
    argument.setType(
        RankedTensorType::get(packed, parts.operandTypes[1].getElementType()));
    filter = taps;
    filter.push_back(out);
  }
  if (g.groupChannels == 1 && g.groups > 1)
    input[g.channelAxis] = out.floorDiv(groupOutputs);

  Type element = parts.resultType.getElementType();
  if (!isa<FloatType>(element))
    return absl::UnimplementedError("a convolution of integers");
  SmallVector<AffineExpr> reduced = llvm::map_to_vector(g.window, number);
  reduced.push_back(number(g.groupChannels));
  func::FuncOp loops =
      toLoops(parts, reduced, [&](OpBuilder &b, Location l) -> Value {
        // Padding is 0 and is not read.
        Value inside;
        for (unsigned i = 0; i < g.spatial(); ++i) {
          AffineExpr at = input[g.firstAxis + i];
          AffineExpr size = g.inputSizes[g.firstAxis + i];
          AffineExpr last = (g.outputSizes[g.firstAxis + i] - 1) * g.stride[i] +
                            (g.window[i] - 1) * g.dilation[i] - g.padding[i];
          std::optional<int64_t> beyond = getConstant(canonical(last - size));
          auto require = [&](arith::CmpIPredicate predicate, AffineExpr bound) {
            Value holds = arith::CmpIOp::create(
                b, l, predicate, loopIndex(b, l, at), loopIndex(b, l, bound));
            inside = inside ? Value(arith::AndIOp::create(b, l, inside, holds))
                            : holds;
          };
          if (g.padding[i] > 0)
            require(arith::CmpIPredicate::sge, number(0));
          if (beyond.value_or(0) >= 0)
            require(arith::CmpIPredicate::slt, size);
        }
        Value weight = readOperand(b, l, parts.operand(1), filter, element);
        auto product = [&](OpBuilder &at) -> Value {
          return arith::MulFOp::create(
              at, l, readOperand(at, l, parts.operand(0), input, element),
              weight);
        };
        if (!inside)
          return product(b);
        auto branch = scf::IfOp::create(b, l, TypeRange{element}, inside,
                                        /*withElseRegion=*/true);
        OpBuilder onTrue = branch.getThenBodyBuilder(),
                  onFalse = branch.getElseBodyBuilder();
        scf::YieldOp::create(onTrue, l, product(onTrue));
        scf::YieldOp::create(onFalse, l, emitConstant(onFalse, l, element, 0));
        return branch.getResult(0);
      });
  absl::StatusOr<GeneratedCandidate> candidate =
      generateLoopKernel(loops, symbols, target);
  if (!candidate.ok())
    return candidate;
  candidate->description = "loops: " + candidate->description;
  if (pack)
    for (ImplementationStep &step : candidate->steps) {
      step.packings.resize(step.inputs.size());
      step.packings[filterNumber].set_kind(PackingProto::DEPTHWISE);
    }
  return candidate;
}

/// The declaration of the image's windows as rows.
std::string declareWindows(const Geometry &g, const TileKernel &tiles,
                           DimTable &dims, ArrayRef<AffineExpr> input) {
  PrintScope root;
  PointPrinter printer(dims);
  printer.current = &root;
  auto text = [&](AffineExpr expr) { return printer.index(expr); };
  std::string from = inputName(tiles.a.argument.getArgNumber()),
              offset = text(tiles.a.address.constant);
  if (offset != "0")
    from += " + " + offset;
  if (g.spatial() == 2)
    return llvm::formatv(
        "const Windows<{0}, {1}, {2}> a{{{3}, {4}, {5}, {6}, m0, {7}, {8}, "
        "{9}, {10}, {11}, {12}, {13}, {14}, {15}, {16}, {17}, {18}};",
        cudaType(tiles.element), g.window[0], g.window[1], from,
        text(tiles.a.coefficient(input[0])),
        text(tiles.a.coefficient(input[1])),
        text(tiles.a.coefficient(input[2])), text(tiles.rowSize),
        text(g.outputSizes[1]), text(g.outputSizes[2]), text(g.inputSizes[1]),
        text(g.inputSizes[2]), g.groupChannels, g.stride[0], g.stride[1],
        g.padding[0], g.padding[1], g.dilation[0], g.dilation[1]);
  auto list = [](auto &&texts) { return "{" + llvm::join(texts, ", ") + "}"; };
  auto sizes = [&](ArrayRef<AffineExpr> exprs) {
    return list(llvm::map_to_vector(exprs, text));
  };
  auto numbers = [&](ArrayRef<int64_t> values) {
    return list(llvm::map_to_vector(
        values, [](int64_t value) { return std::to_string(value); }));
  };
  auto strides = llvm::map_to_vector(
      ArrayRef<AffineExpr>(input).take_front(4),
      [&](AffineExpr axis) { return text(tiles.a.coefficient(axis)); });
  return llvm::formatv(
      "const VolumeWindows<{0}, {1}, {2}, {3}> a{{{4}, {5}, m0, {6}, {7}, {8}, "
      "{9}, {10}, {11}, {12}};",
      cudaType(tiles.element), g.window[0], g.window[1], g.window[2], from,
      list(strides), text(tiles.rowSize),
      sizes(ArrayRef<AffineExpr>(g.outputSizes).slice(1, 3)),
      sizes(ArrayRef<AffineExpr>(g.inputSizes).slice(1, 3)), g.groupChannels,
      numbers(g.stride), numbers(g.padding), numbers(g.dilation));
}

auto equals(int64_t wanted) {
  return [wanted](int64_t value) { return value == wanted; };
}

/// The convolution as a product of tiles, for TileWriter.
absl::StatusOr<TileKernel> analyzeTiles(ContractionParts &parts,
                                        const Geometry &g, DimTable &dims) {
  if (g.groups != 1 || !g.channelsLast)
    return absl::UnimplementedError(
        "a convolution with groups or with channels first");
  MLIRContext *context = parts.resultType.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context),
             one = getAffineConstantExpr(1, context);
  auto axis = [&](AffineExpr size) {
    return size == 1 ? zero : dims.make(size);
  };
  TileKernel tiles;
  tiles.rowSize = one;
  for (unsigned i = 0; i <= g.channelAxis; ++i) {
    tiles.resultDims.push_back(axis(g.outputSizes[i]));
    if (i < g.channelAxis && isa<AffineDimExpr>(tiles.resultDims[i]))
      tiles.rowDims.push_back(tiles.resultDims[i]);
    if (i < g.channelAxis)
      tiles.rowSize = canonical(tiles.rowSize * g.outputSizes[i]);
  }
  tiles.batchSize = one;
  tiles.columnSize = g.outputSizes[g.channelAxis];
  SmallVector<AffineExpr> input;
  for (AffineExpr size : g.inputSizes)
    input.push_back(axis(size));
  AITUNE_ASSIGN_OR_RETURN(OperandView view, viewOperand(parts, 0, input, dims));
  for (const LinearForm::Term &term : view.address.terms)
    if (!isa<AffineDimExpr>(term.term))
      return absl::UnimplementedError(
          "a convolution's image whose pixels are not evenly spaced");
  tiles.a = view;
  tiles.element = view.elementType;
  int64_t chunk = 16 / cudaBytes(tiles.element);
  if (!parts.resultType.getElementType().isF32() ||
      parts.operandTypes[1].getElementType() != tiles.element)
    return absl::UnimplementedError("a convolution of these element types");
  if (g.groupChannels % chunk != 0 ||
      view.coefficient(input[g.channelAxis]) != one)
    return absl::UnimplementedError(
        "a convolution whose channels are not whole chunks of 16 bytes");
  for (unsigned i = 0; i < g.channelAxis; ++i)
    if (!view.coefficient(input[i]).isMultipleOf(chunk))
      return absl::UnimplementedError("a convolution of unaligned pixels");
  if (!view.address.constant.isMultipleOf(chunk))
    return absl::UnimplementedError("a convolution of unaligned pixels");

  int64_t reduced = g.groupChannels * g.taps();
  tiles.reducedSize = getAffineConstantExpr(reduced, context);
  tiles.columnStride = tiles.reducedSize;
  if (g.taps() > 1 && !mayPackFilter(parts))
    return absl::UnimplementedError(
        "a convolution whose filter is not a constant");
  auto filter = dyn_cast<BlockArgument>(parts.operand(1));
  if (!filter)
    return absl::UnimplementedError("a convolution of a computed filter");
  tiles.b.argument = filter;
  tiles.b.address.constant = zero;
  tiles.b.elementType = tiles.element;
  tiles.b.isConstant = isThereBefore(filter);
  if (g.taps() > 1) {
    tiles.packingOfB.set_kind(PackingProto::CONVOLUTION_PANELS);
    tiles.packingOfB.set_block_n(1);
  }

  // Pixels one by one are rows like a matmul's.
  const unsigned last = g.channelAxis - 1;
  bool isPlain = g.taps() == 1 && llvm::all_of(g.stride, equals(1)) &&
                 llvm::all_of(g.padding, equals(0));
  AffineExpr inner = view.coefficient(input[last]), pixels = one;
  for (unsigned i = last; i-- > 0 && isPlain;) {
    pixels = canonical(pixels * g.inputSizes[i + 1]);
    if (isa<AffineDimExpr>(input[i]))
      isPlain = view.coefficient(input[i]) == canonical(inner * pixels);
  }
  isPlain &= isa<AffineDimExpr>(input[last]);
  if (isPlain) {
    tiles.rowStride = inner;
    return tiles;
  }
  tiles.rowStride = zero;
  tiles.sourceA = declareWindows(g, tiles, dims, input);
  tiles.isOfVolumes = g.spatial() == 3;
  return tiles;
}

/// The candidates in the tiles that are selected; as loops if none is.
absl::StatusOr<std::vector<GeneratedCandidate>>
generateCandidates(func::FuncOp kernel, ArrayAttr symbols,
                   const GpuTarget &target, SelectTiles select) {
  AITUNE_ASSIGN_OR_RETURN(ContractionParts parts, takeApart(kernel));
  AITUNE_ASSIGN_OR_RETURN(Geometry geometry, readGeometry(parts));
  std::vector<GeneratedCandidate> candidates;
  DimTable dims;
  absl::StatusOr<TileKernel> tiles = analyzeTiles(parts, geometry, dims);
  std::string reason = tiles.ok() ? "" : std::string(tiles.status().message());
  if (tiles.ok()) {
    TileWriter writer(parts, dims, *tiles, symbols, target);
    absl::Status prepared = writer.prepare();
    if (!prepared.ok()) {
      reason = std::string(prepared.message());
    } else {
      TileProblem problem{
          1,
          largestValue(tiles->rowSize, symbols).value_or(4096),
          geometry.outputs,
          cast<AffineConstantExpr>(tiles->reducedSize).getValue(),
          tiles->element,
          /*rowsOfB=*/true,
          /*reducedIsStatic=*/true};
      AITUNE_ASSIGN_OR_RETURN(std::vector<TileConfig> configs, select(problem));
      for (const TileConfig &config : configs) {
        AITUNE_ASSIGN_OR_RETURN(GeneratedCandidate candidate,
                                writer.write(kernel.getName(), config));
        candidates.push_back(std::move(candidate));
      }
    }
  }
  if (candidates.empty()) {
    absl::StatusOr<GeneratedCandidate> loops =
        generateLoops(kernel, symbols, target);
    if (!loops.ok())
      return absl::UnimplementedError(
          (reason.empty() ? "" : reason + "; as loops: ") +
          std::string(loops.status().message()));
    candidates.push_back(std::move(*loops));
  }
  return candidates;
}

} // namespace

absl::StatusOr<std::vector<GeneratedCandidate>>
generateConvolution(func::FuncOp kernel, ArrayAttr symbols,
                    const GpuTarget &target) {
  return generateCandidates(kernel, symbols, target,
                            [&](const TileProblem &problem) {
                              return selectTiles(kernel, problem, target, [&] {
                                return chooseTiles(problem, target, kMostTiles);
                              });
                            });
}

absl::StatusOr<std::vector<Schedule>>
listConvolutionTiles(func::FuncOp kernel, ArrayAttr symbols,
                     const GpuTarget &target) {
  return listTileSchedules(kernel, target, [&](SelectTiles select) {
    return generateCandidates(kernel, symbols, target, select).status();
  });
}

} // namespace aitune
