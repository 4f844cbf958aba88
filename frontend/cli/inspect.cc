#include "absl/strings/str_cat.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/table.h"
#include "runtime/plan/plan.h"

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

absl::StatusOr<std::vector<StepRow>> StepRows(
    const ExecutablePlan& plan, const std::vector<StepProfile>& profile,
    const std::vector<int64_t>& symbols) {
  std::vector<StepRow> rows;
  for (int i = 0; i < plan.steps_size(); ++i) {
    const Step& step = plan.steps(i);
    StepRow row;
    row.name = step.name();
    row.kind = step.kind();
    row.implementation =
        step.has_fallback() ? "LibTorch" : step.implementation();
    row.location = step.location();
    if (i < static_cast<int>(profile.size())) {
      row.microseconds = profile[i].microseconds;
    }
    if (step.has_flops()) {
      absl::StatusOr<SizeExpression> flops =
          FromProto(step.flops(), plan.symbols_size());
      if (!flops.ok()) return flops.status();
      row.flops = static_cast<double>(flops->Evaluate(symbols));
    }
    rows.push_back(std::move(row));
  }
  return rows;
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
  absl::StatusOr<std::vector<int64_t>> symbols =
      (*compiled)->SymbolValues(*arguments);
  if (!symbols.ok()) return symbols.status();
  progress.Update("profile", 0, 0);
  absl::StatusOr<std::vector<StepProfile>> profile =
      (*compiled)->Profile(*arguments, options.repeats);
  if (!profile.ok()) return profile.status();

  Report report = StartReport(options, *subject, **compiled);
  absl::StatusOr<std::vector<StepRow>> rows =
      StepRows((*compiled)->plan(), *profile, *symbols);
  if (!rows.ok()) return rows.status();
  report.steps = *std::move(rows);
  progress.Finish();
  absl::Status published =
      Publish(options, report,
              OperatorsText(**compiled) + StepsText(report, options.top));
  if (!published.ok()) return published;
  return kSuccess;
}

}  // namespace aitune::cli
