// The calling convention between an executable plan and generated CPU code.
//
// One signature for every kernel: a plan can then be a table of function
// pointers, and the thread pool can split any kernel without knowing what it
// computes.
#ifndef AITUNE_RUNTIME_CPU_KERNEL_ABI_H_
#define AITUNE_RUNTIME_CPU_KERNEL_ABI_H_

#include <cstdint>

namespace aitune {

// The result of one of a kernel's checks, for example that an index is out of
// range. Kernels only ever set it, from any thread; the reader clears it.
struct KernelCheck {
  int64_t failed = 0;  // 1: an element failed
  int64_t value = 0;   // an element that failed
};

// Computes the work units [begin, end) of a kernel.
// - buffers[i]: the i-th input, then the i-th output, each dense row-major and
//   aligned to the element (64-byte aligned when the plan owns it). An output
//   never overlaps an input unless the plan says so. After the outputs, if the
//   step has checks: KernelCheck[number of checks].
// - symbols[i]: the value of the plan's symbol s`i`, from which the kernel
//   computes every dynamic size.
// Different threads call with disjoint ranges at the same time; a kernel keeps
// no state and needs no scratch memory but its stack.
using KernelFunction = void (*)(void* const* buffers, const int64_t* symbols,
                                int64_t begin, int64_t end);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_KERNEL_ABI_H_
