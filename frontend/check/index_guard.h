// Whether eager takes the indices of inputs that were made up for a check.
//
// A kernel of LibTorch on a GPU that meets an index out of range, or offsets
// that are not in order, stops: no call of the process reaches the GPU after
// that. On a CPU the same operator raises. So a model with such operators runs
// there first where the indices may be wrong.
#ifndef AITUNE_FRONTEND_CHECK_INDEX_GUARD_H_
#define AITUNE_FRONTEND_CHECK_INDEX_GUARD_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_state.h"

namespace aitune::frontend {

// Not thread-safe, because the state belongs to the model.
class IndexGuard {
 public:
  // `model`, on the CPU, must outlive this. May throw LibTorch's exceptions.
  explicit IndexGuard(const Model& model);

  // The error that eager raises on the CPU for these arguments, if it may be
  // one of indices: those that are no row of a table among the weights, those
  // that are computed or read something else, where arguments are integers, and
  // those that the program makes of other numbers, which may be NaN, by casts,
  // counts and places between sorted numbers. OK otherwise, and where LibTorch
  // has no kernel on a CPU. The model's state stays as it is.
  absl::Status Try(const ValueList& arguments);

 private:
  const Model& model_;
  ModelState state_;
  // The program reads or writes by indices of its inputs: rows of a weight, of
  // which the smallest has so many, or something else, as offsets of bags.
  int64_t rows_ = std::numeric_limits<int64_t>::max();
  bool reads_unknown_ = false;
  bool makes_indices_ = false;  // and by such that it makes of numbers
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_INDEX_GUARD_H_
