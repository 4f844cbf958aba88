// The view operators that lead from a tensor, such as the model's own, to a
// part of it, for operators of a trace that LibTorch runs on the part itself.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_RECORDED_VIEWS_H_
#define AITUNE_FRONTEND_TRACING_RECORDED_VIEWS_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <vector>

#include "frontend/trace/trace.h"
#include "frontend/tracing/probed_value.h"

namespace aitune::frontend {

class RecordedViews {
 public:
  // Records `steps`, and appends the recipes of their arguments, without the
  // tensors that they view, to `recipes`.
  RecordedViews(const std::vector<ViewStep>& steps,
                std::vector<ArgumentTemplate>& recipes);

  // What the steps make of `whole`; takes their arguments from `stack`, from
  // `next` on, and moves `next` behind them. Throws LibTorch's exceptions.
  at::Tensor Apply(const at::Tensor& whole, std::vector<c10::IValue>& stack,
                   size_t& next) const;
  // As Apply, for a part of `whole`: throws std::runtime_error if the result is
  // no view.
  at::Tensor Of(const at::Tensor& whole, std::vector<c10::IValue>& stack,
                size_t& next) const;

 private:
  struct Step {
    c10::OperatorHandle run;
    size_t arguments = 0;  // behind self
  };
  std::vector<Step> steps_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_RECORDED_VIEWS_H_
