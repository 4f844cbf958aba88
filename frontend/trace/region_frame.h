// The memory that the calls of a region work in.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_REGION_FRAME_H_
#define AITUNE_FRONTEND_TRACE_REGION_FRAME_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace aitune::frontend {

// What one call works in.
struct RegionFrame {
  std::vector<c10::IValue> slots;  // as many as RegionSteps::slot_count
  std::vector<c10::IValue> stack;  // an operator's arguments, then its results
  std::vector<c10::IValue> with_destinations;  // the same, for RunInto
  // Tensors in the plan's memory, constants, and what was given away.
  std::vector<at::Tensor> borrowed;
};

// The frames that no call works in at the moment. They hold no values; only
// their memory is used again. Calls at the same time, and calls within calls,
// have a frame each. Thread-safe.
class RegionFrames {
 public:
  explicit RegionFrames(int slot_count);
  std::unique_ptr<RegionFrame> Take();
  void Return(std::unique_ptr<RegionFrame> frame);

 private:
  const size_t slot_count_;
  std::mutex mutex_;
  size_t made_ = 0;
  std::vector<std::unique_ptr<RegionFrame>> free_;
};

// A frame for the time of a call.
class BorrowedFrame {
 public:
  explicit BorrowedFrame(RegionFrames& frames)
      : frames_(frames), frame_(frames.Take()) {}
  ~BorrowedFrame() { frames_.Return(std::move(frame_)); }
  BorrowedFrame(const BorrowedFrame&) = delete;
  BorrowedFrame& operator=(const BorrowedFrame&) = delete;
  RegionFrame& get() const { return *frame_; }

 private:
  RegionFrames& frames_;
  std::unique_ptr<RegionFrame> frame_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_REGION_FRAME_H_
