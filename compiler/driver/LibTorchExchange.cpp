#include "compiler/driver/LibTorchExchange.h"

#include <chrono>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "compiler/driver/LibTorchRace.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// Seconds to time the whole model, with and without what LibTorch runs.
constexpr double kModelSeconds = 0.3;
/// What LibTorch runs makes a stored model slower to load, which is traced
/// again then. So the whole model must take less than this of the kernels'
/// time.
constexpr double kWorthIt = 0.97;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::StatusOr<ModelToTime> toTime(const CompileResult &result, ModuleOp module,
                                   absl::Span<const ConstantTensor> constants,
                                   const CompileOptions &options) {
  ModelToTime model;
  model.model = {result.plan, result.objects};
  model.model.plan->set_ignores_checks(true);
  model.constants = constants;
  AITUNE_ASSIGN_OR_RETURN(model.regions, options.libtorch.makeRegions(module));
  return model;
}

template <typename T> void append(std::vector<T> &to, std::vector<T> &&from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()),
            std::make_move_iterator(from.end()));
}

/// Puts what the first compilation found into the report of the second, which
/// measured only what the first did not have.
void mergeReports(CompileResult &own, CompileResult &again) {
  llvm::erase_if(own.rejections, [](const Rejection &rejection) {
    return rejection.phase == "fusion";
  });
  append(own.rejections, std::move(again.rejections));
  again.rejections = std::move(own.rejections);
  append(own.candidates, std::move(again.candidates));
  again.candidates = std::move(own.candidates);
  append(own.wrong, std::move(again.wrong));
  again.wrong = std::move(own.wrong);
  again.tuning = std::move(own.tuning);
  again.reference.judged += own.reference.judged;
  again.reference.withoutReference += own.reference.withoutReference;
  again.reference.sampled += own.reference.sampled;
  again.reference.known += own.reference.known;
  again.reference.seconds += own.reference.seconds;
  again.phaseSeconds = std::move(own.phaseSeconds);
  // Those of the second compilation lack the ones that LibTorch runs.
  again.quantizedLayers = std::move(own.quantizedLayers);
}

class Exchange {
public:
  Exchange(CompileResult &own, const CompiledKernels &model,
           const CompileOptions &options)
      : own(own), model(model), options(options) {}

  /// The second compilation, if it is better; kNotFound if LibTorch is faster
  /// nowhere.
  absl::StatusOr<CompileResult>
  run(llvm::function_ref<absl::StatusOr<CompiledAgain>(ModuleOp)> compileAgain);

private:
  absl::Status compare(ModuleOp module, const CompiledAgain &again);

  CompileResult &own;
  const CompiledKernels &model;
  const CompileOptions &options;
};

/// OK if the second is faster.
absl::Status Exchange::compare(ModuleOp module, const CompiledAgain &again) {
  std::vector<ModelToTime> models;
  auto add = [&](const CompileResult &result, ModuleOp of,
                 absl::Span<const ConstantTensor> constants) {
    absl::StatusOr<ModelToTime> made = toTime(result, of, constants, options);
    if (made.ok())
      models.push_back(*std::move(made));
    return made.status();
  };
  AITUNE_RETURN_IF_ERROR(add(own, model.module, model.constants));
  AITUNE_RETURN_IF_ERROR(add(again.result, module, again.constants));
  absl::StatusOr<std::vector<Measurement>> measured =
      model.target.timeModels(std::move(models), {kModelSeconds});
  AITUNE_RETURN_IF_ERROR(
      checkUsable(model.target, "the comparison with LibTorch's operators"));
  if (!measured.ok())
    return measured.status();
  const Measurement &kernels = (*measured)[0], &exchanged = (*measured)[1];
  const bool isFaster = isWorthExchanging(kernels, exchanged);
  own.candidates.push_back({"the whole model", "kernels alone",
                            kernels.microseconds, !isFaster, kernels.note});
  own.candidates.push_back({"the whole model", "with LibTorch's operators",
                            exchanged.microseconds, isFaster, exchanged.note});
  if (isFaster)
    return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("the whole model takes ", exchanged.microseconds,
                   " us with them, ", kernels.microseconds, " us without"));
}

absl::StatusOr<CompileResult> Exchange::run(
    llvm::function_ref<absl::StatusOr<CompiledAgain>(ModuleOp)> compileAgain) {
  auto start = Clock::now();
  absl::StatusOr<std::vector<LibTorchWin>> raced = raceLibTorch(
      model.module, model.chosen, model.target, model.constants, options, own);
  own.phaseSeconds.emplace_back("race against LibTorch", secondsSince(start));
  if (!raced.ok())
    return raced.status();
  std::vector<LibTorchWin> wins = *std::move(raced);
  if (wins.empty())
    return absl::NotFoundError("LibTorch is faster nowhere");
  if (const double saved = savedShare(wins); saved < 1 - kWorthIt)
    return absl::AbortedError(absl::StrFormat(
        "they save %.1f %% of the kernels' time, which is not worth it",
        100 * saved));
  start = Clock::now();
  AITUNE_ASSIGN_OR_RETURN(ModuleOp module,
                          options.libtorch.importAgain(reasonsOf(wins)));
  AITUNE_ASSIGN_OR_RETURN(CompiledAgain again, compileAgain(module));
  if (!again.result.failures.empty())
    return absl::InternalError(again.result.failures.front().reason);
  const absl::Status faster = compare(module, again);
  own.phaseSeconds.emplace_back("build with LibTorch's operators",
                                secondsSince(start));
  if (!faster.ok())
    return faster;
  mergeReports(own, again.result);
  again.result.libtorchWins = std::move(wins);
  return std::move(again.result);
}

} // namespace

bool isWorthExchanging(const Measurement &kernels,
                       const Measurement &exchanged) {
  if (exchanged.microseconds < 0)
    return false;
  return kernels.microseconds < 0 ||
         (exchanged.microseconds < kWorthIt * kernels.microseconds &&
          exchanged.undisturbed() < kWorthIt * kernels.undisturbed());
}

absl::StatusOr<CompileResult> exchangeWithLibTorch(
    CompileResult own, const CompiledKernels &model,
    const CompileOptions &options,
    llvm::function_ref<absl::StatusOr<CompiledAgain>(ModuleOp)> compileAgain) {
  absl::StatusOr<CompileResult> better =
      Exchange(own, model, options).run(compileAgain);
  if (better.ok())
    return *std::move(better);
  if (!model.target.usable().ok())
    return better.status();
  if (!absl::IsNotFound(better.status()))
    own.rejections.push_back({"LibTorch", "its faster operators",
                              std::string(better.status().message())});
  return own;
}

} // namespace aitune
