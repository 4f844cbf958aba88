#include "frontend/trace/region_frame.h"

#include <utility>

namespace aitune::frontend {

RegionFrames::RegionFrames(int slot_count)
    : slot_count_(static_cast<size_t>(slot_count)) {}

std::unique_ptr<RegionFrame> RegionFrames::Take() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<RegionFrame> frame = std::move(free_.back());
      free_.pop_back();
      return frame;
    }
    free_.reserve(++made_);  // so that a return never allocates
  }
  auto frame = std::make_unique<RegionFrame>();
  frame->slots.resize(slot_count_);
  return frame;
}

void RegionFrames::Return(std::unique_ptr<RegionFrame> frame) {
  for (c10::IValue& value : frame->slots) value = c10::IValue();
  frame->stack.clear();
  frame->with_destinations.clear();
  frame->borrowed.clear();
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(frame));
}

}  // namespace aitune::frontend
