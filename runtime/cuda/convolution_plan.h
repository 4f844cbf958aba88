// cuDNN's execution plans as texts, for other processes.
//
// cuDNN compiles most of its algorithms when a plan is made, and in one thread
// of a process at a time. So whoever wants many plans has them made in several
// processes, and puts the texts into ConvolutionCall::execution_plans, from
// which a plan is made without compiling.
#ifndef AITUNE_RUNTIME_CUDA_CONVOLUTION_PLAN_H_
#define AITUNE_RUNTIME_CUDA_CONVOLUTION_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/library_call.h"
#include "runtime/plan/plan.pb.h"

namespace aitune::cuda {

// Does what the first plan on a GPU waits for beside its own compilation: loads
// cuDNN, and starts it there. What fails fails again, with a reason, when a
// plan is made. Thread-safe.
void LoadConvolutionLibrary(const Device& device);

// The text of the plan (JSON with machine code, some 100 kB) that
// PrepareConvolution would make of the same call. kNotFound without cuDNN, or
// if its list has no position call.algorithm(); kUnimplemented, with the
// reason, if cuDNN cannot run the call or write its plan: it writes those of
// algorithms that it compiles. Thread-safe, but one thread compiles at a time.
absl::StatusOr<std::string> PlanConvolution(const Device& device,
                                            const ConvolutionCall& call,
                                            absl::Span<const Operand> inputs,
                                            const Operand& output);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_CONVOLUTION_PLAN_H_
