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
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {
namespace {

constexpr size_t kMostTiles = 6;

/// The attributes and sizes of a convolution.
struct Geometry {
  SmallVector<int64_t> stride, padding, dilation;
  int64_t groups;
  bool channelsLast;
  unsigned channelAxis, heightAxis; ///< the width follows the height
  SmallVector<AffineExpr> inputSizes, outputSizes;
  int64_t filterHeight, filterWidth, groupChannels, outputs;

  bool isDepthwise() const { return groupChannels == 1 && groups == outputs; }
};

absl::StatusOr<Geometry> readGeometry(const ContractionParts &parts) {
  Geometry geometry;
  DictionaryAttr attributes = parts.attributes;
  if (attributes.contains("transposed"))
    return absl::UnimplementedError("a transposed convolution");
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
  if (rank != 4)
    return absl::UnimplementedError("a convolution that is not of images");
  geometry.channelAxis = geometry.channelsLast ? 3 : 1;
  geometry.heightAxis = geometry.channelsLast ? 1 : 2;
  geometry.inputSizes = mlir::ait::getSymbolicSizes(parts.operandTypes[0]);
  geometry.outputSizes = mlir::ait::getSymbolicSizes(parts.resultType);
  if (!parts.operandTypes[1].hasStaticShape())
    return absl::UnimplementedError("a convolution with a dynamic filter");
  ArrayRef<int64_t> filter = parts.operandTypes[1].getShape();
  geometry.outputs = filter[0];
  geometry.groupChannels = filter[1];
  geometry.filterHeight = filter[2];
  geometry.filterWidth = filter[3];
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
  absl::StatusOr<ContractionParts> parts = takeApart(kernel);
  if (!parts.ok())
    return parts.status();
  absl::StatusOr<Geometry> read = readGeometry(*parts);
  if (!read.ok())
    return read.status();
  const Geometry &g = *read;
  MLIRContext *context = kernel.getContext();
  auto dim = [&](unsigned i) { return getAffineDimExpr(i, context); };
  auto number = [&](int64_t value) {
    return getAffineConstantExpr(value, context);
  };
  for (unsigned i = 0; i < 2; ++i)
    if (!isa<AffineConstantExpr>(g.inputSizes[g.heightAxis + i]))
      return absl::UnimplementedError(
          "a convolution of an image with a dynamic size");
  // Loops: the result's axes, then filter row, filter column, channel.
  AffineExpr out = dim(g.channelAxis), ky = dim(4), kx = dim(5),
             channel = dim(6);
  SmallVector<AffineExpr> input = {dim(0), dim(1), dim(2), dim(3)};
  for (unsigned i = 0; i < 2; ++i)
    input[g.heightAxis + i] = dim(g.heightAxis + i) * g.stride[i] +
                              dim(4 + i) * g.dilation[i] - g.padding[i];
  int64_t groupOutputs = g.outputs / g.groups;
  input[g.channelAxis] =
      g.groups == 1 ? channel
                    : out.floorDiv(groupOutputs) * g.groupChannels + channel;
  SmallVector<AffineExpr> filter = {out, channel, ky, kx};
  bool pack = g.isDepthwise() && g.channelsLast && mayPackFilter(*parts);
  unsigned filterNumber = 0;
  if (pack) {
    auto argument = cast<BlockArgument>(parts->operand(1));
    filterNumber = argument.getArgNumber();
    argument.setType(
        RankedTensorType::get({g.filterHeight, g.filterWidth, g.outputs},
                              parts->operandTypes[1].getElementType()));
    filter = {ky, kx, out};
  }
  if (g.groupChannels == 1 && g.groups > 1)
    input[g.channelAxis] = out.floorDiv(groupOutputs);

  Type element = parts->resultType.getElementType();
  if (!isa<FloatType>(element))
    return absl::UnimplementedError("a convolution of integers");
  func::FuncOp loops = toLoops(
      *parts,
      {number(g.filterHeight), number(g.filterWidth), number(g.groupChannels)},
      [&](OpBuilder &b, Location l) -> Value {
        // Padding is 0 and is not read.
        Value inside;
        for (unsigned i = 0; i < 2; ++i) {
          AffineExpr at = input[g.heightAxis + i];
          int64_t size =
              cast<AffineConstantExpr>(g.inputSizes[g.heightAxis + i])
                  .getValue();
          int64_t outputSize =
              getConstant(g.outputSizes[g.heightAxis + i]).value_or(1 << 30);
          int64_t window = i == 0 ? g.filterHeight : g.filterWidth;
          int64_t last = (outputSize - 1) * g.stride[i] +
                         (window - 1) * g.dilation[i] - g.padding[i];
          auto require = [&](arith::CmpIPredicate predicate, int64_t bound) {
            Value holds = arith::CmpIOp::create(
                b, l, predicate, loopIndex(b, l, at),
                arith::ConstantIndexOp::create(b, l, bound));
            inside = inside ? Value(arith::AndIOp::create(b, l, inside, holds))
                            : holds;
          };
          if (g.padding[i] > 0)
            require(arith::CmpIPredicate::sge, 0);
          if (last >= size)
            require(arith::CmpIPredicate::slt, size);
        }
        Value weight = readOperand(b, l, parts->operand(1), filter, element);
        auto product = [&](OpBuilder &at) -> Value {
          return arith::MulFOp::create(
              at, l, readOperand(at, l, parts->operand(0), input, element),
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
    for (GeneratedStep &step : candidate->steps) {
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
  return llvm::formatv(
      "const Windows<{0}, {1}, {2}> a{{{3}, {4}, {5}, {6}, m0, {7}, {8}, {9}, "
      "{10}, {11}, {12}, {13}, {14}, {15}, {16}, {17}, {18}};",
      cudaType(tiles.element), g.filterHeight, g.filterWidth, from,
      text(tiles.a.coefficient(input[0])), text(tiles.a.coefficient(input[1])),
      text(tiles.a.coefficient(input[2])), text(tiles.rowSize),
      text(g.outputSizes[1]), text(g.outputSizes[2]), text(g.inputSizes[1]),
      text(g.inputSizes[2]), g.groupChannels, g.stride[0], g.stride[1],
      g.padding[0], g.padding[1], g.dilation[0], g.dilation[1]);
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
  for (unsigned i = 0; i < 4; ++i) {
    tiles.resultDims.push_back(axis(g.outputSizes[i]));
    if (i < 3 && isa<AffineDimExpr>(tiles.resultDims[i]))
      tiles.rowDims.push_back(tiles.resultDims[i]);
    if (i < 3)
      tiles.rowSize = canonical(tiles.rowSize * g.outputSizes[i]);
  }
  tiles.batchSize = one;
  tiles.columnSize = g.outputSizes[3];
  SmallVector<AffineExpr> input;
  for (AffineExpr size : g.inputSizes)
    input.push_back(axis(size));
  absl::StatusOr<OperandView> view = viewOperand(parts, 0, input, dims);
  if (!view.ok())
    return view.status();
  for (const LinearForm::Term &term : view->address.terms)
    if (!isa<AffineDimExpr>(term.term))
      return absl::UnimplementedError(
          "a convolution's image whose pixels are not evenly spaced");
  tiles.a = *view;
  tiles.element = view->elementType;
  int64_t chunk = 16 / cudaBytes(tiles.element);
  if (!parts.resultType.getElementType().isF32() ||
      parts.operandTypes[1].getElementType() != tiles.element)
    return absl::UnimplementedError("a convolution of these element types");
  if (g.groupChannels % chunk != 0 || view->coefficient(input[3]) != one)
    return absl::UnimplementedError(
        "a convolution whose channels are not whole chunks of 16 bytes");
  for (unsigned i = 0; i < 3; ++i)
    if (!view->coefficient(input[i]).isMultipleOf(chunk))
      return absl::UnimplementedError("a convolution of unaligned pixels");
  if (!view->address.constant.isMultipleOf(chunk))
    return absl::UnimplementedError("a convolution of unaligned pixels");

  int64_t reduced = g.groupChannels * g.filterHeight * g.filterWidth;
  tiles.reducedSize = getAffineConstantExpr(reduced, context);
  tiles.columnStride = tiles.reducedSize;
  if (g.filterHeight * g.filterWidth > 1 && !mayPackFilter(parts))
    return absl::UnimplementedError(
        "a convolution whose filter is not a constant");
  auto filter = dyn_cast<BlockArgument>(parts.operand(1));
  if (!filter)
    return absl::UnimplementedError("a convolution of a computed filter");
  tiles.b.argument = filter;
  tiles.b.address.constant = zero;
  tiles.b.elementType = tiles.element;
  tiles.b.isConstant = isThereBefore(filter);
  if (g.filterHeight * g.filterWidth > 1) {
    tiles.packingOfB.set_kind(PackingProto::CONVOLUTION_PANELS);
    tiles.packingOfB.set_block_n(1);
  }

  // Pixels one by one are rows like a matmul's.
  bool isPlain = g.filterHeight * g.filterWidth == 1 && g.stride[0] == 1 &&
                 g.stride[1] == 1 && g.padding[0] == 0 && g.padding[1] == 0;
  AffineExpr inner = view->coefficient(input[2]);
  for (unsigned i = 2; i-- > 0 && isPlain;)
    if (isa<AffineDimExpr>(input[i]))
      isPlain = view->coefficient(input[i]) ==
                canonical(inner * (i == 1 ? g.inputSizes[2]
                                          : g.inputSizes[1] * g.inputSizes[2]));
  isPlain &= isa<AffineDimExpr>(input[2]);
  if (isPlain) {
    tiles.rowStride = inner;
    return tiles;
  }
  tiles.rowStride = zero;
  tiles.sourceA = declareWindows(g, tiles, dims, input);
  return tiles;
}

/// The candidates in the tiles that are selected; as loops if none is.
absl::StatusOr<std::vector<GeneratedCandidate>>
generateCandidates(func::FuncOp kernel, ArrayAttr symbols,
                   const GpuTarget &target, SelectTiles select) {
  absl::StatusOr<ContractionParts> parts = takeApart(kernel);
  if (!parts.ok())
    return parts.status();
  absl::StatusOr<Geometry> geometry = readGeometry(*parts);
  if (!geometry.ok())
    return geometry.status();
  std::vector<GeneratedCandidate> candidates;
  DimTable dims;
  absl::StatusOr<TileKernel> tiles = analyzeTiles(*parts, *geometry, dims);
  std::string reason = tiles.ok() ? "" : std::string(tiles.status().message());
  if (tiles.ok()) {
    TileWriter writer(*parts, dims, *tiles, symbols, target);
    absl::Status prepared = writer.prepare();
    if (!prepared.ok()) {
      reason = std::string(prepared.message());
    } else {
      TileProblem problem{
          1,
          largestValue(tiles->rowSize, symbols).value_or(4096),
          geometry->outputs,
          cast<AffineConstantExpr>(tiles->reducedSize).getValue(),
          tiles->element,
          /*rowsOfB=*/true,
          /*reducedIsStatic=*/true};
      absl::StatusOr<std::vector<TileConfig>> configs = select(problem);
      if (!configs.ok())
        return configs.status();
      for (const TileConfig &config : *configs) {
        absl::StatusOr<GeneratedCandidate> candidate =
            writer.write(kernel.getName(), config);
        if (!candidate.ok())
          return candidate.status();
        candidates.push_back(std::move(*candidate));
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

absl::StatusOr<CudaSchedules> listConvolutionTiles(func::FuncOp kernel,
                                                   ArrayAttr symbols,
                                                   const GpuTarget &target) {
  std::optional<TileProblem> found;
  absl::StatusOr<std::vector<GeneratedCandidate>> loops = generateCandidates(
      kernel, symbols, target, [&](const TileProblem &problem) {
        found = problem;
        return std::vector<TileConfig>();
      });
  if (!found)
    return loops.ok() ? CudaSchedules()
                      : absl::StatusOr<CudaSchedules>(loops.status());
  return describeTiles(*found, target, loops.ok(), kernel.getContext());
}

} // namespace aitune
