// aitune deploy: times backends, chooses one by a strategy, saves it.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/api/backend_choice.h"
#include "frontend/api/module.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/memory.h"
#include "frontend/cli/output_files.h"
#include "frontend/cli/table.h"
#include "frontend/torchscript/model_tensors.h"
#include "runtime/backend/registry.h"
#include "runtime/bundle/bundle_signature.h"
#include "runtime/status/status_macros.h"
#include "runtime/strategy/strategy.h"

namespace aitune::cli {
namespace {

constexpr size_t kShownSubmodules = 10;

std::string ReportText(const ait::TuneReport& report) {
  std::string text = absl::StrFormat("model      %s\ninputs     %s\n",
                                     report.module, report.inputs);
  absl::StrAppend(&text, "strategy   ", report.strategy, "\n\n");
  Table timings({"backend", ">batch", ">median ms", ">95 % interval", ">p99 ms",
                 ">items/s"});
  std::string reasons;
  for (const BackendReport& backend : report.backends) {
    std::string name = backend.name();
    if (!backend.reason.empty())
      absl::StrAppend(&reasons, "  ", name, ": ", backend.reason, "\n");
    for (const std::string& note : backend.notes)
      absl::StrAppend(&reasons, "  ", name, ": ", note, "\n");
    for (const TimedBatch& timing : backend.timings) {
      timings.AddRow({name, absl::StrCat(timing.batch),
                      absl::StrFormat("%.3f", timing.latency.median),
                      absl::StrFormat("%.3f .. %.3f", timing.latency.median_low,
                                      timing.latency.median_high),
                      absl::StrFormat("%.3f", timing.latency.p99),
                      absl::StrFormat("%.1f", timing.throughput())});
      name.clear();
    }
  }
  if (!timings.empty()) absl::StrAppend(&text, timings.ToString(), "\n");
  absl::StrAppend(&text, reasons);
  Table submodules(
      {"submodule", "class", ">ms in eager", ">share", ">ms compiled"});
  for (size_t i = 0; i < std::min(kShownSubmodules, report.submodules.size());
       ++i) {
    const frontend::SubmoduleTime& time = report.submodules[i];
    submodules.AddRow(
        {time.path.empty() ? "(model)" : time.path, time.type,
         absl::StrFormat("%.3f", time.milliseconds),
         absl::StrFormat("%.0f %%", 100 * time.share),
         time.compiled_milliseconds
             ? absl::StrFormat("%.3f", *time.compiled_milliseconds)
             : "-"});
  }
  if (!submodules.empty())
    absl::StrAppend(&text, "\n", submodules.ToString(), "\n");
  return text;
}

// The checkpoint that --save made: its lines, by their titles, which are the
// fields of the JSON.
using SavedLines = std::vector<std::pair<std::string, std::string>>;

std::string LinesText(const SavedLines& lines) {
  std::string text;
  for (const auto& [title, value] : lines)
    absl::StrAppendFormat(&text, "%-10s %s\n", title, value);
  return text;
}

// The report in the forms that the options ask for, with that of the chosen
// backend's build, in the words and fields of `tune`, and `chosen` and `saved`
// after it.
absl::Status PublishReport(const Options& options,
                           const ait::TuneReport& report, const Report& build,
                           const SavedLines& chosen, const SavedLines& saved) {
  if (!options.html.empty()) {
    AITUNE_RETURN_IF_ERROR(
        WriteOutputFile("--html", options.html, ait::ReportHtml(report)));
  }
  nlohmann::json object = nlohmann::json::parse(ait::ReportJson(report));
  const nlohmann::json of_build = ToJson(build);
  for (const auto& [name, value] : of_build.items()) {
    if (!object.contains(name)) object[name] = value;
  }
  for (const auto& [title, value] : saved) object[title] = value;
  return PublishText(
      options,
      absl::StrCat(ReportText(report), "\n", BuildText(build),
                   options.explain ? ExplainText(build) : "", LinesText(chosen),
                   LinesText(saved)),
      object.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// Refuses a name that no backend has. What is wrong with its configuration is
// said when it is made.
absl::Status CheckBackend(const std::string& name) {
  absl::Status status = CreateBackend(name).status();
  return absl::IsNotFound(status) ? status : absl::OkStatus();
}

bool Compiles(const ait::BackendChoice& backend) {
  return backend.first == "TorchInductorBackend" ||
         backend.first == "TorchAOBackend";
}

// Refuses batch sizes that are not in the range of --input.
absl::Status CheckBatches(absl::Span<const int64_t> batches,
                          const frontend::ModelInputs& inputs) {
  AITUNE_ASSIGN_OR_RETURN(const frontend::SymbolAssignment assignment,
                          frontend::AssignSymbols(inputs.specs));
  if (assignment.symbols.empty()) return absl::OkStatus();
  const frontend::SymbolSpec& range = assignment.symbols[0];
  for (const int64_t batch : batches) {
    if (batch < range.min || batch > range.max)
      return absl::InvalidArgumentError(absl::StrCat(
          "--batches has ", batch, ", which is not in the range ", range.min,
          "..", range.max, " of the first dynamic axis"));
  }
  return absl::OkStatus();
}

// Refuses models that checkpoints can't name.
absl::Status CheckCanBeSaved(const Options& options,
                             const frontend::Model& model) {
  const absl::Status named = frontend::ModelSha256(model).status();
  if (named.ok()) return named;
  return absl::Status(
      named.code(),
      absl::StrCat("--save ", options.save, ": ", options.model,
                   " can't be saved: ", named.message(), "; leave --save out"));
}

absl::StatusOr<SavedLines> Save(const Options& options,
                                const ait::Module& module) {
  AITUNE_ASSIGN_OR_RETURN(const std::string digest,
                          module.Save(options.save, SavedFormat(options)));
  SavedLines lines = {{"saved", options.save}, {"digest", digest}};
  if (!options.sign.empty()) {
    AITUNE_RETURN_IF_ERROR(SignBundle(options.save, digest, options.sign));
    lines.emplace_back("signature", SignaturePath(options.save).string());
  }
  return lines;
}

}  // namespace

absl::StatusOr<int> Deploy(const Options& options, Progress& progress) {
  // Before the minutes that tuning takes.
  if (!options.sign.empty())
    AITUNE_RETURN_IF_ERROR(CheckSigningKey(options.sign));
  AITUNE_ASSIGN_OR_RETURN(
      const std::unique_ptr<Strategy> strategy,
      StrategyByName(
          options.latency_budget > 0 ? "LatencyBudget" : options.strategy,
          options.latency_budget));
  ait::TuneOptions tuning;
  for (const std::string& text : options.backends) {
    AITUNE_ASSIGN_OR_RETURN(ait::BackendChoice choice,
                            ait::ParseBackendChoice(text));
    AITUNE_RETURN_IF_ERROR(CheckBackend(choice.first));
    tuning.backends.push_back(std::move(choice));
  }
  if (!tuning.backends.empty() &&
      std::none_of(tuning.backends.begin(), tuning.backends.end(), Compiles))
    AITUNE_RETURN_IF_ERROR(RefuseOptions(options, kCompilerOptions,
                                         "no backend of --backend compiles"));
  tuning.batches = options.batches;
  tuning.tolerance = options.tolerance;
  tuning.timing.milliseconds = 1000 * options.seconds;
  AITUNE_ASSIGN_OR_RETURN(Subject subject, LoadSubject(options, progress));
  if (!options.save.empty())
    AITUNE_RETURN_IF_ERROR(CheckCanBeSaved(options, subject.model));
  AITUNE_RETURN_IF_ERROR(CheckBatches(options.batches, subject.inputs));
  tuning.inputs = subject.inputs;
  tuning.seed = options.seed;
  Report build = StartReport(options, subject);
  ait::ModuleOptions module_options;
  module_options.compile = MakeBuildOptions(options, progress).compile;
  module_options.compile.device = CompileOptions().device;
  module_options.use_default_tuning_database = false;
  module_options.name = std::filesystem::path(options.model).stem().string();
  module_options.device = options.compile.device;
  if (subject.cache != nullptr)
    module_options.cache_dir = subject.cache->folder();
  std::unique_ptr<ait::Module> module = ait::Module::Wrap(
      std::make_shared<const frontend::Model>(std::move(subject.model)),
      std::move(module_options));
  AITUNE_RETURN_IF_ERROR(module->RecordInputs(subject.inputs, options.seed));
  progress.Update("build and time backends", 0, 0);
  ResetPeakBytes();
  const absl::Status tuned = module->Tune(*strategy, tuning);
  build.memory->peak_compiling = PeakBytes();
  progress.Update("time submodules", 0, 0);
  AITUNE_RETURN_IF_ERROR(module->Inspect().status());
  const ait::TuneReport report = module->report();
  if (const ait::BackendDetails* chosen = report.chosen()) {
    AddBuild(chosen->versions, subject.cache == nullptr ? subject.no_cache : "",
             build);
    build.check = chosen->check;
  }
  SavedLines chosen, saved;
  if (tuned.ok()) {
    chosen.emplace_back("chosen", module->Describe());
    if (!options.save.empty()) {
      progress.Update("save", 0, 0);
      AITUNE_ASSIGN_OR_RETURN(saved, Save(options, *module));
    }
  }
  progress.Finish();
  AITUNE_RETURN_IF_ERROR(PublishReport(options, report, build, chosen, saved));
  if (!tuned.ok()) return tuned;
  return kSuccess;
}

}  // namespace aitune::cli
