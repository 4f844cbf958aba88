// What a compiled model holds of memory, by what it is for.
#ifndef AITUNE_RUNTIME_EXECUTABLE_MEMORY_USE_H_
#define AITUNE_RUNTIME_EXECUTABLE_MEMORY_USE_H_

#include <cstdint>

namespace aitune {

// In bytes, of the host's memory and a GPU's together.
struct MemoryUse {
  // LibTorch's: the model's own weights, on each device, but for those that are
  // not made of their codes yet, and the codes of quantised ones.
  int64_t model = 0;
  // Packed, reordered or computed at load; on a GPU all that kernels and
  // LibTorch's operators among them read there.
  int64_t weights = 0;
  int64_t arenas = 0;   // intermediate values; kept from call to call
  int64_t results = 0;  // kept for the next call's results; not those in use
  int64_t graphs = 0;   // the inputs and outputs of captured CUDA graphs

  int64_t total() const { return model + weights + arenas + results + graphs; }
  MemoryUse& operator+=(const MemoryUse& other) {
    model += other.model;
    weights += other.weights;
    arenas += other.arenas;
    results += other.results;
    graphs += other.graphs;
    return *this;
  }
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_MEMORY_USE_H_
