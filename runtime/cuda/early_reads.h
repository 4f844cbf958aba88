// What a kernel of cuDNN reads before it has waited for the kernel in front.
//
// A kernel that is launched with programmatic stream serialization may start
// before the one in front of it has ended, and waits before it reads what that
// one writes (CUDA C++ Programming Guide, "Programmatic Dependent Launch").
// Those of cuDNN that fuse operations read the operands of these before they
// wait (cuDNN 9, H200), so that nothing may run beside them that writes such an
// operand.
#ifndef AITUNE_RUNTIME_CUDA_EARLY_READS_H_
#define AITUNE_RUNTIME_CUDA_EARLY_READS_H_

#include "runtime/plan/plan.pb.h"

namespace aitune::cuda {

// Whether `step`, a step of `plan` that calls cuDNN, has an operand beside its
// first two, the image and the filter, that is written during a call: neither a
// constant nor computed at load. An alias is the value that it reinterprets.
// Thread-safe.
bool ReadsWrittenOperand(const ExecutablePlan& plan, const Step& step);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_EARLY_READS_H_
