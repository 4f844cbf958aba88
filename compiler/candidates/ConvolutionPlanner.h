// Has cuDNN's execution plans made by processes of the program that generates
// code.
//
// cuDNN compiles most of its algorithms, in one thread of a process at a time:
// the candidates of a network of convolutions took 15 s in one. The processes
// use the GPU for it. Their number is small, since the driver opens a GPU for
// one process after the other, and all that this program asks of it waits
// meanwhile: on an H200 16 opened it in 1.8 s, and a plan takes 0.07 s then.
#ifndef AITUNE_COMPILER_CANDIDATES_CONVOLUTIONPLANNER_H
#define AITUNE_COMPILER_CANDIDATES_CONVOLUTIONPLANNER_H

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/GenerationProcesses.h"
#include "compiler/support/Parallel.h"
#include "runtime/cuda/device.h"
#include "runtime/plan/plan.pb.h"

namespace aitune {

/// The most processes that make plans.
constexpr int kMostPlanning = 10;

/// Thread-safe.
class ConvolutionPlanner {
public:
  /// Plans are made in processes of `options.worker`; empty: in none, and they
  /// are made at load. `options` has the limit of their time; what CUDA takes
  /// of the host's memory is not limited.
  ConvolutionPlanner(const cuda::Device &device,
                     const GenerationOptions &options);

  /// Has the processes open the GPU, so that the first plans need not wait for
  /// it. Returns at once.
  void open();

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

  std::shared_ptr<GenerationProcesses> processes() const {
    return GenerationProcesses::get(
        options.worker, count, GenerationProcesses::Purpose::ConvolutionPlans);
  }

  const cuda::Device &device;
  const GenerationOptions options;
  const int count; ///< the number of processes
  std::once_flag opened;
  BackgroundTasks opening; ///< requests to open the GPU, one a process
};

/// Opens the GPU that `request` names and starts cuDNN there, in this process.
absl::Status openForConvolutions(const WorkerOpenGpu &request);

/// The text of the plan that `request` asks for, made in this process.
absl::StatusOr<std::string> planConvolution(const WorkerConvolution &request);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CONVOLUTIONPLANNER_H
