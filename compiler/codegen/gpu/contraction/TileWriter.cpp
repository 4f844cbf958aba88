#include "compiler/codegen/gpu/contraction/TileWriter.h"

#include <algorithm>

#include "absl/status/status.h"
#include "compiler/codegen/gpu/contraction/GatheredOperand.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/dialect/Ait.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {

/// The most packs of the epilogue that a thread has under way.
static constexpr int64_t kMostTogether = 4;

/// "in0 + what batches and slices add".
std::string TileWriter::offset(PointPrinter &printer, const OperandView &view) {
  AffineExpr expr = view.address.constant;
  for (AffineExpr dim : kernel.batchDims)
    expr = expr + dim * view.coefficient(dim);
  std::string text = printer.index(expr),
              name = inputName(view.argument.getArgNumber());
  return text == "0" ? name : name + " + " + text;
}

/// The elements of k in a stage.
static int64_t depthOf(const TileKernel &kernel) {
  return 128 / cudaBytes(kernel.element);
}

/// How many parts a size has; 0 if it is not known.
static int64_t countParts(AffineExpr size, int64_t part) {
  auto constant = dyn_cast<AffineConstantExpr>(size);
  return constant ? llvm::divideCeil(constant.getValue(), part) : 0;
}

void TileWriter::declareA(PointPrinter &printer) {
  if (!kernel.sourceA.empty())
    printer.line(kernel.sourceA);
  else if (kernel.gatheringOfA != Gathering::None)
    declareGathered(printer, dims, "a", "m0", kernel.a, kernel.gatheringOfA,
                    kernel.rowDims, kernel.reducedDim);
  else
    printer.line(llvm::formatv(
        "const Rows<{0}> a{{{1}, {2}, m0, {3}, {4}};", cudaType(kernel.element),
        offset(printer, kernel.a), printer.index(kernel.rowStride),
        printer.index(kernel.rowSize), printer.index(kernel.reducedSize)));
}

void TileWriter::declareB(PointPrinter &printer) {
  if (kernel.gatheringOfB != Gathering::None)
    declareGathered(printer, dims, "b", "n0", kernel.b, kernel.gatheringOfB,
                    kernel.resultDims.back(), kernel.reducedDim);
  else
    printer.line(llvm::formatv(
        "const {0}<{1}> b{{{2}, {3}, n0, {4}, {5}};",
        kernel.rowsOfB ? "Rows" : "Columns", cudaType(kernel.b.elementType),
        offset(printer, kernel.b), printer.index(kernel.columnStride),
        printer.index(kernel.columnSize), printer.index(kernel.reducedSize)));
}

bool TileWriter::readsWholeTensor() const {
  return llvm::any_of(
      parts.function.getArguments(), [&](BlockArgument argument) {
        auto type = dyn_cast<RankedTensorType>(argument.getType());
        return type && argument != parts.result &&
               argument != kernel.a.argument && argument != kernel.b.argument &&
               mlir::ait::getElementCount(type) ==
                   mlir::ait::getElementCount(parts.resultType);
      });
}

int64_t TileWriter::lanes() const {
  return isa<AffineDimExpr>(kernel.resultDims.back())
             ? epilogue.lanes(kernel.columnSize)
             : 1;
}

void TileWriter::printElements(PointPrinter &printer, int64_t lanes,
                               const std::string &m, const std::string &n,
                               const std::string &pack) {
  SmallVector<AffineExpr> sizes;
  for (AffineExpr dim : kernel.rowDims)
    sizes.push_back(dims.size(cast<AffineDimExpr>(dim).getPosition()));
  bindAxes(printer, kernel.rowDims, sizes, m, "d", &epilogue);
  if (auto dim = dyn_cast<AffineDimExpr>(kernel.resultDims.back()))
    printer.current->bindings[dim.getPosition()] = n;
  epilogue.print(printer, lanes, n, pack);
}

std::string TileWriter::isInside(PointPrinter &printer, const std::string &row,
                                 const std::string &column) {
  return row + " < " + printer.index(kernel.rowSize) + " && " + column + " < " +
         printer.index(kernel.columnSize);
}

void TileWriter::printIfInside(PointPrinter &printer, int64_t lanes,
                               const std::string &row,
                               const std::string &column,
                               const std::string &sums) {
  const std::string inside = printer.fresh("isInside"), m = printer.fresh("at"),
                    n = printer.fresh("at"), pack = printer.fresh("sum");
  printer.line("const bool " + inside + " = " + isInside(printer, row, column) +
               ";");
  printer.line(
      llvm::formatv("const Index {0} = {1} ? {2} : m0, {3} = {1} ? {4} : n0;",
                    m, inside, row, n, column));
  printer.storeCondition = inside;
  printer.line(llvm::formatv("const Pack<{0}, {1}> {2} = {3};",
                             cudaType(parts.resultType.getElementType()), lanes,
                             pack, sums));
  printElements(printer, lanes, m, n, pack);
}

void TileWriter::writeEpilogue(PointPrinter &printer,
                               const TileConfig &config) {
  const std::string sum = cudaType(parts.resultType.getElementType());
  // In packs of the tile's rows.
  const int64_t lanes = this->lanes(), threads = config.threads();
  const int64_t stride = config.n + 4, elements = config.m * config.n,
                step = threads * lanes * config.splits;
  if (config.splits > 1) {
    if (config.slices > 1)
      printer.line(llvm::formatv("foldSlices<{0}, {1}, {2}>(tile);", threads,
                                 config.slices, config.m * stride));
    printer.line("syncCluster();");
  }
  // Packs that are loaded before any of them is stored: what they wait for is
  // memory, of which the next one would wait again.
  int64_t together = 1;
  if (readsWholeTensor())
    while (together < kMostTogether && elements % (2 * together * step) == 0)
      together *= 2;
  const std::string summed =
      config.splits > 1
          ? llvm::formatv("sumCluster<{0}, {1}>", lanes, config.splits).str()
          : llvm::formatv("sumSlices<{0}, {1}, {2}>", lanes, config.slices,
                          config.m * stride)
                .str();
  auto sumsAt = [&](const std::string &row, const std::string &column) {
    return llvm::formatv("{0}(tile + {1} * {2} + {3})", summed, row, stride,
                         column)
        .str();
  };
  std::string start = llvm::formatv("threadIdx.x * {0}", lanes);
  if (config.splits > 1)
    start = llvm::formatv("(split * {0} + threadIdx.x) * {1}", threads, lanes);
  printer.block(
      llvm::formatv("for (int e = {0}; e < {1}; e += {2})", start, elements,
                    step * together),
      [](PrintScope &) {},
      [&] {
        if (together == 1) {
          printer.line(
              llvm::formatv("const Index r = e / {0}, c = e % {0}, m = m0 "
                            "+ r, n = n0 + c;",
                            config.n));
          // What is computed of a single sum varies with no loop here, but its
          // place is behind that of the sum.
          const bool isSingle =
              !isa<AffineDimExpr>(kernel.resultDims.back()) &&
              llvm::none_of(kernel.rowDims, llvm::IsaPred<AffineDimExpr>);
          printer.block(
              "if (" + isInside(printer, "m", "n") + ")",
              [&](PrintScope &scope) { scope.isBranch = isSingle; },
              [&] {
                printer.line(llvm::formatv("const Pack<{0}, {1}> sum = {2};",
                                           sum, lanes, sumsAt("r", "c")));
                printElements(printer, lanes, "m", "n", "sum");
                printer.flushStores();
              });
          return;
        }
        for (int64_t i = 0; i < together; ++i)
          printer.part([&] {
            const std::string row = printer.fresh("row"),
                              column = printer.fresh("column");
            printer.line(llvm::formatv(
                "const Index {0} = (e + {2}) / {3}, {1} = (e + {2}) % {3};",
                row, column, i * step, config.n));
            printIfInside(printer, lanes, "m0 + " + row, "n0 + " + column,
                          sumsAt(row, column));
          });
        printer.storeCondition.clear();
        printer.flushStores();
      });
}

void TileWriter::writePersistent(PointPrinter &printer,
                                 const TileConfig &config, int64_t steps) {
  const std::string k = printer.index(kernel.reducedSize),
                    loop = "for (int at = blockIdx.x; at < order.count(); at "
                           "+= gridDim.x)",
                    firstRow = llvm::formatv("order.row(at) * {0}", config.m),
                    firstColumn =
                        llvm::formatv("order.column(at) * {0}", config.n);
  auto part = [&](const char *tile) {
    return llvm::formatv("packed + order.column({0}) * {1}ll", tile,
                         steps * config.n * depthOf(kernel))
        .str();
  };
  auto noBindings = [](PrintScope &) {};
  printer.line("Core groups(shared);");
  printer.line(
      llvm::formatv("const TileOrder order{{{0}, {1}};",
                    printer.index(kernel.rowSize.ceilDiv(config.m)),
                    printer.index(kernel.columnSize.ceilDiv(config.n))));
  printer.block("if (Core::copies())", noBindings, [&] {
    printer.line("groups.startToCopy(" + part("blockIdx.x") + ", " + k + ");");
    printer.block(loop, noBindings, [&] {
      printer.line("const Index m0 = " + firstRow + ", n0 = " + firstColumn +
                   ";");
      prefetchConstants(printer, config);
      declareA(printer);
      printer.line("groups.copy(a, " + part("at") + ", " + k + ");");
    });
    printer.line("Core::finishCopying();");
    printer.line("return;");
  });
  // What the epilogue reads in the same place for all tiles is loaded here.
  printer.line("groups.startToMultiply();");
  printer.block(loop, noBindings, [&] {
    printer.line("if (!groups.takes(" + k + "))");
    printer.line("  continue;");
    printer.line("groups.multiply(" + k + ");");
    printer.line("const Index m0 = " + firstRow + ", n0 = " + firstColumn +
                 ";");
    writePersistentEpilogue(printer, config);
  });
}

void TileWriter::writePersistentEpilogue(PointPrinter &printer,
                                         const TileConfig &config) {
  // Packs under way at a time, without a branch between them: what a pack waits
  // for, its loads and its arithmetic, the next one would wait for again.
  const int64_t lanes = this->lanes(), packs = 8 / lanes,
                together = std::max<int64_t>(kMostTogether / packs, 1);
  const std::string sum = cudaType(parts.resultType.getElementType());
  printer.block(
      llvm::formatv("for (int part = 0; part < {0}; part += {1})",
                    config.n / 16, together),
      [](PrintScope &) {},
      [&] {
        for (int64_t i = 0; i < together; ++i) {
          const std::string number = llvm::formatv("part + {0}", i),
                            sums = printer.fresh("sums");
          printer.line(llvm::formatv(
              "const Pack<{0}, 8> {1} = groups.take({2});", sum, sums, number));
          for (int64_t lane = 0; lane < 8; lane += lanes)
            printer.part([&] {
              printIfInside(
                  printer, lanes,
                  llvm::formatv("m0 + Core::rowOf({0})", number),
                  llvm::formatv("n0 + Core::columnOf({0}) + {1}", number, lane),
                  llvm::formatv("load<{0}>(&{1}.at[{2}])", lanes, sums, lane));
            });
        }
        printer.storeCondition.clear();
        printer.flushStores();
      },
      /*unroll=*/true);
}

/// Prefetches the constants of the epilogue, which are in memory as B is.
void TileWriter::prefetchConstants(PointPrinter &printer,
                                   const TileConfig &config) {
  for (BlockArgument argument : parts.function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    unsigned number = argument.getArgNumber();
    if (type && type.getRank() == 1 && argument != kernel.a.argument &&
        argument != kernel.b.argument && isThereBefore(argument) &&
        mlir::ait::getSymbolicSizes(type).front() == kernel.columnSize)
      printer.line(llvm::formatv("prefetchColumns<{0}>({1}, n0, {2});",
                                 config.n, inputName(number),
                                 printer.index(kernel.columnSize)));
  }
}

void TileWriter::writeTile(PointPrinter &printer, const TileConfig &config,
                           bool isFlat, int64_t steps) {
  auto index = [&](AffineExpr expr) { return printer.index(expr); };
  std::string row = "blockIdx.x", column = "blockIdx.y",
              batch = config.splits > 1
                          ? llvm::formatv("blockIdx.z / {0}", config.splits)
                          : std::string("blockIdx.z");
  if (isFlat) {
    const std::string rows = printer.divisor(kernel.rowSize.ceilDiv(config.m)),
                      columns =
                          printer.divisor(kernel.columnSize.ceilDiv(config.n));
    printer.line(llvm::formatv("const Index rowTile = blockIdx.x % {0}, "
                               "columnTile = blockIdx.x / {0} % {1};",
                               rows, columns));
    row = "rowTile";
    column = "columnTile";
    batch = llvm::formatv("blockIdx.x / {0} / {1}", rows, columns);
  }
  printer.line(llvm::formatv("const Index m0 = {0} * {1}, n0 = {2} * {3};", row,
                             config.m, column, config.n));
  std::string first = "0", last = index(kernel.reducedSize);
  if (config.splits > 1) {
    printer.line(
        llvm::formatv("const Index split = blockIdx.z % {0};", config.splits));
    int64_t reduced = cast<AffineConstantExpr>(kernel.reducedSize).getValue();
    const int64_t part =
        config.splitElements(reduced, cudaBytes(kernel.element));
    first = llvm::formatv("split * {0}", part);
    last = llvm::formatv("split == {0} ? {1} : (split + 1) * {2}",
                         config.splits - 1, reduced, part);
  }
  if (!kernel.batchDims.empty()) {
    printer.line("const Index batch = " + batch + ";");
    SmallVector<AffineExpr> sizes;
    for (AffineExpr dim : kernel.batchDims)
      sizes.push_back(dims.size(cast<AffineDimExpr>(dim).getPosition()));
    bindAxes(printer, kernel.batchDims, sizes, "batch", "b", nullptr);
  }
  declareA(printer);
  if (!config.isPacked)
    declareB(printer);
  if (config.isPacked)
    printer.line(llvm::formatv("packed += static_cast<long long>({0}) * {1};",
                               column, steps * config.n * depthOf(kernel)));
  prefetchConstants(printer, config);
  printer.line(config.product(
      cudaType(parts.resultType.getElementType()), cudaType(kernel.element),
      cudaType(kernel.b.elementType), kernel.b.isConstant, first, last));

  writeEpilogue(printer, config);
  if (config.splits > 1)
    printer.line("syncCluster();");
}

absl::StatusOr<GeneratedCandidate> TileWriter::write(StringRef name,
                                                     const TileConfig &config) {
  PrintScope root;
  PointPrinter printer(dims);
  printer.current = &root;
  epilogue.setUp(printer);
  auto index = [&](AffineExpr expr) { return printer.index(expr); };
  const std::string element = cudaType(kernel.element),
                    elementOfB = cudaType(kernel.b.elementType),
                    sum = cudaType(parts.resultType.getElementType());
  const int64_t depth = depthOf(kernel), threads = config.threads();

  if (const std::string core = config.core(
          kernel.element.isUnsignedInteger(8) ? "unsigned char" : element,
          elementOfB, kernel.rowsOfB);
      !core.empty())
    printer.line("using Core = " + core + ";");
  printer.line("extern __shared__ __align__(1024) unsigned char shared[];");
  printer.line("launchNext(nextWaits);");
  const AffineExpr rowTiles = kernel.rowSize.ceilDiv(config.m),
                   columnTiles = kernel.columnSize.ceilDiv(config.n),
                   one = getAffineConstantExpr(1, kernel.element.getContext());
  // Where the other axes may be too short, the first has all tiles, in the same
  // order.
  const bool isFlat =
      !fitsLaterGridAxis(columnTiles, symbols) ||
      !fitsLaterGridAxis(kernel.batchSize * config.splits, symbols);
  const int64_t steps = countParts(kernel.reducedSize, depth);
  if (config.isPersistent())
    writePersistent(printer, config, steps);
  else
    writeTile(printer, config, isFlat, steps);
  if (!printer.error.empty())
    return absl::UnimplementedError(printer.error);

  GeneratedCandidate candidate;
  ImplementationStep step;
  SmallVector<KernelParameter> parameters = epilogue.parameters(step);
  std::string packing;
  if (config.isPacked) {
    // One more input: a temporary that a step of its own fills.
    const int temporary = step.inputs.size() + step.outputs.size();
    const int64_t tiles = countParts(kernel.columnSize, config.n);
    candidate.temporaries.push_back(RankedTensorType::get(
        {tiles * steps * config.n * depth}, kernel.b.elementType));
    parameters.insert(parameters.begin() + step.inputs.size(),
                      {"packed", kernel.b.elementType, false});
    const unsigned argument = kernel.b.argument.getArgNumber();
    ImplementationStep pack;
    pack.inputs = {static_cast<int>(argument)};
    pack.outputs = {temporary};
    const std::string symbol = name.str() + "_pack";
    packing = kernelHead(symbol, 256,
                         {{inputName(argument), kernel.b.elementType, false},
                          {"packed", kernel.b.elementType, true}},
                         symbols) +
              "  packColumns<" + std::to_string(config.n) + ">(" +
              offset(printer, kernel.b) + ", packed, " +
              index(kernel.columnStride) + ", " + index(kernel.columnSize) +
              ", " + index(kernel.reducedSize) + ");\n}\n\n";
    setLaunch(pack, symbol,
              {getAffineConstantExpr(1024, kernel.element.getContext())}, 256,
              0, target);
    pack.call.mutable_cuda_kernel()->set_programmatic(false);
    candidate.steps.push_back(std::move(pack));
    step.inputs.push_back(temporary);
  }
  candidate.description = config.description();
  candidate.text =
      "using Index = " + indexType(parts.function, symbols) + ";\n\n" +
      preludeText("Common") + "\n" + preludeText("Tile") + "\n" +
      (kernel.gatheringOfA != Gathering::None ||
               kernel.gatheringOfB != Gathering::None
           ? std::string(preludeText("Gather")) + "\n"
           : "") +
      (kernel.isOfVolumes ? std::string(preludeText("Volumes")) + "\n" : "") +
      config.deviceCode(kernel.element) + "// " + name.str() + ": " +
      candidate.description + "\n";
  const int64_t resident = config.residentBlocks();
  std::string head =
      kernelHead(name, threads, parameters, symbols,
                 resident > 1 || config.isPersistent() ? resident : 0);
  if (config.splits > 1)
    head.insert(head.find("__launch_bounds__"),
                llvm::formatv("__cluster_dims__(1, 1, {0}) ", config.splits));
  candidate.text += packing + head + root.text + "}\n";
  auto constantOf = [](AffineExpr size) {
    return cast<AffineConstantExpr>(size).getValue();
  };
  const SmallVector<AffineExpr> grid =
      config.isPersistent()
          ? SmallVector<AffineExpr>{one * config.persistentBlocks(
                                              constantOf(kernel.rowSize),
                                              constantOf(kernel.columnSize),
                                              target)}
      : isFlat
          ? SmallVector<AffineExpr>{rowTiles * columnTiles * kernel.batchSize,
                                    one, one * config.splits}
          : SmallVector<AffineExpr>{rowTiles, columnTiles,
                                    kernel.batchSize * config.splits};
  setLaunch(step, name, grid, threads,
            config.sharedBytes(cudaBytes(kernel.element)), target);
  if (kernel.packingOfB.kind() != PackingProto::NONE) {
    step.packings.resize(step.inputs.size());
    step.packings[kernel.b.argument.getArgNumber()] = kernel.packingOfB;
  }
  candidate.steps.push_back(std::move(step));
  return candidate;
}

} // namespace aitune
