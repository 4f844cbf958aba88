// The times that the steps and the submodules of a module take.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/module.h"
#include "frontend/api/module_calls.h"
#include "frontend/torchscript/submodule_calls.h"
#include "frontend/torchscript/submodule_times.h"
#include "frontend/values/gpu.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

// The most runs of Profile, whose times are all kept.
constexpr int kMaxRepeats = 10000;

// The kind of the one step of a model that LibTorch runs.
constexpr char kWholeModel[] = "model";

// Adds what the steps of a compiled model took. Where LibTorch runs the whole
// model, there is nothing to tell apart.
void AddCompiledTimes(
    const absl::StatusOr<std::vector<aitune::StepTime>>& steps,
    std::vector<aitune::frontend::SubmoduleTime>& submodules) {
  if (!steps.ok()) {
    aitune::Log(aitune::LogChannel::kWarning,
                absl::StrCat("the compiled steps could not be timed: ",
                             std::string(steps.status().message())));
    return;
  }
  for (const aitune::StepTime& step : *steps) {
    if (step.kind == kWholeModel) return;
  }
  for (aitune::frontend::SubmoduleTime& submodule : submodules) {
    double microseconds = 0;
    for (const aitune::StepTime& step : *steps) {
      if (submodule.path.empty() ||
          aitune::frontend::IsWithin(step.scope, submodule.path))
        microseconds += step.microseconds;
    }
    submodule.compiled_milliseconds = microseconds / 1000;
  }
}

}  // namespace

absl::StatusOr<std::vector<aitune::StepTime>> Module::Profile(
    const aitune::frontend::ValueList& arguments, int repeats) const {
  if (repeats < 1 || repeats > kMaxRepeats)
    return absl::InvalidArgumentError(
        absl::StrCat("a profile of ", repeats,
                     " runs was asked for; give 1 to ", kMaxRepeats));
  const ThreadsOfModule threads(threads_);
  AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                          aitune::Device::ParseCpuOrGpu(options_.device));
  if (const std::shared_ptr<aitune::Backend> backend = this->backend()) {
    AITUNE_RETURN_IF_ERROR(backend->TakeFailedCheck());
    AITUNE_ASSIGN_OR_RETURN(const aitune::Sample inputs,
                            source()->FlattenCall(arguments));
    auto times = backend->Profile(Values(inputs), repeats);
    if (times.ok()) {
      if (device.is_gpu()) aitune::frontend::WaitForStream(device);
      AITUNE_RETURN_IF_ERROR(backend->TakeFailedCheck());
    }
    if (!absl::IsUnimplemented(times.status())) return times;
  }
  AITUNE_ASSIGN_OR_RETURN(const std::function<absl::Status()> put_back,
                          source()->SaveArguments(arguments));
  std::vector<double> times;
  for (int i = 0; i <= repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    absl::Status ran = Run(arguments).status();
    if (device.is_gpu()) aitune::frontend::WaitForStream(device);
    if (ran.ok()) ran = TakeFailedCheck();
    times.push_back(std::chrono::duration<double, std::micro>(
                        std::chrono::steady_clock::now() - start)
                        .count());
    if (put_back) ran.Update(put_back());
    AITUNE_RETURN_IF_ERROR(ran);
  }
  times.erase(times.begin());
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  aitune::StepTime whole;
  whole.name = name();
  whole.kind = kWholeModel;
  whole.implementation = "LibTorch";
  whole.microseconds = times[repeats / 2];
  whole.runner = aitune::StepRunner::kLibTorch;
  return std::vector<aitune::StepTime>{std::move(whole)};
}

absl::StatusOr<std::vector<aitune::frontend::SubmoduleTime>> Module::Inspect(
    int repeats) {
  aitune::Sample sample;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (samples_.empty())
      return absl::FailedPreconditionError(absl::StrCat(
          name(), " can't be inspected without samples; call Record first"));
    sample = samples_.front().inputs;
  }
  const auto source = this->source();
  AITUNE_ASSIGN_OR_RETURN(const aitune::frontend::ValueList arguments,
                          source->Unflatten(sample));
  AITUNE_ASSIGN_OR_RETURN(
      std::vector<aitune::frontend::SubmoduleTime> times,
      aitune::frontend::TimeSubmodules(source->model(), arguments, repeats));
  // The runs of a profile are calls, which change the state of a model.
  if (!source->HasState()) {
    AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                            aitune::Device::ParseCpuOrGpu(options_.device));
    AddCompiledTimes(
        Profile(aitune::frontend::ToDevice(arguments, device), repeats), times);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  report_.submodules = times;
  return times;
}

}  // namespace ait
