#include "compiler/driver/QuantizeLayers.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/candidates/FindGpu.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {

absl::StatusOr<AskedQuantization>
readQuantization(const CompileOptions &options) {
  AskedQuantization asked;
  AITUNE_ASSIGN_OR_RETURN(
      asked.options, quant::ParseQuantizationOptions(options.quantization));
  AITUNE_ASSIGN_OR_RETURN(std::optional<GpuTarget> gpu, findGpu(options));
  if (gpu)
    asked.gpu = quant::ComputeCapability{gpu->major, gpu->minor};
  AITUNE_RETURN_IF_ERROR(quant::CheckSupported(asked.options, asked.gpu));
  return asked;
}

void addQuantizationPasses(OpPassManager &passManager,
                           const AskedQuantization &asked,
                           const LayerKnowledge &known, ConstantPool pool,
                           quant::LayerTimer timer, CompileResult &result) {
  OpPassManager &functions = passManager.nest<func::FuncOp>();
  // A weight is an operand of its matmul then, not of a permute before it.
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  // A layer with one column stays a matmul, which can be quantised.
  functions.addPass(createSimplify({/*threadsShareSums=*/true}));
  quant::QuantizationContext context;
  context.gpu = asked.gpu;
  context.pool = std::move(pool);
  context.timer = std::move(timer);
  context.inputs = [&known](int64_t weight) {
    const auto found = known.inputs.find(weight);
    return found == known.inputs.end() ? nullptr : &found->second;
  };
  context.dropped = known.dropped;
  context.slow = known.slow;
  context.elsewhere = known.elsewhere;
  context.classes = known.classes;
  context.holders = known.holders;
  context.codes = known.codes;
  context.told = [&result](QuantizedLayer layer) {
    result.quantizedLayers.push_back(std::move(layer));
  };
  functions.addPass(
      quant::CreateQuantizeLayers(asked.options, std::move(context)));
}

/// Whether verdict=on alone leaves a layer alone for this.
static bool isOfVerdict(const std::string &reason) {
  return reason == "slower" || reason == "not surely faster" ||
         reason == "inaccurate" || reason == "dropped";
}

/// The first layers, each with why it is left alone.
static std::string describeRefusals(llvm::ArrayRef<QuantizedLayer> layers) {
  constexpr size_t kMostTold = 8;
  const llvm::ArrayRef<QuantizedLayer> told = layers.take_front(kMostTold);
  return absl::StrCat(
      absl::StrJoin(told, ", ",
                    [](std::string *text, const QuantizedLayer &layer) {
                      absl::StrAppend(text, layer.layer, " (", layer.refusal,
                                      ")");
                    }),
      layers.size() > told.size()
          ? absl::StrCat(" and ", layers.size() - told.size(), " more")
          : "");
}

absl::Status checkQuantized(const quant::QuantizationOptions &asked,
                            const CompileResult &result) {
  if (asked.verdict == quant::Verdict::kOff)
    return absl::OkStatus();
  const std::string scheme =
      asked.scheme ? std::string(quant::Name(*asked.scheme)) : "any scheme";
  if (result.quantizedLayers.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "No layer of the model can be quantised with ", scheme,
        ": it has no linear layer with a constant weight. Ask for verdict=off "
        "to compile it as it is."));
  std::map<std::string, int> reasons;
  bool mayHelp = false;
  for (const QuantizedLayer &layer : result.quantizedLayers) {
    if (layer.refusal.empty())
      return absl::OkStatus();
    const std::string reason = layer.refusal.substr(0, layer.refusal.find(':'));
    ++reasons[reason];
    mayHelp |= isOfVerdict(reason);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "No layer of the model can be quantised with ", scheme, ": ",
      result.quantizedLayers.size(), " refused (",
      absl::StrJoin(reasons, ", ",
                    [](std::string *text, const auto &entry) {
                      absl::StrAppend(text, entry.second, " ", entry.first);
                    }),
      ")", mayHelp ? "; verdict=off quantises them all the same" : "", ": ",
      describeRefusals(result.quantizedLayers)));
}

} // namespace aitune
