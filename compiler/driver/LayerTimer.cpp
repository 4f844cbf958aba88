#include "compiler/driver/LayerTimer.h"

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

} // namespace

LayerTimer::LayerTimer(const CompileOptions &asked,
                       absl::Span<const ConstantTensor> constants,
                       ArrayAttr symbols)
    : options(asked), constants(constants), sizes([&] {
        const std::vector<int64_t> largest = largestSizes(symbols);
        return SmallVector<int64_t>(largest.begin(), largest.end());
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

std::string LayerTimer::isolate(ArrayRef<ait::MatmulOp> layers) const {
  ait::MatmulOp first = layers.front();
  MLIRContext *context = first.getContext();
  Location location = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module(ModuleOp::create(location));
  SmallVector<Type> results;
  for (ait::MatmulOp layer : layers)
    results.push_back(makeStatic(layer.getType(), sizes));
  OpBuilder builder(module->getBodyRegion());
  auto main = func::FuncOp::create(
      builder, location, "main",
      builder.getFunctionType({makeStatic(first.getLhs().getType(), sizes)},
                              results));
  Block *body = main.addEntryBlock();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> products;
  for (auto [layer, result] : llvm::zip_equal(layers, results)) {
    auto weight =
        ait::MatmulOp(layer).getRhs().getDefiningOp<ait::ConstantOp>();
    Value constant = builder.clone(*weight)->getResult(0);
    products.push_back(ait::MatmulOp::create(
        builder, location, result, body->getArgument(0), constant,
        /*transpose_lhs=*/false, ait::MatmulOp(layer).getTransposeRhs()));
  }
  func::ReturnOp::create(builder, location, products);
  return printToString(*module);
}

std::optional<quant::LayerTimes>
LayerTimer::measure(const std::string &module, const std::string &way) const {
  CompileOptions plain = options, quantized = options;
  plain.quantization.clear();
  quantized.quantization = way;
  auto before = compileText(module, constants, plain);
  auto after = compileText(module, constants, quantized);
  if (!before.ok() || !after.ok())
    return std::nullopt;
  auto target = createTarget(options, bytesOf(constants));
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
