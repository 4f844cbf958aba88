// A TorchScript model compiled for this machine: what an embedder calls, and
// what the command line is made of.
//
//   auto model = Model::Load("model.pt");
//   auto compiled = CompiledModel::Build(*model, {specs, samples}, {});
//   auto result = (*compiled)->Run(arguments);   // any nesting, any thread
#ifndef AITUNE_FRONTEND_SESSION_COMPILED_MODEL_H_
#define AITUNE_FRONTEND_SESSION_COMPILED_MODEL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/session/compile_trace.h"
#include "frontend/session/model_inputs.h"
#include "frontend/torchscript/build_trace.h"
#include "frontend/torchscript/model.h"
#include "runtime/cuda/cuda_executable.h"
#include "runtime/executable/executable.h"

namespace aitune::frontend {

struct BuildOptions {
  CompileOptions compile;
  TraceOptions trace;
};

class CompiledModel {
 public:
  // Traces, compiles and loads `model` for inputs of these kinds; the model is
  // only read. Errors: kInvalidArgument when the inputs do not fit forward or
  // the model raises for them, and those of CompileTrace and Executable::Load.
  // Takes seconds; options.compile.progress tells where it is.
  static absl::StatusOr<std::unique_ptr<CompiledModel>> Build(
      const Model& model, const ModelInputs& inputs,
      const BuildOptions& options);

  // Runs the model on tensors of the device that it was compiled for (on a GPU
  // queued on LibTorch's current stream) in the nesting and dtypes it was built
  // for, with dynamic axes in their ranges. Inputs are read in place when they
  // are contiguous; the result is freshly allocated. kInvalidArgument names
  // what does not fit. Thread-safe; concurrent calls run concurrently.
  absl::StatusOr<c10::IValue> Run(const ValueList& arguments) const;

  // The median time of each step over `repeats` runs, in the plan's order.
  absl::StatusOr<std::vector<StepProfile>> Profile(const ValueList& arguments,
                                                   int repeats) const;

  const Trace& trace() const { return trace_; }
  const CompiledTrace& compiled() const { return compiled_; }
  const ExecutablePlan& plan() const {
    return cuda_executable_ ? cuda_executable_->plan() : executable_->plan();
  }
  // The GPU that it was compiled for; -1: the CPU.
  int gpu() const { return gpu_; }
  // Why a model on a GPU runs without a CUDA graph; empty when it has one.
  std::string GraphReason() const {
    return cuda_executable_ ? cuda_executable_->GraphReason() : "";
  }
  // Arenas, packed constants and library scratch now held; on a GPU its memory.
  int64_t MemoryInBytes() const {
    return cuda_executable_ ? cuda_executable_->MemoryInBytes()
                            : executable_->MemoryInBytes();
  }
  // Phase and seconds, in order: trace, import, the compiler's, load.
  const std::vector<std::pair<std::string, double>>& phase_seconds() const {
    return phase_seconds_;
  }

  // The values of the trace's symbols for these arguments, for CountFlops.
  absl::StatusOr<std::vector<int64_t>> SymbolValues(
      const ValueList& arguments) const;

 private:
  CompiledModel() = default;
  Trace trace_;
  CompiledTrace compiled_;
  absl::Status Load(std::vector<ConstantTensor> constants,
                    std::vector<std::unique_ptr<FallbackRegion>> regions);
  // One of both.
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<cuda::CudaExecutable> cuda_executable_;
  int gpu_ = -1;
  std::vector<std::pair<std::string, double>> phase_seconds_;
};

// The IR of `phase` for `model`: what --compile-to prints.
absl::StatusOr<std::string> CompileToIr(const Model& model,
                                        const ModelInputs& inputs,
                                        const BuildOptions& options);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_SESSION_COMPILED_MODEL_H_
