// Has cuDNN's execution plans made by the processes that generate code.
//
// cuDNN compiles most of its algorithms, in one thread of a process at a time:
// the candidates of a network of convolutions took 15 s in one. The processes
// use the GPU for it, so that only some of them are asked at a time.
#ifndef AITUNE_COMPILER_CANDIDATES_CONVOLUTIONPLANNER_H
#define AITUNE_COMPILER_CANDIDATES_CONVOLUTIONPLANNER_H

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/GenerationProcesses.h"
#include "runtime/cuda/device.h"
#include "runtime/plan/plan.pb.h"

namespace aitune {

/// The most processes that make plans at a time.
constexpr int kMostPlanning = 16;

/// Thread-safe.
class ConvolutionPlanner {
public:
  /// Plans are made in `processes`; null: in none. `options` has the limit of
  /// their time; what CUDA takes of the host's memory is not limited.
  ConvolutionPlanner(const cuda::Device &device,
                     std::shared_ptr<GenerationProcesses> processes,
                     const GenerationOptions &options);

  /// Sets ConvolutionCall::execution_plans of the steps of `plan` that call
  /// cuDNN, for the largest and the smallest values of the plan's symbols. What
  /// no process can plan stays as it is, to be planned at load. kNotFound if
  /// cuDNN's list has not the algorithm of one of them for the largest.
  absl::Status planAll(ExecutablePlan &plan);

private:
  static GenerationOptions withoutMemoryLimit(GenerationOptions options) {
    options.kernelBytes = 0;
    return options;
  }
  absl::Status planStep(const ExecutablePlan &plan,
                        absl::Span<const int64_t> symbols, Step &step);

  const cuda::Device &device;
  const std::shared_ptr<GenerationProcesses> processes;
  const GenerationOptions options;
  const int mostAsked; ///< processes at a time
  std::mutex mutex;
  std::condition_variable answered;
  int asked = 0; ///< the requests that are under way
};

/// The text of the plan that `request` asks for, made in this process.
absl::StatusOr<std::string> planConvolution(const WorkerConvolution &request);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CONVOLUTIONPLANNER_H
