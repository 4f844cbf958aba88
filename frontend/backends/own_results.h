// Results that share no memory with the state of a model.
#ifndef AITUNE_FRONTEND_BACKENDS_OWN_RESULTS_H_
#define AITUNE_FRONTEND_BACKENDS_OWN_RESULTS_H_

#include <ATen/core/ivalue.h>

namespace aitune::frontend {

// While it lives, calls by its thread of models with state copy the tensors of
// their results before they let go of the state: calls by other threads, which
// may change it, change no such result.
class ScopedOwnResults {
 public:
  ScopedOwnResults();
  ~ScopedOwnResults();
  ScopedOwnResults(const ScopedOwnResults&) = delete;
};

// The result of a call whose caller holds the model's state: copied where
// ScopedOwnResults asks for it. May throw LibTorch's exceptions.
c10::IValue OwnResult(c10::IValue result);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_OWN_RESULTS_H_
