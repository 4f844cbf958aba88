#include "compiler/driver/LayerTimer.h"

#include <cstring>
#include <memory>
#include <vector>

#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/driver/Constants.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/support/Dump.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/status/status_macros.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace aitune {
namespace {

/// For the layers of one input: first some tens of runs of a layer of a
/// millisecond, then more where these don't decide.
constexpr double kSeconds[] = {0.1, 0.4};
/// The least share of its time that a quantised layer must save.
constexpr double kLeastGain = 0.02;
/// Where it saves this share, the intervals of the two medians may overlap, as
/// they do beside other processes.
constexpr double kClearGain = 0.2;

/// `type` with the symbols of its sizes replaced by `values`.
RankedTensorType makeStatic(RankedTensorType type, ArrayRef<int64_t> values) {
  MLIRContext *context = type.getContext();
  SmallVector<AffineExpr> symbols;
  for (int64_t value : values)
    symbols.push_back(getAffineConstantExpr(value, context));
  SmallVector<AffineExpr> sizes;
  for (AffineExpr size : ait::getSymbolicSizes(type))
    sizes.push_back(
        ait::canonicalizeSize(size.replaceDimsAndSymbols({}, symbols)));
  return ait::getTensorType(sizes, type.getElementType());
}

/// A compiled model with the constants that it refers to.
struct Compiled {
  RaceEntry model;
  std::vector<ConstantTensor> constants;
};

absl::StatusOr<Compiled> compileText(const std::string &text,
                                     absl::Span<const ConstantTensor> constants,
                                     const CompileOptions &options) {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return absl::InternalError("the layers alone are no module");
  AITUNE_ASSIGN_OR_RETURN(CompileResult result,
                          compile(*module, constants, options));
  if (!result.failures.empty())
    return absl::InternalError(result.failures.front().reason);
  Compiled compiled{{std::move(result.plan), std::move(result.objects)}, {}};
  compiled.constants.assign(constants.begin(), constants.end());
  llvm::append_range(compiled.constants, result.newConstants);
  return compiled;
}

/// Weights of one type as one with all their columns: those are along `axis`.
ConstantTensor join(ArrayRef<ConstantTensor> weights, size_t axis) {
  if (weights.size() == 1)
    return weights.front();
  TensorView view = weights.front().view;
  view.sizes[axis] = 0;
  for (const ConstantTensor &weight : weights)
    view.sizes[axis] += weight.view.sizes[axis];
  const int64_t rows = axis == 0 ? 1 : view.sizes[0];
  auto bytes = std::make_shared<std::vector<char>>(BytesOf(view));
  char *to = bytes->data();
  for (int64_t row = 0; row < rows; ++row)
    for (const ConstantTensor &weight : weights) {
      const int64_t size = BytesOf(weight.view) / rows;
      std::memcpy(to, static_cast<const char *>(weight.view.data) + row * size,
                  size);
      to += size;
    }
  view.data = bytes->data();
  return {view, bytes, "weight"};
}

} // namespace

LayerTimer::LayerTimer(const CompileOptions &asked,
                       absl::Span<const ConstantTensor> constants,
                       ArrayAttr symbols)
    : options(asked), constants(constants), sizes([&] {
        const std::vector<int64_t> measured = measuredSizes(symbols);
        return SmallVector<int64_t>(measured.begin(), measured.end());
      }()) {
  options.compileTo = CompilePhase::Executable;
  options.dumpDirectory.clear();
  options.tuning = {};
  options.layers = {};
  options.audit = {};
  options.libtorch = {};
  options.progress = nullptr;
}

std::optional<quant::LayerTimes>
LayerTimer::time(ArrayRef<ait::MatmulOp> layers, const quant::Way &way) {
  quant::QuantizationOptions options;
  options.scheme = way.scheme;
  options.granularity = way.granularity;
  options.verdict = quant::Verdict::kOff;
  options.extended_layers = true;
  const std::string text = quant::ToString(options);
  std::string key = text;
  llvm::raw_string_ostream stream(key);
  stream << " "
         << makeStatic(ait::MatmulOp(layers.front()).getLhs().getType(), sizes);
  for (ait::MatmulOp layer : layers)
    stream << " " << layer.getRhs().getType() << layer.getTransposeRhs();
  auto [found, isNew] = known.try_emplace(key);
  if (isNew)
    found->second = measure(isolate(layers), text);
  return found->second;
}

LayerTimer::Alone LayerTimer::isolate(ArrayRef<ait::MatmulOp> layers) const {
  ait::MatmulOp first = layers.front();
  MLIRContext *context = first.getContext();
  Location location = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module(ModuleOp::create(location));
  OpBuilder builder(module->getBodyRegion());
  const RankedTensorType input = makeStatic(first.getLhs().getType(), sizes);
  auto main = func::FuncOp::create(builder, location, "main",
                                   builder.getFunctionType({input}, {}));
  Block *body = main.addEntryBlock();
  builder.setInsertionPointToStart(body);
  Alone alone;
  SmallVector<Value> products;
  for (const bool isTransposed : {false, true}) {
    SmallVector<ConstantTensor> weights;
    int64_t columns = 0;
    for (ait::MatmulOp layer : layers) {
      if (layer.getTransposeRhs() != isTransposed)
        continue;
      auto weight = layer.getRhs().getDefiningOp<ait::ConstantOp>();
      weights.push_back(constants[weight.getIndex()]);
      columns += layer.getType().getShape().back();
    }
    if (weights.empty())
      continue;
    alone.weights.push_back(join(weights, isTransposed ? 0 : 1));
    auto weight = ait::ConstantOp::create(
        builder, location,
        RankedTensorType::get(alone.weights.back().view.sizes,
                              first.getRhs().getType().getElementType()),
        static_cast<int64_t>(alone.weights.size()) - 1, "weight");
    SmallVector<int64_t> shape(makeStatic(first.getType(), sizes).getShape());
    shape.back() = columns;
    products.push_back(ait::MatmulOp::create(
        builder, location,
        RankedTensorType::get(shape, first.getType().getElementType()),
        body->getArgument(0), weight, /*transpose_lhs=*/false, isTransposed));
  }
  func::ReturnOp::create(builder, location, products);
  main.setType(builder.getFunctionType({input}, TypeRange(products)));
  alone.module = printToString(*module);
  return alone;
}

std::optional<quant::LayerTimes>
LayerTimer::measure(const Alone &alone, const std::string &way) const {
  CompileOptions plain = options, quantized = options;
  plain.quantization.clear();
  quantized.quantization = way;
  auto before = compileText(alone.module, alone.weights, plain);
  auto after = compileText(alone.module, alone.weights, quantized);
  if (!before.ok() || !after.ok())
    return std::nullopt;
  auto target = createTarget(options, bytesOf(alone.weights));
  if (!target.ok() || !(*target)->open().ok())
    return std::nullopt;
  std::optional<quant::LayerTimes> found;
  for (const double seconds : kSeconds) {
    std::vector<ModelToTime> models(2);
    models[0].model = before->model;
    models[0].constants = before->constants;
    models[1].model = after->model;
    models[1].constants = after->constants;
    const absl::StatusOr<std::vector<Measurement>> measured =
        (*target)->timeModels(std::move(models),
                              {seconds, /*coldConstants=*/true});
    if (!measured.ok())
      return found;
    const Measurement &plainTime = measured->front();
    const Measurement &quantizedTime = measured->back();
    if (plainTime.microseconds < 0 || quantizedTime.microseconds < 0)
      return found;
    const double gain = 1 - quantizedTime.microseconds / plainTime.microseconds;
    const bool isClear = gain <= kLeastGain || gain >= kClearGain ||
                         quantizedTime.high < plainTime.low;
    found =
        quant::LayerTimes{plainTime.microseconds, quantizedTime.microseconds,
                          isClear && gain > kLeastGain};
    if (isClear)
      break;
  }
  return found;
}

} // namespace aitune
