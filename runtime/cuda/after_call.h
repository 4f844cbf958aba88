// What the caller of an executable on a GPU queues behind a call of it.
#ifndef AITUNE_RUNTIME_CUDA_AFTER_CALL_H_
#define AITUNE_RUNTIME_CUDA_AFTER_CALL_H_

namespace aitune::cuda {

enum class AfterCall {
  // Anything, also kernels that are launched early (programmatic dependent
  // launch) but do not wait before they read: the last kernel ends first.
  kAnything,
  // The same call again: a measurement. The last kernel lets the first one
  // start early where that one waits.
  kSameCall,
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_AFTER_CALL_H_
