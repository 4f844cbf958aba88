#include "absl/strings/str_cat.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/table.h"
#include "frontend/cli/time_subject.h"
#include "frontend/compiled_model/time_steps.h"
#include "runtime/backend/step_time.h"
#include "runtime/status/status_macros.h"

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
  AITUNE_ASSIGN_OR_RETURN(Subject subject, LoadSubject(options, progress));
  AITUNE_ASSIGN_OR_RETURN(auto compiled,
                          BuildSubject(options, subject, progress));
  AITUNE_ASSIGN_OR_RETURN(const TimedCall call,
                          ChooseTimedCall(options, subject));
  AITUNE_ASSIGN_OR_RETURN(std::function<absl::Status()> put_back,
                          SaveState(subject, call.arguments));
  progress.Update("profile", 0, 0);
  AITUNE_ASSIGN_OR_RETURN(std::vector<StepTime> steps,
                          frontend::TimeSteps(*compiled, call.arguments,
                                              options.repeats, put_back));

  Report report = StartReport(options, subject, *compiled);
  report.timed_sizes = call.sizes;
  report.steps = std::move(steps);
  progress.Finish();
  AITUNE_RETURN_IF_ERROR(
      Publish(options, report,
              OperatorsText(*compiled) + StepsText(report, options.top)));
  return kSuccess;
}

}  // namespace aitune::cli
