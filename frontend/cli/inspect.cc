#include "absl/strings/str_cat.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/table.h"
#include "frontend/cli/time_subject.h"
#include "frontend/compiled_model/time_steps.h"
#include "runtime/backend/step_time.h"

namespace aitune::cli {
namespace {

// How often the trace calls each operator and how often LibTorch runs it.
std::string OperatorsText(const frontend::CompiledModel& compiled) {
  Table table({"operator", ">calls", ">by LibTorch"});
  for (const frontend::OperatorCount& op : compiled.report().operators) {
    table.AddRow({op.name, absl::StrCat(op.calls),
                  op.fallbacks > 0 ? absl::StrCat(op.fallbacks) : ""});
  }
  return absl::StrCat("\nOperators\n", table.ToString());
}

}  // namespace

absl::StatusOr<int> Inspect(const Options& options, Progress& progress) {
  absl::StatusOr<Subject> subject = LoadSubject(options, progress);
  if (!subject.ok()) return subject.status();
  auto compiled = BuildSubject(options, *subject, progress);
  if (!compiled.ok()) return compiled.status();
  absl::StatusOr<frontend::ValueList> arguments =
      TypicalCall(options, *subject);
  if (!arguments.ok()) return arguments.status();
  absl::StatusOr<std::function<absl::Status()>> put_back = SaveState(*subject);
  if (!put_back.ok()) return put_back.status();
  progress.Update("profile", 0, 0);
  absl::StatusOr<std::vector<StepTime>> steps =
      frontend::TimeSteps(**compiled, *arguments, options.repeats, *put_back);
  if (!steps.ok()) return steps.status();

  Report report = StartReport(options, *subject, **compiled);
  report.steps = *std::move(steps);
  progress.Finish();
  absl::Status published =
      Publish(options, report,
              OperatorsText(**compiled) + StepsText(report, options.top));
  if (!published.ok()) return published;
  return kSuccess;
}

}  // namespace aitune::cli
