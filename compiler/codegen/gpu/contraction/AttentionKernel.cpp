#include "compiler/codegen/gpu/contraction/AttentionKernel.h"

#include <algorithm>

#include "absl/status/status.h"
#include "compiler/codegen/gpu/contraction/AttentionShape.h"
#include "compiler/codegen/gpu/contraction/Contraction.h"
#include "compiler/codegen/gpu/contraction/TileSpace.h"
#include "compiler/codegen/gpu/contraction/WarpgroupInstruction.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/dialect/KernelAttributes.h"
#include "runtime/status/status_macros.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {
namespace {

struct Operand {
  OperandView view;
  AffineExpr rowStride, columnStride, offset;
};

class AttentionWriter {
public:
  AttentionWriter(ContractionParts &parts, ArrayAttr symbols,
                  const GpuTarget &target)
      : parts(parts), symbols(symbols), target(target) {}

  absl::Status analyze();
  /// Those to generate: what ait.config asks for, or the most promising.
  absl::StatusOr<std::vector<AttentionShape>> select() const;
  std::vector<Schedule> schedules() const {
    return describeAttentionShapes(problem, target,
                                   parts.resultType.getContext());
  }
  absl::StatusOr<GeneratedCandidate> write(StringRef name,
                                           const AttentionShape &shape);

private:
  absl::StatusOr<Operand> follow(unsigned number, AffineExpr row,
                                 AffineExpr column);
  bool hasAlignedRows() const;
  /// What the scores are multiplied by.
  double scale() const {
    return parts.attributes.getAs<FloatAttr>("scale").getValueAsDouble();
  }
  /// What a pair has that a mask leaves out.
  std::string maskedScore() const;
  /// A number in float as CUDA text.
  std::string floatConstant(double number) const;
  void printAdjust(PointPrinter &printer, const AttentionShape &shape);
  /// The call that leaves the result in `tile`, and before it what the kernel
  /// declares for it.
  void printProduct(PointPrinter &printer, const AttentionShape &shape);
  /// The device functions of the shape's algorithm.
  std::string prelude(const AttentionShape &shape) const;

  ContractionParts &parts;
  ArrayAttr symbols;
  const GpuTarget &target;
  DimTable dims;
  SmallVector<AffineExpr> batchDims, resultDims;
  AffineExpr batchSize, t, s, d, e, queries, keys;
  AttentionProblem problem = {};
  Operand q, k, v;
  std::unique_ptr<EpiloguePrinter> epilogue;
};

absl::StatusOr<Operand> AttentionWriter::follow(unsigned number, AffineExpr row,
                                                AffineExpr column) {
  SmallVector<AffineExpr> exprs(resultDims.begin(), resultDims.end() - 2);
  exprs.push_back(row);
  exprs.push_back(column);
  AITUNE_ASSIGN_OR_RETURN(OperandView view,
                          viewOperand(parts, number, exprs, dims));
  Operand operand{view, view.coefficient(row), view.coefficient(column),
                  view.address.constant};
  for (const LinearForm::Term &term : view.address.terms) {
    if (term.term == row || term.term == column)
      continue;
    for (AffineExpr dim : {row, column})
      if (auto position = dyn_cast<AffineDimExpr>(dim))
        if (term.term.isFunctionOfDim(position.getPosition()))
          return absl::UnimplementedError(
              "an operand of an attention whose rows are not evenly spaced");
    operand.offset = operand.offset + term.term * term.coefficient;
  }
  return operand;
}

absl::Status AttentionWriter::analyze() {
  MLIRContext *context = parts.resultType.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(parts.resultType),
                          keySizes = mlir::ait::getSymbolicSizes(
                              parts.operandTypes[1]);
  unsigned rank = sizes.size();
  auto axis = [&](AffineExpr size) {
    return size == 1 ? zero : dims.make(size);
  };
  batchSize = getAffineConstantExpr(1, context);
  for (AffineExpr size : sizes)
    resultDims.push_back(axis(size));
  for (unsigned i = 0; i + 2 < rank; ++i)
    if (isa<AffineDimExpr>(resultDims[i])) {
      batchDims.push_back(resultDims[i]);
      batchSize = canonical(batchSize * sizes[i]);
    }
  t = resultDims[rank - 2];
  e = resultDims[rank - 1];
  queries = sizes[rank - 2];
  keys = keySizes[rank - 2];
  s = axis(keys);
  std::optional<int64_t> constantDepth = getConstant(keySizes[rank - 1]),
                         constantValueDepth = getConstant(sizes[rank - 1]);
  if (!constantDepth || !constantValueDepth || *constantDepth > 256 ||
      *constantValueDepth > 256)
    return absl::UnimplementedError(
        "an attention whose depth is dynamic or above 256");
  d = axis(keySizes[rank - 1]);
  absl::StatusOr<Operand> followed[] = {follow(0, t, d), follow(1, s, d),
                                        follow(2, s, e)};
  for (const absl::StatusOr<Operand> &operand : followed)
    if (!operand.ok())
      return operand.status();
  q = *followed[0];
  k = *followed[1];
  v = *followed[2];
  Type element = q.view.elementType;
  if (element != k.view.elementType || element != v.view.elementType ||
      !isa<FloatType>(element) || element.isF64() ||
      !parts.resultType.getElementType().isF32())
    return absl::UnimplementedError("an attention of these element types");
  if (parts.operandCount > 3 &&
      parts.operandTypes[3].getRank() > static_cast<int64_t>(rank))
    return absl::UnimplementedError("an attention whose mask has more axes");
  problem = {largestValue(batchSize, symbols).value_or(64),
             largestValue(queries, symbols).value_or(512),
             largestValue(keys, symbols).value_or(512),
             *constantDepth,
             *constantValueDepth,
             parts.attributes.contains("is_causal"),
             parts.operandCount > 3,
             /*hasAlignedRows=*/false};
  problem.hasAlignedRows = hasAlignedRows();
  epilogue = std::make_unique<EpiloguePrinter>(parts, dims, resultDims);
  return epilogue->prepare();
}

bool AttentionWriter::hasAlignedRows() const {
  Type element = q.view.elementType;
  if (!element.isF16() && !element.isBF16())
    return false;
  if (problem.depth % 8 != 0 || problem.valueDepth % 8 != 0)
    return false;
  for (const Operand *operand : {&q, &k, &v})
    if (operand->columnStride != 1 || !operand->rowStride.isMultipleOf(8) ||
        !operand->offset.isMultipleOf(8))
      return false;
  return true;
}

absl::StatusOr<std::vector<AttentionShape>> AttentionWriter::select() const {
  if (!hasSchedule(parts.function))
    return chooseAttentionShapes(problem, target);
  AITUNE_ASSIGN_OR_RETURN(
      AttentionShape shape,
      readAttentionShape(mlir::ait::getScheduleConfig(parts.function), problem,
                         target));
  return std::vector<AttentionShape>{shape};
}

std::string AttentionWriter::maskedScore() const {
  auto score = parts.attributes.getAs<FloatAttr>("masked_score");
  if (!score)
    return "minusInfinity()";
  return floatConstant(score.getValueAsDouble());
}

std::string AttentionWriter::floatConstant(double number) const {
  return cudaConstant(
      FloatAttr::get(Float32Type::get(parts.resultType.getContext()), number));
}

/// The mask of query t and key s.
void AttentionWriter::printAdjust(PointPrinter &printer,
                                  const AttentionShape &shape) {
  if (!problem.hasMask) {
    // Warpgroups take the scale into the exponentials, which keeps the order of
    // scores only if it is positive.
    printer.line(
        shape.algorithm == AttentionShape::Algorithm::kWgmma && scale() > 0.0
            ? "const NoMask adjust;"
            : "const auto adjust = [](float x, Index, Index) { return x; "
              "};");
    return;
  }
  PrintScope *outer = printer.current;
  PrintScope scope;
  scope.parent = outer;
  scope.depth = outer->depth + 1;
  scope.isBranch = true; // nothing moves out of the function
  printer.current = &scope;
  for (auto [dim, name] : {std::make_pair(t, "t"), std::make_pair(s, "s")})
    if (auto position = dyn_cast<AffineDimExpr>(dim))
      scope.bindings[position.getPosition()] = name;
  // Axes align from the right; the mask's may be 1 or missing.
  SmallVector<AffineExpr> all(resultDims.begin(), resultDims.end() - 2);
  all.push_back(t);
  all.push_back(s);
  SmallVector<AffineExpr> sizes =
      mlir::ait::getSymbolicSizes(parts.operandTypes[3]);
  SmallVector<AffineExpr> exprs(all.end() - sizes.size(), all.end());
  for (auto [expr, size] : llvm::zip(exprs, sizes))
    if (size == 1)
      expr = getAffineConstantExpr(0, size.getContext());
  Type element = parts.operandTypes[3].getElementType();
  std::string mask = printer.pull(parts.operand(3), exprs);
  if (element.isInteger(1)) {
    printer.line("return choose(" + mask + ", x, " + maskedScore() + ");");
  } else if (parts.attributes.contains("masked_score")) {
    printer.line("const float added = " + mask + ";");
    printer.line(
        "return choose(added == " + floatConstant(mlir::ait::kMaskedPair) +
        ", " + maskedScore() + ", x + added);");
  } else {
    printer.line("return x + toFloat(" + mask + ");");
  }
  printer.current = outer;
  printer.line("const auto adjust = [&](float x, Index t, Index s) -> float {");
  outer->text += scope.text;
  printer.line("};");
}

void AttentionWriter::printProduct(PointPrinter &printer,
                                   const AttentionShape &shape) {
  const bool isSimt = shape.algorithm == AttentionShape::Algorithm::kSimt;
  const std::string element = cudaType(q.view.elementType);
  auto source = [&](const char *which, const Operand &operand, AffineExpr rows,
                    int64_t columns) {
    std::string from = inputName(operand.view.argument.getArgNumber()),
                offset = printer.index(operand.offset),
                stride = printer.index(operand.rowStride);
    if (offset != "0")
      from += " + " + offset;
    if (isSimt)
      printer.line(llvm::formatv(
          "const Strided<{0}> {1}{{{2}, {3}, {4}, {5}};", element, which, from,
          stride, printer.index(operand.columnStride), printer.index(rows)));
    else
      printer.line(llvm::formatv("const Columns<{0}> {1}{{{2}, {3}, 0, {4}, "
                                 "{5}};",
                                 element, which, from, stride, columns,
                                 printer.index(rows)));
  };
  source("q", q, queries, problem.depth);
  source("k", k, keys, problem.depth);
  source("v", v, keys, problem.valueDepth);
  const std::string arguments = llvm::formatv(
      "{0}, {1}, {2}", problem.depth, problem.valueDepth, problem.isCausal);
  const std::string scaleText = floatConstant(scale());
  // Of a softmax over no keys at all there is nothing to sum: 0.
  const char *withoutKeys = parts.attributes.contains("masked_rows_are_nan")
                                ? "k.rows > 0 ? notANumber() : 0.0f"
                                : "0.0f";
  switch (shape.algorithm) {
  case AttentionShape::Algorithm::kWgmma:
    printer.line(llvm::formatv(
        "using Attention = GroupAttention<{0}, {1}, {2}, {3}, {4}, {5}, {6}>;",
        element, shape.groups, shape.resident, shape.keys, shape.stages(),
        arguments, shape.keepsQueries(problem)));
    printer.line("Attention::start(shared);");
    printer.block(
        "if (threadIdx.x >= Attention::computing)", [](PrintScope &) {},
        [&] {
          printer.line("Attention::copy(k, v, t0, shared);");
          printer.line("return;");
        });
    printAdjust(printer, shape);
    printer.line(
        llvm::formatv("const float *tile = Attention::attend(q, k, t0, {0}, "
                      "adjust, {1}, shared);",
                      scaleText, withoutKeys));
    return;
  case AttentionShape::Algorithm::kMma:
    printAdjust(printer, shape);
    printer.line(llvm::formatv(
        "float *tile = attend<{0}, {1}, {2}, {3}, {4}>(q, k, v, t0, {5}, "
        "adjust, {6}, shared);",
        element, shape.queryWarps, shape.keyWarps, arguments, shape.splits,
        scaleText, withoutKeys));
    return;
  case AttentionShape::Algorithm::kSimt:
    printAdjust(printer, shape);
    printer.line(llvm::formatv(
        "float *tile = attendSimt<{0}, {1}, {2}, {3}>(q, k, v, t0, {4}, "
        "adjust, {5}, shared);",
        element, shape.queryWarps, arguments, shape.splits, scaleText,
        withoutKeys));
    return;
  }
}

std::string AttentionWriter::prelude(const AttentionShape &shape) const {
  std::string text = std::string(preludeText("Common")) + "\n" +
                     preludeText("Tile") + "\n" + preludeText("Attention") +
                     "\n";
  if (shape.algorithm != AttentionShape::Algorithm::kWgmma)
    return text;
  const WarpgroupInstruction scores{q.view.elementType, shape.keys,
                                    shape.keepsQueries(problem)},
      weighted{q.view.elementType, problem.valueDepth,
               /*hasLeftInRegisters=*/true, /*hasColumnsOfB=*/true};
  return text + preludeText("Wgmma") + "\n" + scores.define("multiplyScores") +
         weighted.define("multiplyWeights") + "\n" +
         preludeText("AttentionGroups") + "\n";
}

absl::StatusOr<GeneratedCandidate>
AttentionWriter::write(StringRef name, const AttentionShape &shape) {
  PrintScope root;
  PointPrinter printer(dims);
  printer.current = &root;
  epilogue->setUp(printer);
  printer.line("extern __shared__ __align__(1024) unsigned char shared[];");
  printer.line("launchNext(nextWaits);");
  printer.line("waitForPrevious();");
  const AffineExpr blocks = queries.ceilDiv(shape.queries());
  // Where the second axis may be too short, the first has the batch, too.
  const bool isFlat = !fitsLaterGridAxis(batchSize, symbols);
  std::string block = "blockIdx.x", count = "gridDim.x", batch = "blockIdx.y";
  if (isFlat) {
    count = printer.divisor(blocks);
    printer.line(llvm::formatv("const Index block = blockIdx.x % {0};", count));
    block = "block";
    batch = "blockIdx.x / " + count;
  }
  // With a causal mask the last queries have the most keys: they begin.
  printer.line(llvm::formatv(
      "const Index t0 = {0} * {1};",
      problem.isCausal ? "(" + count + " - 1 - " + block + ")" : block,
      shape.queries()));
  if (!batchDims.empty()) {
    printer.line("const Index batch = " + batch + ";");
    SmallVector<AffineExpr> sizes;
    for (AffineExpr dim : batchDims)
      sizes.push_back(dims.size(cast<AffineDimExpr>(dim).getPosition()));
    bindAxes(printer, batchDims, sizes, "batch", "b", nullptr);
  }
  printProduct(printer, shape);
  AffineExpr valueSize =
      getAffineConstantExpr(problem.valueDepth, parts.resultType.getContext());
  int64_t lanes = isa<AffineDimExpr>(e) ? epilogue->lanes(valueSize) : 1;
  int64_t stride = problem.valueDepth + 4,
          slices = std::max<int64_t>(shape.keyWarps, 1),
          sliceStride = shape.queries() * stride,
          threads = shape.computingThreads();
  const bool isSplit = shape.splits > 1;
  std::string first = "threadIdx.x",
              sum = llvm::formatv("sumSlices<{0}, {1}, {2}>", lanes, slices,
                                  sliceStride);
  if (isSplit) {
    // Each block of the cluster stores a part of the result.
    first = llvm::formatv("(blockIdx.z * {0} + threadIdx.x)", threads);
    sum = llvm::formatv("sumCluster<{0}, {1}>", lanes, shape.splits);
    printer.line(llvm::formatv("foldSlices<{0}, {1}, {2}>(tile);", threads,
                               slices, sliceStride));
    printer.line("syncCluster();");
  }
  printer.block(
      llvm::formatv("for (int i = {0} * {1}; i < {2}; i += {3})", first, lanes,
                    shape.queries() * problem.valueDepth,
                    threads * shape.splits * lanes),
      [](PrintScope &) {},
      [&] {
        printer.line(
            llvm::formatv("const Index r = i / {0}, c = i % {0}, t = t0 + r;",
                          problem.valueDepth));
        printer.block(
            "if (t < " + printer.index(queries) + ")", [](PrintScope &) {},
            [&] {
              printer.line(llvm::formatv(
                  "const Pack<float, {0}> sum = {1}(tile + r * {2} + c);",
                  lanes, sum, stride));
              if (auto dim = dyn_cast<AffineDimExpr>(t))
                printer.current->bindings[dim.getPosition()] = "t";
              if (auto dim = dyn_cast<AffineDimExpr>(e))
                printer.current->bindings[dim.getPosition()] = "c";
              epilogue->print(printer, lanes, "c", "sum");
              printer.flushStores();
            });
      });
  // The others may still read this block's part.
  if (isSplit)
    printer.line("syncCluster();");
  if (!printer.error.empty())
    return absl::UnimplementedError(printer.error);

  GeneratedCandidate candidate;
  ImplementationStep step;
  SmallVector<KernelParameter> parameters = epilogue->parameters(step);
  std::string head =
      kernelHead(name, shape.threads(), parameters, symbols, shape.resident);
  if (isSplit)
    head.insert(head.find("__launch_bounds__"),
                llvm::formatv("__cluster_dims__(1, 1, {0}) ", shape.splits));
  candidate.description = shape.description();
  candidate.text = "using Index = " + indexType(parts.function, symbols) +
                   ";\n\n" + prelude(shape) + "\n// " + name.str() + ": " +
                   candidate.description + "\n" + head + root.text + "}\n";
  const AffineExpr one =
      getAffineConstantExpr(1, parts.resultType.getContext());
  SmallVector<AffineExpr> grid = {isFlat ? blocks * batchSize : blocks,
                                  isFlat ? one : batchSize};
  if (isSplit)
    grid.push_back(one * shape.splits);
  setLaunch(step, name, grid, shape.threads(), shape.sharedBytes(problem),
            target);
  candidate.steps.push_back(std::move(step));
  return candidate;
}

} // namespace

absl::StatusOr<std::vector<GeneratedCandidate>>
generateAttention(func::FuncOp kernel, ArrayAttr symbols,
                  const GpuTarget &target) {
  AITUNE_ASSIGN_OR_RETURN(ContractionParts parts, takeApart(kernel));
  AttentionWriter writer(parts, symbols, target);
  AITUNE_RETURN_IF_ERROR(writer.analyze());
  AITUNE_ASSIGN_OR_RETURN(std::vector<AttentionShape> shapes, writer.select());
  std::vector<GeneratedCandidate> candidates;
  for (const AttentionShape &shape : shapes) {
    AITUNE_ASSIGN_OR_RETURN(GeneratedCandidate candidate,
                            writer.write(kernel.getName(), shape));
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

absl::StatusOr<std::vector<Schedule>>
listAttentionShapes(func::FuncOp kernel, ArrayAttr symbols,
                    const GpuTarget &target) {
  AITUNE_ASSIGN_OR_RETURN(ContractionParts parts, takeApart(kernel));
  AttentionWriter writer(parts, symbols, target);
  AITUNE_RETURN_IF_ERROR(writer.analyze());
  return writer.schedules();
}

} // namespace aitune
