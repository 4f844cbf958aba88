#include <ATen/core/ivalue.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/check/check.h"
#include "frontend/check/reference_models.h"
#include "frontend/check/repair.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/time_subject.h"
#include "frontend/compiled_model/model_versions.h"
#include "frontend/compiled_model/time_steps.h"
#include "frontend/values/gpu.h"
#include "runtime/backend/step_time.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

// A call and all that it finds: on a GPU an index out of range is known when
// the result was waited for.
absl::StatusOr<c10::IValue> RunToTheEnd(const frontend::CompiledModel& compiled,
                                        const frontend::ValueList& arguments) {
  absl::StatusOr<c10::IValue> result = compiled.Run(arguments);
  if (!result.ok() || !compiled.device().is_gpu()) return result;
  c10::IValue on_cpu = frontend::ToCpu(*result);
  AITUNE_RETURN_IF_ERROR(compiled.TakeFailedCheck());
  return on_cpu;
}

// The share of compiled steps in the time of all steps. Not set if LibTorch
// runs no step, or if another version of the model serves a typical call.
std::optional<double> MeasureCompiledShare(
    const Subject& subject, const frontend::CompiledModel& compiled,
    const frontend::ValueList& arguments) {
  // Runs of each step, which suffice for a share.
  constexpr int kRepeats = 3;
  const auto& steps = compiled.plan().steps();
  if (std::none_of(steps.begin(), steps.end(),
                   [](const Step& step) { return step.has_fallback(); }))
    return std::nullopt;
  const absl::StatusOr<std::function<absl::Status()>> put_back =
      SaveState(subject, arguments);
  if (!put_back.ok()) return std::nullopt;
  absl::StatusOr<std::vector<StepTime>> times =
      frontend::TimeSteps(compiled, arguments, kRepeats, *put_back);
  if (!times.ok()) return std::nullopt;
  double ours = 0, all = 0;
  for (const StepTime& step : *times) {
    all += step.microseconds;
    if (step.runner != StepRunner::kLibTorch) ours += step.microseconds;
  }
  return all > 0 ? std::optional<double>(ours / all) : std::nullopt;
}

}  // namespace

absl::StatusOr<int> Tune(const Options& options, Progress& progress) {
  AITUNE_ASSIGN_OR_RETURN(Subject subject, LoadSubject(options, progress));
  if (options.compile.compileTo != CompilePhase::Executable) {
    absl::StatusOr<std::string> ir = frontend::CompileToIr(
        subject.model, subject.inputs, MakeBuildOptions(options, progress));
    progress.Finish();
    if (!ir.ok()) return ir.status();
    std::cout << *ir << std::flush;
    return kSuccess;
  }
  AITUNE_RETURN_IF_ERROR(LoadPeer(options, subject));
  AITUNE_ASSIGN_OR_RETURN(auto compiled,
                          BuildSubject(options, subject, progress));
  Report report = StartReport(options, subject);

  AITUNE_ASSIGN_OR_RETURN(
      std::vector<std::vector<int64_t>> sizes,
      frontend::BoundarySizes(*compiled, subject.inputs, options.seed));
  AITUNE_ASSIGN_OR_RETURN(
      std::vector<frontend::InputCase> cases,
      frontend::CheckCases(subject.inputs, options.seed, sizes));
  frontend::ReferenceModels references(
      [&](const frontend::LoadOptions& load) {
        return frontend::Model::Load(options.model, load);
      },
      subject.device);
  frontend::CheckOptions check;
  check.tolerance = options.tolerance;
  check.bound = options.accuracy_bound;
  check.reference = [&](DataType dtype) { return references.Get(dtype); };
  check.progress = [&](int done, int total) {
    progress.Update("check against eager", done, total);
  };
  check.device = subject.device;
  check.source = &subject.model;
  absl::Status cannot_quantize;
  report.check = frontend::CheckAndRepair(
      [&](const frontend::ValueList& arguments) {
        return RunToTheEnd(*compiled, arguments);
      },
      subject.peer(), cases, check,
      [&](const frontend::ValueList& failed) {
        absl::StatusOr<bool> repaired = compiled->Repair(
            failed, [&](const std::string& phase, int done, int total) {
              progress.Update(phase, done, total);
            });
        if (!options.compile.quantization.empty() &&
            absl::IsFailedPrecondition(repaired.status()))
          cannot_quantize = repaired.status();
        return repaired;
      });
  const auto describe = [&compiled = compiled] {
    std::vector<frontend::BuiltVersion> versions;
    for (const frontend::CompiledModel* version : compiled->versions())
      versions.push_back(version->Describe());
    return versions;
  };
  AddBuild(describe(), subject.cache == nullptr ? subject.no_cache : "",
           report);
  const bool agrees = report.check->agrees();
  if (agrees && options.seconds > 0) {
    progress.Update("time", 0, 0);
    AITUNE_ASSIGN_OR_RETURN(const TimedCall call,
                            ChooseTimedCall(options, subject));
    report.timed_sizes = call.sizes;
    AITUNE_ASSIGN_OR_RETURN(
        report.timing, TimeSubject(options, subject, *compiled, call.arguments,
                                   {"eager", "torchscript"}));
    // Which part of such a step's time is compiled is not known.
    if (std::none_of(report.outlined.begin(), report.outlined.end(),
                     [](const auto& part) { return part.versions > 0; }))
      report.compiled_time_share =
          MeasureCompiledShare(subject, *compiled, call.arguments);
  }
  // Again: its arenas and graphs are made by its first calls.
  report.memory->executable = compiled->MemoryInBytes();
  if (report.gpu) {
    report.gpu->memory = compiled->MemoryInBytes();
    report.gpu->graph_reason = frontend::GraphReasonOf(describe());
  }
  progress.Finish();
  AITUNE_RETURN_IF_ERROR(
      Publish(options, report, options.explain ? ExplainText(report) : ""));
  if (!agrees && !cannot_quantize.ok())
    return absl::Status(
        cannot_quantize.code(),
        absl::StrCat("quantised, the model is too far from eager (see above): ",
                     cannot_quantize.message()));
  if (!agrees) {
    std::cerr << "aitune: the compiled model "
              << (report.check->compared() ? "differs from eager"
                                           : "could not be compared with eager")
              << "; do not use it (see above)\n";
  }
  return agrees ? kSuccess : kWrongResult;
}

}  // namespace aitune::cli
