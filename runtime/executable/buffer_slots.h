// The addresses that the steps of an instance are called with. Each address has
// a slot; the slots are numbered once, so that a call only writes the addresses
// that differ between calls. Internal to the executables, of the CPU and of a
// GPU.
#ifndef AITUNE_RUNTIME_EXECUTABLE_BUFFER_SLOTS_H_
#define AITUNE_RUNTIME_EXECUTABLE_BUFFER_SLOTS_H_

#include <cstdint>
#include <vector>

#include "runtime/executable/instance_layout.h"
#include "runtime/executable/loaded_plan.h"

namespace aitune {

struct BufferSlots {
  // A slot that each call writes: an address in the arena, of an input, of an
  // output, of lent memory or of the call's KernelChecks.
  struct Patch {
    int32_t slot = 0;  // index of the slot
    // Index of the input, output or KernelCheck; the value that is lent.
    int32_t index = 0;
    int64_t offset = 0;  // bytes from the beginning of that memory
  };

  // Numbers the slots: for each step its inputs, then its outputs, then its
  // checks if it has any; after the last step the values that are copied to
  // outputs. `layout` must have been placed (InstanceLayout::Place).
  static BufferSlots Number(const LoadedPlan& plan,
                            const std::vector<LoadedStep>& steps,
                            const InstanceLayout& layout);

  // The first slot of each step; after the last step, the first slot of the
  // values that are copied.
  std::vector<int32_t> first;
  // The address in each slot that no call changes (constants and persistent
  // values); null in all others.
  std::vector<void*> fixed;
  std::vector<Patch> arena, inputs, outputs, lent, checks;  // the other slots
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_BUFFER_SLOTS_H_
