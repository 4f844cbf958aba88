// The calling convention between an executable plan and generated CPU code.
//
// One signature for every kernel: a plan can then be a table of function
// pointers, and the thread pool can split any kernel without knowing what it
// computes.
#ifndef AITUNE_RUNTIME_EXECUTABLE_KERNEL_ABI_H_
#define AITUNE_RUNTIME_EXECUTABLE_KERNEL_ABI_H_

#include <cstdint>

namespace aitune {

// Computes the work units [begin, end) of a kernel.
// - buffers[i]: the i-th input, then the i-th output, each dense row-major and
//   aligned to the element (64-byte aligned when the plan owns it). An output
//   never overlaps an input unless the plan says so.
// - symbols[i]: the value of the plan's symbol s`i`, from which the kernel
//   computes every dynamic size.
// Different threads call with disjoint ranges at the same time; a kernel keeps
// no state and needs no scratch memory but its stack.
using KernelFunction = void (*)(void* const* buffers, const int64_t* symbols,
                                int64_t begin, int64_t end);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_KERNEL_ABI_H_
