// Operators that write their results to tensors that they are given.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_OUT_VARIANT_H_
#define AITUNE_FRONTEND_TRACE_OUT_VARIANT_H_

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstddef>
#include <optional>
#include <string>

namespace aitune::frontend {

struct OutVariant {
  c10::OperatorHandle handle;
  size_t argument_count = 0;  // without the tensors for results, the last ones
};

// The overload that computes what the operator with this schema does, with the
// same arguments and behind them a tensor for each result. None if there is
// none that does so without a copy of its own. Thread-safe.
std::optional<OutVariant> FindOutVariant(const std::string& name,
                                         const std::string& overload);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_OUT_VARIANT_H_
