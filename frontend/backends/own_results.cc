#include "frontend/backends/own_results.h"

#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

thread_local int scopes = 0;

}  // namespace

ScopedOwnResults::ScopedOwnResults() { ++scopes; }

ScopedOwnResults::~ScopedOwnResults() { --scopes; }

c10::IValue OwnResult(c10::IValue result) {
  if (scopes == 0) return result;
  return MapTensors(
      result, [](const at::Tensor& tensor, int) { return tensor.clone(); });
}

}  // namespace aitune::frontend
