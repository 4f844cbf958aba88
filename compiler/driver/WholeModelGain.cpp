#include "compiler/driver/WholeModelGain.h"

#include "absl/strings/str_format.h"
#include "compiler/dialect/Ait.h"
#include "quant/options.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// A layer that saved this share of its time alone saves some of it in a model,
/// too: on an H200 the kernels that make codes for BERT and GPT-2 cost it a
/// tenth to a fifth more there than alone.
constexpr double kSureGain = 0.25;

bool isDoubtful(const QuantizedLayer &layer) {
  return layer.refusal.empty() && layer.microseconds > 0 &&
         layer.quantizedMicroseconds > (1 - kSureGain) * layer.microseconds;
}

std::string describe(const WholeModelTimes &times) {
  return absl::StrFormat("the whole model takes %.4g us with it, %.4g us "
                         "without quantised layers",
                         times.quantized, times.plain);
}

} // namespace

bool canTimeWhole(ModuleOp module, const CompileOptions &options) {
  if (options.quantization.empty() || !options.measureCandidates ||
      options.compileTo != CompilePhase::Executable)
    return false;
  const auto asked = quant::ParseQuantizationOptions(options.quantization);
  if (!asked.ok() || asked->verdict == quant::Verdict::kOff)
    return false;
  return !module->walk([](ait::FallbackOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

bool isGainDoubtful(llvm::ArrayRef<QuantizedLayer> layers) {
  return llvm::any_of(layers, isDoubtful);
}

std::map<std::pair<std::string, std::string>, std::string>
findSlow(llvm::ArrayRef<QuantizedLayer> layers, const WholeModelTimes &times) {
  std::map<std::pair<std::string, std::string>, std::string> slow;
  for (const QuantizedLayer &layer : layers)
    if (isDoubtful(layer))
      slow.emplace(std::make_pair(layer.layer, layer.scheme), describe(times));
  return slow;
}

} // namespace aitune
