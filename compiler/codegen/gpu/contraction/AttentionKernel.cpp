#include "compiler/codegen/gpu/contraction/AttentionKernel.h"

#include <cmath>

#include "absl/status/status.h"
#include "compiler/codegen/gpu/contraction/Contraction.h"
#include "compiler/codegen/gpu/contraction/TileSpace.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/dialect/KernelAttributes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {
namespace {

/// Warps along the queries and along the keys; {n, 0}: n warps in fp32.
struct Shape {
  int64_t queryWarps, keyWarps;
  bool isSimt() const { return keyWarps == 0; }
  int64_t queries() const { return queryWarps * (isSimt() ? 4 : 16); }
  int64_t threads() const {
    return queryWarps * std::max<int64_t>(1, keyWarps) * 32;
  }
};

/// The shapes on tensor cores.
constexpr Shape kShapes[] = {{4, 1}, {8, 1}, {2, 2}, {1, 4}};

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
  absl::StatusOr<std::vector<Shape>> select() const;
  CudaSchedules schedules() const;
  absl::StatusOr<GeneratedCandidate> write(StringRef name, Shape shape);

private:
  absl::StatusOr<Operand> follow(unsigned number, AffineExpr row,
                                 AffineExpr column);
  int64_t sharedBytes(Shape shape) const;
  bool fitsTensorCores() const;
  std::vector<Shape> shapes() const;
  void printAdjust(PointPrinter &printer);

  ContractionParts &parts;
  ArrayAttr symbols;
  const GpuTarget &target;
  DimTable dims;
  SmallVector<AffineExpr> batchDims, resultDims;
  AffineExpr batchSize, t, s, d, e, queries, keys;
  int64_t depth = 0, valueDepth = 0;
  Operand q, k, v;
  std::unique_ptr<EpiloguePrinter> epilogue;
};

absl::StatusOr<Operand> AttentionWriter::follow(unsigned number, AffineExpr row,
                                                AffineExpr column) {
  SmallVector<AffineExpr> exprs(resultDims.begin(), resultDims.end() - 2);
  exprs.push_back(row);
  exprs.push_back(column);
  absl::StatusOr<OperandView> view = viewOperand(parts, number, exprs, dims);
  if (!view.ok())
    return view.status();
  Operand operand{*view, view->coefficient(row), view->coefficient(column),
                  view->address.constant};
  for (const LinearForm::Term &term : view->address.terms) {
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
  depth = *constantDepth;
  valueDepth = *constantValueDepth;
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
  epilogue = std::make_unique<EpiloguePrinter>(parts, dims, resultDims);
  return epilogue->prepare();
}

bool AttentionWriter::fitsTensorCores() const {
  Type element = q.view.elementType;
  if (!element.isF16() && !element.isBF16())
    return false;
  if (depth % 8 != 0 || valueDepth % 8 != 0 || depth > 128 || valueDepth > 128)
    return false;
  for (const Operand *operand : {&q, &k, &v})
    if (operand->columnStride != 1 || !operand->rowStride.isMultipleOf(8) ||
        !operand->offset.isMultipleOf(8))
      return false;
  return true;
}

std::vector<Shape> AttentionWriter::shapes() const {
  if (!fitsTensorCores())
    return {{4, 0}};
  int64_t rows = largestValue(queries, symbols).value_or(512),
          heads = largestValue(batchSize, symbols).value_or(64);
  // Few heads and queries: smaller blocks, whose warps share the keys.
  auto blocks = [&](int64_t warps) {
    return heads * ((rows + warps * 16 - 1) / (warps * 16));
  };
  if (blocks(4) >= target.multiprocessors)
    return blocks(8) >= 2 * target.multiprocessors
               ? std::vector<Shape>{{4, 1}, {8, 1}, {2, 2}}
               : std::vector<Shape>{{4, 1}, {2, 2}};
  if (blocks(2) >= target.multiprocessors)
    return {{2, 2}, {4, 1}, {1, 4}};
  return {{1, 4}, {2, 2}, {4, 1}};
}

absl::StatusOr<std::vector<Shape>> AttentionWriter::select() const {
  func::FuncOp function = parts.function;
  if (!hasSchedule(function))
    return shapes();
  const DictionaryAttr config = mlir::ait::getScheduleConfig(function);
  auto queryWarps = config.getAs<IntegerAttr>("query_warps"),
       keyWarps = config.getAs<IntegerAttr>("key_warps");
  if (queryWarps && keyWarps && fitsTensorCores())
    for (Shape shape : kShapes)
      if (queryWarps.getInt() == shape.queryWarps &&
          keyWarps.getInt() == shape.keyWarps)
        return std::vector<Shape>{shape};
  return absl::InvalidArgumentError(
      "no attention of this kernel has the query_warps and key_warps of its "
      "ait.config");
}

CudaSchedules AttentionWriter::schedules() const {
  if (!fitsTensorCores())
    return {};
  std::vector<Shape> ordered = shapes();
  for (Shape shape : kShapes)
    if (llvm::none_of(ordered, [&](Shape other) {
          return other.queryWarps == shape.queryWarps &&
                 other.keyWarps == shape.keyWarps;
        }))
      ordered.push_back(shape);
  auto log2Of = [&](AffineExpr size, int64_t otherwise) {
    return std::log2(double(
        std::max<int64_t>(largestValue(size, symbols).value_or(otherwise), 1)));
  };
  CudaSchedules list;
  for (Shape shape : ordered)
    list.push_back(
        {llvm::formatv("{{query_warps = {0} : i64, key_warps = {1} : i64}",
                       shape.queryWarps, shape.keyWarps),
         llvm::formatv("{0} queries, {1} groups of keys", shape.queries(),
                       shape.keyWarps),
         {log2Of(queries, 512), log2Of(keys, 512), log2Of(batchSize, 64),
          double(shape.queryWarps), double(shape.keyWarps),
          double(depth + valueDepth) / 128}});
  return list;
}

int64_t AttentionWriter::sharedBytes(Shape shape) const {
  if (shape.isSimt())
    return std::max(shape.queries() * depth + 32 * (depth + 1) +
                        32 * valueDepth,
                    shape.queries() * (valueDepth + 4)) *
           4;
  auto rowBytes = [](int64_t columns) {
    return columns <= 32 ? 64 : columns <= 64 ? 128 : 256;
  };
  int64_t fill = shape.queries() * rowBytes(depth) +
                 2 * 64 * (rowBytes(depth) + rowBytes(valueDepth));
  return std::max(fill,
                  shape.keyWarps * shape.queries() * (valueDepth + 4) * 4);
}

/// The mask of query t and key s.
void AttentionWriter::printAdjust(PointPrinter &printer) {
  if (parts.operandCount < 4) {
    printer.line(
        "const auto adjust = [](float x, Index, Index) { return x; };");
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
  if (element.isInteger(1))
    printer.line("return " + mask + " ? x : minusInfinity();");
  else
    printer.line("return x + toFloat(" + mask + ");");
  printer.current = outer;
  printer.line("const auto adjust = [&](float x, Index t, Index s) -> float {");
  outer->text += scope.text;
  printer.line("};");
}

absl::StatusOr<GeneratedCandidate> AttentionWriter::write(StringRef name,
                                                          Shape shape) {
  PrintScope root;
  PointPrinter printer(dims);
  printer.current = &root;
  epilogue->setUp(printer);
  std::string element = cudaType(q.view.elementType);
  printer.line("extern __shared__ __align__(1024) unsigned char shared[];");
  printer.line("launchNext(nextWaits);");
  printer.line("waitForPrevious();");
  printer.line(
      llvm::formatv("const Index t0 = blockIdx.x * {0};", shape.queries()));
  if (!batchDims.empty()) {
    printer.line("const Index batch = blockIdx.y;");
    SmallVector<AffineExpr> sizes;
    for (AffineExpr dim : batchDims)
      sizes.push_back(dims.size(cast<AffineDimExpr>(dim).getPosition()));
    bindAxes(printer, batchDims, sizes, "batch", "b", nullptr);
  }
  auto source = [&](const char *which, const Operand &operand, AffineExpr rows,
                    int64_t columns) {
    std::string from = inputName(operand.view.argument.getArgNumber()),
                offset = printer.index(operand.offset),
                stride = printer.index(operand.rowStride);
    if (offset != "0")
      from += " + " + offset;
    if (shape.isSimt())
      printer.line(llvm::formatv(
          "const Strided<{0}> {1}{{{2}, {3}, {4}, {5}};", element, which, from,
          stride, printer.index(operand.columnStride), printer.index(rows)));
    else
      printer.line(llvm::formatv("const Columns<{0}> {1}{{{2}, {3}, 0, {4}, "
                                 "{5}};",
                                 element, which, from, stride, columns,
                                 printer.index(rows)));
  };
  source("q", q, queries, depth);
  source("k", k, keys, depth);
  source("v", v, keys, valueDepth);
  printAdjust(printer);
  std::string arguments =
      llvm::formatv("{0}, {1}, {2}", depth, valueDepth,
                    parts.attributes.contains("is_causal") ? "true" : "false");
  auto scale = parts.attributes.getAs<FloatAttr>("scale");
  std::string scaleText = cudaConstant(FloatAttr::get(
      Float32Type::get(scale.getContext()), scale.getValueAsDouble()));
  printer.line(
      shape.isSimt()
          ? llvm::formatv("const float *tile = attendSimt<{0}, {1}, {2}>(q, k, "
                          "v, t0, {3}, adjust, shared);",
                          element, shape.queryWarps, arguments, scaleText)
                .str()
          : llvm::formatv(
                "const float *tile = attend<{0}, {1}, {2}, {3}>(q, k, "
                "v, t0, {4}, adjust, shared);",
                element, shape.queryWarps, shape.keyWarps, arguments, scaleText)
                .str());
  AffineExpr valueSize =
      getAffineConstantExpr(valueDepth, parts.resultType.getContext());
  int64_t lanes = isa<AffineDimExpr>(e) ? epilogue->lanes(valueSize) : 1;
  int64_t stride = valueDepth + 4, slices = shape.isSimt() ? 1 : shape.keyWarps;
  printer.block(
      llvm::formatv("for (int i = threadIdx.x * {0}; i < {1}; i += {2})", lanes,
                    shape.queries() * valueDepth, shape.threads() * lanes),
      [](PrintScope &) {},
      [&] {
        printer.line(llvm::formatv(
            "const Index r = i / {0}, c = i % {0}, t = t0 + r;", valueDepth));
        printer.block(
            "if (t < " + printer.index(queries) + ")", [](PrintScope &) {},
            [&] {
              printer.line(llvm::formatv("const Pack<float, {0}> sum = "
                                         "sumSlices<{0}, {1}, {2}>(tile + "
                                         "r * {3} + c);",
                                         lanes, slices,
                                         shape.queries() * stride, stride));
              if (auto dim = dyn_cast<AffineDimExpr>(t))
                printer.current->bindings[dim.getPosition()] = "t";
              if (auto dim = dyn_cast<AffineDimExpr>(e))
                printer.current->bindings[dim.getPosition()] = "c";
              epilogue->print(printer, lanes, "c", "sum");
              printer.flushStores();
            });
      });
  if (!printer.error.empty())
    return absl::UnimplementedError(printer.error);

  GeneratedCandidate candidate;
  GeneratedStep step;
  SmallVector<KernelParameter> parameters = epilogue->parameters(step);
  candidate.description =
      shape.isSimt()
          ? llvm::formatv("attention simt, {0} queries", shape.queries()).str()
          : llvm::formatv("attention mma, {0} queries, {1} groups of keys",
                          shape.queries(), shape.keyWarps)
                .str();
  candidate.text = "using Index = " + indexType(parts.function, symbols) +
                   ";\n\n" + preludeText("Common") + "\n" +
                   preludeText("Tile") + "\n" + preludeText("Attention") +
                   "\n// " + name.str() + ": " + candidate.description + "\n" +
                   kernelHead(name, shape.threads(), parameters, symbols) +
                   root.text + "}\n";
  AffineExpr blocks = queries.ceilDiv(shape.queries());
  setLaunch(step, name, {blocks, batchSize}, shape.threads(),
            sharedBytes(shape), target);
  candidate.steps.push_back(std::move(step));
  return candidate;
}

} // namespace

absl::StatusOr<std::vector<GeneratedCandidate>>
generateAttention(func::FuncOp kernel, ArrayAttr symbols,
                  const GpuTarget &target) {
  absl::StatusOr<ContractionParts> parts = takeApart(kernel);
  if (!parts.ok())
    return parts.status();
  AttentionWriter writer(*parts, symbols, target);
  if (absl::Status status = writer.analyze(); !status.ok())
    return status;
  absl::StatusOr<std::vector<Shape>> shapes = writer.select();
  if (!shapes.ok())
    return shapes.status();
  std::vector<GeneratedCandidate> candidates;
  for (Shape shape : *shapes) {
    absl::StatusOr<GeneratedCandidate> candidate =
        writer.write(kernel.getName(), shape);
    if (!candidate.ok())
      return candidate.status();
    candidates.push_back(std::move(*candidate));
  }
  return candidates;
}

absl::StatusOr<CudaSchedules> listAttentionShapes(func::FuncOp kernel,
                                                  ArrayAttr symbols,
                                                  const GpuTarget &target) {
  absl::StatusOr<ContractionParts> parts = takeApart(kernel);
  if (!parts.ok())
    return parts.status();
  AttentionWriter writer(*parts, symbols, target);
  if (absl::Status status = writer.analyze(); !status.ok())
    return status;
  return writer.schedules();
}

} // namespace aitune
