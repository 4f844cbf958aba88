// The memory in which candidates of one kernel run on a GPU, and what is done
// with one of them there: it is judged, recorded and timed. MeasureCuda.h says
// how candidates are compared. Internal to this folder.
#ifndef AITUNE_COMPILER_MEASURE_CUDABENCH_H
#define AITUNE_COMPILER_MEASURE_CUDABENCH_H

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/measure/KernelJudge.h"
#include "compiler/measure/Measure.h"
#include "compiler/measure/RaceInputs.h"
#include "compiler/measure/TestData.h"
#include "runtime/cuda/cuda_executable.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace aitune {

/// Not thread-safe. All arguments must outlive it.
class CudaBench {
public:
  CudaBench(const cuda::Device &device, const ExecutablePlan &plan,
            const std::set<int> &weights, KernelJudge *judge)
      : device(device), plan(plan), weights(weights), judge(judge),
        host(std::in_place, plan, weights, judge && judge->takesNonFinite()) {}

  /// Allocates what the plan's inputs and outputs take, and enough copies of
  /// the weights that none stays in the cache. To be called once, first.
  absl::Status prepare();
  /// Judges candidates (null: left out) on all inputs but the normal ones; a
  /// note for each that is wrong or does not run. Ends where the GPU is lost.
  absl::Status
  judgeAll(const std::vector<std::unique_ptr<cuda::CudaExecutable>> &candidates,
           std::vector<Measurement> &results);
  /// Runs a candidate twice on the normal inputs and judges and compares it
  /// with the first that was right.
  absl::Status check(const cuda::CudaExecutable &candidate,
                     Measurement &result);
  /// A graph of `launches` runs on the normal inputs, each with the next copy
  /// of the weights. judgeAll must come before.
  absl::StatusOr<cuda::Graph> record(const cuda::CudaExecutable &candidate,
                                     int launches);
  /// The microseconds that one run takes, with the time to launch it where the
  /// host is slower than the GPU.
  absl::StatusOr<double> timeOnce(const cuda::CudaExecutable &candidate);
  /// The microseconds that one launch of `graph` takes.
  absl::StatusOr<double> time(const cuda::Graph &graph);
  /// Keeps the error that a candidate ended with as its result. What the GPU
  /// does no longer do after it (isLost) is that candidate's fault: it was the
  /// first.
  void note(const absl::Status &error, Measurement &result);
  /// Whether the GPU refuses all calls of this process.
  bool isLost() const { return lost; }
  /// The number of copies of the weights.
  int copies() const { return copyCount; }

private:
  absl::Status setInputs(JudgedInputs set);
  absl::Status fill(const TensorView &view, const TestNumbers &numbers);
  absl::Status copyWeights();
  absl::Status judgeOn(JudgedInputs set);
  absl::Status runOnce(const cuda::CudaExecutable &candidate);
  absl::Status judgeOne(const cuda::CudaExecutable &candidate, JudgedInputs set,
                        Measurement &result);
  absl::StatusOr<double> timeOf(llvm::function_ref<absl::Status()> launch);
  absl::StatusOr<std::string> findDifference(JudgedInputs set);
  absl::StatusOr<std::string> findOverrun();
  absl::Status read(const TensorView &view, int64_t first, int64_t count,
                    char *to) const;
  std::vector<TensorView> inputsOf(int copy) const;
  std::vector<RegionValue> outputValues() const {
    return {outputs.begin(), outputs.end()};
  }
  absl::StatusOr<std::vector<std::string>> sample() const;

  const cuda::Device &device;
  const ExecutablePlan &plan;
  const std::set<int> &weights;
  KernelJudge *const judge; ///< null: nobody judges
  int copyCount = 1;        ///< how often the weights are there
  bool lost = false;        ///< the GPU refuses all calls
  /// The numbers of the inputs; none once all candidates are judged.
  std::optional<RaceInputs> host;
  std::vector<cuda::DeviceBuffer> memory;
  // The copies of each input, one or copyCount.
  std::vector<std::vector<TensorView>> inputs;
  std::vector<TensorView> outputs;
  std::vector<std::string> reference; // samples of the first that was right
  /// The memory for results that are judged, which is there once for all.
  std::vector<std::string> judgedResults;
  cuda::Stream stream;
  cuda::Event start, end;
};

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_CUDABENCH_H
