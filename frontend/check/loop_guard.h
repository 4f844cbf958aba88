// Whether eager comes to an end on inputs that were made up for a check.
//
// `while y.sum() < 100: y = y * 2` ends on a caller's data and never on zeros,
// and nothing stops LibTorch's interpreter from outside. So a model with such
// loops is first run as a copy whose loops look at the clock.
#ifndef AITUNE_FRONTEND_CHECK_LOOP_GUARD_H_
#define AITUNE_FRONTEND_CHECK_LOOP_GUARD_H_

#include <memory>

#include "absl/status/status.h"
#include "frontend/torchscript/model.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

// Not thread-safe.
class LoopGuard {
 public:
  // `model`, on `device`, must outlive this. May throw LibTorch's exceptions.
  LoopGuard(const Model& model, const Device& device);
  LoopGuard(const LoopGuard&) = delete;
  LoopGuard& operator=(const LoopGuard&) = delete;
  ~LoopGuard();

  // Runs the model once, if it has loops. kDeadlineExceeded if a loop goes on
  // after so many seconds, with the reason to tell; OK otherwise, also if the
  // model raises. The model's state changes as by any call.
  absl::Status Try(const ValueList& arguments, double seconds) const;

 private:
  struct Copy;  // of the model, whose loops look at the clock
  const Device device_;
  std::unique_ptr<Copy> copy_;  // null for a model without such loops
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_LOOP_GUARD_H_
