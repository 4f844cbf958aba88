#include "frontend/compiled_model/build_logs.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/logging/logging.h"

namespace aitune::frontend {

void LogOutputCode(const Model& model, const ModelInputs& inputs,
                   const BuildOptions& build) {
  if (!IsEnabled(LogChannel::kOutputCode)) return;
  BuildOptions print = build;
  print.compile.compileTo = CompilePhase::LLVM;
  const absl::StatusOr<std::string> code = CompileToIr(model, inputs, print);
  if (code.ok()) Log(LogChannel::kOutputCode, *code);
}

std::string TextOf(const FallbackOp& op) {
  return absl::StrCat(
      op.op, op.location.empty() ? "" : absl::StrCat(" at ", op.location), ": ",
      op.reason);
}

void LogBuild(const BuildReport& report, const std::string& name) {
  for (const FallbackOp& op : report.fallbacks)
    Log(LogChannel::kGraphBreaks,
        absl::StrCat(name, ": LibTorch runs ", TextOf(op)));
  if (!IsEnabled(LogChannel::kPerfHints)) return;
  const auto hint = [&](const std::string& text) {
    Log(LogChannel::kPerfHints, absl::StrCat(name, ": ", text));
  };
  for (const LibTorchWin& win : report.libtorch_wins)
    hint(absl::StrFormat(
        "LibTorch's operators are taken for the kernels %s: %.4g us, not %.4g",
        win.kernels, win.libtorchMicroseconds, win.microseconds));
  for (const QuantizedLayer& layer : report.quantized_layers) {
    if (!layer.refusal.empty())
      hint(absl::StrCat(layer.layer, " is not quantised: ", layer.refusal));
  }
}

}  // namespace aitune::frontend
