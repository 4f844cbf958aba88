// A call of a model whose inputs and outputs stay at the same addresses, so
// that everything but the computation is done once.
#ifndef AITUNE_RUNTIME_BACKEND_BOUND_CALL_H_
#define AITUNE_RUNTIME_BACKEND_BOUND_CALL_H_

#include "absl/status/status.h"

namespace aitune {

// For one thread at a time; several bound calls of one model run at the same
// time.
class BoundCall {
 public:
  virtual ~BoundCall() = default;

  // Reads the inputs and writes the outputs, whose memory must not have gone.
  // On a GPU the work is queued on `stream`, a CUstream; null: on LibTorch's
  // current stream. A CPU has none (null). kFailedPrecondition when the version
  // that was bound has gone (Backend::Deactivate, Backend::Repair, Reset), or
  // holds state that a call has changed since: bind again; otherwise as
  // Backend::Infer. The outputs hold anything after an error.
  virtual absl::Status Run(void* stream) = 0;

  // Whether the model works in the bound memory. Otherwise each run copies.
  virtual bool copies_nothing() const = 0;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_BOUND_CALL_H_
