// Which addresses the steps of an instance are called with, and where each
// comes from: numbered once, so that a call only patches what is its own.
// Internal to the executables, of the CPU and of a GPU.
#ifndef AITUNE_RUNTIME_EXECUTABLE_BUFFER_SLOTS_H_
#define AITUNE_RUNTIME_EXECUTABLE_BUFFER_SLOTS_H_

#include <cstdint>
#include <vector>

#include "runtime/executable/instance_layout.h"
#include "runtime/executable/loaded_plan.h"

namespace aitune {

struct BufferSlots {
  // A slot that holds an address of the arena, of an input, of an output or of
  // a call's KernelChecks.
  struct Patch {
    int32_t slot = 0;
    int32_t index = 0;   // of the input, output or KernelCheck
    int64_t offset = 0;  // in the arena
  };

  // Of each step its inputs, then its outputs, then its checks if it has any;
  // after the last step the values that are copied to outputs. `layout` is
  // placed.
  static BufferSlots Number(const LoadedPlan& plan,
                            const std::vector<LoadedStep>& steps,
                            const InstanceLayout& layout);

  std::vector<int32_t> first;  // by step; the last element: of the copies
  std::vector<void*> fixed;    // by slot: constants, null before any patch
  std::vector<Patch> arena, inputs, outputs, checks;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_BUFFER_SLOTS_H_
