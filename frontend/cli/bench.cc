#include <ATen/core/ivalue.h>

#include <chrono>
#include <iostream>
#include <string>

#include "absl/strings/str_format.h"
#include "frontend/cli/commands.h"
#include "frontend/values/gpu.h"

namespace aitune::cli {
namespace {

// One call for each line of stdin, until its end.
absl::StatusOr<int> RunPaced(const Options& options, const Subject& subject,
                             const frontend::CompiledModel& compiled,
                             const Report& report) {
  absl::StatusOr<frontend::ValueList> arguments = TypicalCall(options, subject);
  if (!arguments.ok()) return arguments.status();
  std::unique_ptr<frontend::GpuClock> clock;
  if (subject.device.is_gpu()) {
    absl::StatusOr<std::unique_ptr<frontend::GpuClock>> made =
        frontend::GpuClock::Create(subject.device);
    if (!made.ok()) return made.status();
    clock = *std::move(made);
  }
  auto run = [&]() -> absl::StatusOr<double> {
    if (clock) {
      return clock->Time([&] { return compiled.Run(*arguments).status(); });
    }
    const auto start = std::chrono::steady_clock::now();
    absl::Status status = compiled.Run(*arguments).status();
    if (!status.ok()) return status;
    const std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    return time.count();
  };
  std::cout << ToJson(report).dump() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    absl::StatusOr<double> milliseconds = run();
    if (!milliseconds.ok()) return milliseconds.status();
    std::cout << absl::StrFormat("%.6f", *milliseconds) << std::endl;
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
