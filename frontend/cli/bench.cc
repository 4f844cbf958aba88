#include <ATen/core/ivalue.h>

#include <chrono>
#include <iostream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/output_files.h"
#include "frontend/values/gpu.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

constexpr absl::string_view kSave = "save ";
constexpr int kMostCalls = 1000000;

// The time of `calls` calls, one queued behind the other, in milliseconds.
absl::StatusOr<double> TimeCalls(const frontend::CompiledModel& compiled,
                                 const frontend::ValueList& arguments,
                                 const frontend::GpuClock* clock, int calls) {
  auto run = [&]() -> absl::Status {
    for (int call = 0; call < calls; ++call)
      AITUNE_RETURN_IF_ERROR(compiled.Run(arguments).status());
    return absl::OkStatus();
  };
  if (clock != nullptr) return clock->Time(run);
  const auto start = std::chrono::steady_clock::now();
  AITUNE_RETURN_IF_ERROR(run());
  const std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  return time.count();
}

// Does what each line of stdin asks for, until its end. An empty line is one
// call, answered with its milliseconds; a number that many calls, which a GPU
// does not wait between, answered with the milliseconds of one; `save FILE` one
// call whose result goes to FILE, answered with the name.
absl::StatusOr<int> RunPaced(const Options& options, const Subject& subject,
                             const frontend::CompiledModel& compiled,
                             const Report& report) {
  AITUNE_ASSIGN_OR_RETURN(const frontend::ValueList arguments,
                          TypicalCall(options, subject));
  std::unique_ptr<frontend::GpuClock> clock;
  if (subject.device.is_gpu()) {
    AITUNE_ASSIGN_OR_RETURN(clock, frontend::GpuClock::Create(subject.device));
  }
  std::cout << ToJson(report).dump() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    absl::string_view path = line;
    if (absl::ConsumePrefix(&path, kSave)) {
      AITUNE_ASSIGN_OR_RETURN(const c10::IValue result,
                              compiled.Run(arguments));
      AITUNE_RETURN_IF_ERROR(
          SaveResult(std::string(absl::StripSuffix(kSave, " ")),
                     std::string(path), frontend::ToCpu(result)));
      std::cout << path << std::endl;
      continue;
    }
    int calls = 1;
    if (!line.empty() &&
        (!absl::SimpleAtoi(line, &calls) || calls < 1 || calls > kMostCalls)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--paced: the line '", line,
          "' is no number of calls; write an empty line for one, a number from "
          "1 to ",
          kMostCalls, ", or save FILE"));
    }
    AITUNE_ASSIGN_OR_RETURN(const double milliseconds,
                            TimeCalls(compiled, arguments, clock.get(), calls));
    std::cout << absl::StrFormat("%.6f", milliseconds / calls) << std::endl;
  }
  return kSuccess;
}

}  // namespace

absl::StatusOr<int> Bench(const Options& options, Progress& progress) {
  absl::StatusOr<Subject> subject = LoadSubject(options, progress);
  if (!subject.ok()) return subject.status();
  auto compiled = BuildSubject(options, *subject, progress);
  if (!compiled.ok()) return compiled.status();
  Report report = StartReport(options, *subject, **compiled);
  if (options.paced) {
    progress.Finish();
    return RunPaced(options, *subject, **compiled, report);
  }
  if (absl::Status loaded = LoadPeer(options, *subject); !loaded.ok())
    return loaded;
  progress.Update("time", 0, 0);
  absl::StatusOr<std::vector<TimingRow>> rows =
      TimeSubject(options, *subject, **compiled, options.against);
  if (!rows.ok()) return rows.status();
  report.timing = *std::move(rows);
  progress.Finish();
  absl::Status published = Publish(options, report, "");
  if (!published.ok()) return published;
  return kSuccess;
}

}  // namespace aitune::cli
