// Whether eager takes the elements of inputs that were made up for a check.
//
// A kernel of LibTorch on a GPU that meets an index out of range, offsets that
// are not in order or a probability above 1 stops: no call of the process
// reaches the GPU after that. A division of integers by 0 gives any number
// there. On a CPU the same operators raise. So a model with such operators runs
// there first where its elements may be wrong.
#ifndef AITUNE_FRONTEND_CHECK_ASSERT_GUARD_H_
#define AITUNE_FRONTEND_CHECK_ASSERT_GUARD_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_state.h"

namespace aitune::frontend {

// Not thread-safe, because the state belongs to the model.
class AssertGuard {
 public:
  // `model`, on the CPU, must outlive this. May throw LibTorch's exceptions.
  explicit AssertGuard(const Model& model);

  // The error that eager raises on the CPU for these arguments, if it may be
  // one of elements that an operator does not take: indices that are no row of
  // a table among the weights; those that are computed or read something else,
  // and divisors, where arguments are integers; indices that the program makes
  // of other numbers, which may be NaN, by casts, counts and places between
  // sorted numbers; any elements where a kernel asserts what they are. OK
  // otherwise, and where LibTorch has no kernel on a CPU. The model's state
  // stays as it is.
  absl::Status Try(const ValueList& arguments);

 private:
  const Model& model_;
  ModelState state_;
  // The rows of the smallest weight that the program reads or writes by its
  // inputs' integers, if it does.
  std::optional<int64_t> rows_;
  bool depends_on_integers_ = false;  // something else does, as bags' offsets
  bool depends_on_numbers_ = false;   // something depends on any elements
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_ASSERT_GUARD_H_
