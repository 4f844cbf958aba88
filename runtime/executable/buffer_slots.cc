#include "runtime/executable/buffer_slots.h"

namespace aitune {

BufferSlots BufferSlots::Number(const LoadedPlan& plan,
                                const std::vector<LoadedStep>& steps,
                                const InstanceLayout& layout) {
  BufferSlots slots;
  auto add = [&](int32_t value) {
    const int32_t slot = static_cast<int32_t>(slots.fixed.size());
    const Placement placement = layout.placement(value);
    slots.fixed.push_back(nullptr);
    switch (placement.kind) {
      case Placement::Kind::kFixed:
        slots.fixed.back() = plan.values()[plan.values()[value].root].fixed;
        break;
      case Placement::Kind::kArena:
        slots.arena.push_back({slot, 0, placement.offset});
        break;
      case Placement::Kind::kInput:
        slots.inputs.push_back({slot, placement.index, placement.offset});
        break;
      case Placement::Kind::kOutput:
        slots.outputs.push_back({slot, placement.index, placement.offset});
        break;
      case Placement::Kind::kLent:
        slots.lent.push_back(
            {slot, plan.values()[value].root, placement.offset});
        break;
      case Placement::Kind::kNone:
        break;
    }
  };
  int32_t checks = 0;
  for (const LoadedStep& step : steps) {
    slots.first.push_back(static_cast<int32_t>(slots.fixed.size()));
    for (int32_t value : step.inputs) add(value);
    for (int32_t value : step.outputs) add(value);
    if (step.proto->checks().empty()) continue;
    slots.checks.push_back(
        {static_cast<int32_t>(slots.fixed.size()), checks, 0});
    slots.fixed.push_back(nullptr);
    checks += step.proto->checks_size();
  }
  slots.first.push_back(static_cast<int32_t>(slots.fixed.size()));
  for (const OutputCopy& copy : layout.copies()) add(copy.value);
  return slots;
}

}  // namespace aitune
