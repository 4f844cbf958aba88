#include <ATen/core/ivalue.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/barrier.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/output_files.h"
#include "frontend/cli/time_subject.h"
#include "frontend/values/gpu.h"
#include "runtime/cpu/cpu_quota.h"
#include "runtime/cuda/device.h"
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

// Threads that call a model at once, on a GPU each on a stream of its own,
// which it keeps: a model keeps memory and graphs for each stream.
class Callers {
 public:
  Callers(const frontend::CompiledModel& compiled,
          const frontend::ValueList& arguments, const Device& device)
      : compiled_(compiled), arguments_(arguments), device_(device) {}

  // The milliseconds from when `threads` threads begin to make `calls` calls
  // each, which do not wait for the GPU, until all results are there.
  absl::StatusOr<double> Time(int threads, int calls) {
    AITUNE_RETURN_IF_ERROR(MakeStreams(threads));
    std::vector<absl::Status> failed(threads);
    absl::Barrier all_ready(threads + 1), all_started(threads + 1);
    std::vector<std::thread> callers;
    for (int i = 0; i < threads; ++i) {
      callers.emplace_back([&, i] {
        std::optional<frontend::ScopedStream> stream;
        if (device_.is_gpu()) stream.emplace(device_, streams_[i].get());
        all_ready.Block();
        all_started.Block();
        for (int call = 0; call < calls && failed[i].ok(); ++call)
          failed[i] = compiled_.Run(arguments_).status();
        if (device_.is_gpu()) failed[i].Update(streams_[i].Synchronize());
      });
    }
    all_ready.Block();
    const auto start = std::chrono::steady_clock::now();
    all_started.Block();
    for (std::thread& caller : callers) caller.join();
    const std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    for (const absl::Status& status : failed) AITUNE_RETURN_IF_ERROR(status);
    return time.count();
  }

 private:
  absl::Status MakeStreams(int threads) {
    if (!device_.is_gpu()) return absl::OkStatus();
    // The arguments are copied to the GPU on another stream.
    frontend::WaitForStream(device_);
    AITUNE_ASSIGN_OR_RETURN(const cuda::Device* gpu,
                            cuda::Device::Open(device_.gpu()));
    while (streams_.size() < static_cast<size_t>(threads)) {
      AITUNE_ASSIGN_OR_RETURN(streams_.emplace_back(),
                              cuda::Stream::Create(*gpu));
    }
    return absl::OkStatus();
  }

  const frontend::CompiledModel& compiled_;
  const frontend::ValueList& arguments_;
  const Device device_;
  std::vector<cuda::Stream> streams_;
};

// What a line of numbers asks for.
struct AskedCalls {
  int calls = 1;
  int threads = 0;  // none: the calls are made in this one
};

absl::StatusOr<AskedCalls> ParseCalls(absl::string_view line) {
  AskedCalls asked;
  const std::vector<absl::string_view> numbers =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  const auto is_number = [](absl::string_view text, int most, int& number) {
    return absl::SimpleAtoi(text, &number) && number >= 1 && number <= most;
  };
  if (numbers.size() > 2 ||
      (!numbers.empty() && !is_number(numbers[0], kMostCalls, asked.calls)) ||
      (numbers.size() == 2 &&
       !is_number(numbers[1], kMostThreads, asked.threads))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--paced: the line '", line,
        "' is no number of calls; write an empty line for one, a number from "
        "1 to ",
        kMostCalls, ", behind it a number of threads from 1 to ", kMostThreads,
        " that each make that many, or save FILE"));
  }
  return asked;
}

// Does what each line of stdin asks for, until its end. An empty line is one
// call, answered with its milliseconds; a number that many calls, which a GPU
// does not wait between, answered with the milliseconds of one; two numbers
// that many calls of each of that many threads, answered with the time until
// all were done, over the number of all calls; `save FILE` one call whose
// result goes to FILE, answered with the name. Each line finds the model's
// state, and the elements of the arguments, as they were.
absl::StatusOr<int> RunPaced(const Options& options, const Subject& subject,
                             const frontend::CompiledModel& compiled,
                             const Report& report) {
  AITUNE_ASSIGN_OR_RETURN(const TimedCall call,
                          ChooseTimedCall(options, subject));
  const frontend::ValueList& arguments = call.arguments;
  std::unique_ptr<frontend::GpuClock> clock;
  if (subject.device.is_gpu()) {
    AITUNE_ASSIGN_OR_RETURN(clock, frontend::GpuClock::Create(subject.device));
  }
  Callers callers(compiled, arguments, subject.device);
  AITUNE_ASSIGN_OR_RETURN(const std::function<absl::Status()> put_back,
                          SaveState(subject, arguments));
  std::cout << ToJson(report).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace)
            << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (put_back) AITUNE_RETURN_IF_ERROR(put_back());
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
    AITUNE_ASSIGN_OR_RETURN(const AskedCalls asked, ParseCalls(line));
    double milliseconds = 0;
    if (asked.threads > 0) {
      AITUNE_ASSIGN_OR_RETURN(milliseconds,
                              callers.Time(asked.threads, asked.calls));
      milliseconds /= asked.threads;
    } else {
      AITUNE_ASSIGN_OR_RETURN(
          milliseconds,
          TimeCalls(compiled, arguments, clock.get(), asked.calls));
    }
    std::cout << absl::StrFormat("%.6f", milliseconds / asked.calls)
              << std::endl;
  }
  return kSuccess;
}

}  // namespace

absl::StatusOr<int> Bench(const Options& options, Progress& progress) {
  AITUNE_ASSIGN_OR_RETURN(Subject subject, LoadSubject(options, progress));
  AITUNE_ASSIGN_OR_RETURN(auto compiled,
                          BuildSubject(options, subject, progress));
  Report report = StartReport(options, subject, *compiled);
  if (options.paced) {
    progress.Finish();
    return RunPaced(options, subject, *compiled, report);
  }
  AITUNE_RETURN_IF_ERROR(LoadPeer(options, subject));
  progress.Update("time", 0, 0);
  AITUNE_ASSIGN_OR_RETURN(const TimedCall call,
                          ChooseTimedCall(options, subject));
  report.timed_sizes = call.sizes;
  AITUNE_ASSIGN_OR_RETURN(
      report.timing, TimeSubject(options, subject, *compiled, call.arguments,
                                 options.against));
  progress.Finish();
  AITUNE_RETURN_IF_ERROR(Publish(options, report, ""));
  return kSuccess;
}

}  // namespace aitune::cli
