// Whether eager comes to an end, and does not end the process, on inputs that
// were made up for a check.
//
// `while y.sum() < 100: y = y * 2` ends on a caller's data and never on zeros,
// and nothing stops LibTorch's interpreter from outside. Some operators end the
// process for some arguments (frontend/torchscript/fatal_operators.h), those of
// a CPU, where cases for a GPU are tried too. So a model with such loops or
// operators is first run as a copy whose loops look at the clock, and which
// looks at the operators' arguments.
#ifndef AITUNE_FRONTEND_CHECK_RUN_GUARD_H_
#define AITUNE_FRONTEND_CHECK_RUN_GUARD_H_

#include <memory>

#include "absl/status/status.h"
#include "frontend/torchscript/model.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

// Not thread-safe.
class RunGuard {
 public:
  // `model`, on `device`, must outlive this. May throw LibTorch's exceptions.
  RunGuard(const Model& model, const Device& device);
  RunGuard(const RunGuard&) = delete;
  RunGuard& operator=(const RunGuard&) = delete;
  ~RunGuard();

  // Runs the model once on copies of the arguments, if it has such loops or
  // operators and, where attention is all of these, an argument without
  // elements. kDeadlineExceeded if a loop goes on after so many seconds,
  // kFailedPrecondition if an operator would end the process, each with the
  // reason to tell; OK otherwise, also if the model raises. The model's state
  // changes as by any call.
  absl::Status Try(const ValueList& arguments, double seconds) const;

 private:
  struct Copy;  // of the model, which looks at the clock and at arguments
  const Device device_;
  std::unique_ptr<Copy> copy_;  // null for a model that needs none
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_RUN_GUARD_H_
