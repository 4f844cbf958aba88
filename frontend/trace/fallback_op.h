// A call of a trace that LibTorch runs.
#ifndef AITUNE_FRONTEND_TRACE_FALLBACK_OP_H_
#define AITUNE_FRONTEND_TRACE_FALLBACK_OP_H_

#include <string>

namespace aitune::frontend {

struct FallbackOp {
  int trace_op = 0;      // position in Trace::ops
  std::string op;        // "aten::topk" or "aten::add.Tensor"
  std::string location;  // TorchScript source, "model.py:12"
  std::string scope;     // the submodule, such as "encoder.layer.3"
  std::string reason;    // why it is not compiled
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_FALLBACK_OP_H_
