// The time that each step of a module takes.
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/module.h"
#include "frontend/api/module_calls.h"
#include "frontend/values/gpu.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

// The most runs of Profile, whose times are all kept.
constexpr int kMaxRepeats = 10000;

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
  std::vector<double> times;
  for (int i = 0; i <= repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    AITUNE_RETURN_IF_ERROR(Run(arguments).status());
    if (device.is_gpu()) aitune::frontend::WaitForStream(device);
    AITUNE_RETURN_IF_ERROR(TakeFailedCheck());
    times.push_back(std::chrono::duration<double, std::micro>(
                        std::chrono::steady_clock::now() - start)
                        .count());
  }
  times.erase(times.begin());
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  aitune::StepTime whole;
  whole.name = name();
  whole.kind = "model";
  whole.implementation = "LibTorch";
  whole.microseconds = times[repeats / 2];
  whole.runner = aitune::StepRunner::kLibTorch;
  return std::vector<aitune::StepTime>{std::move(whole)};
}

}  // namespace ait
