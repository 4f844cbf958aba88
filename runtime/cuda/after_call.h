// What the caller of an executable on a GPU queues on the stream after a call.
#ifndef AITUNE_RUNTIME_CUDA_AFTER_CALL_H_
#define AITUNE_RUNTIME_CUDA_AFTER_CALL_H_

namespace aitune::cuda {

enum class AfterCall {
  // Any work, including kernels that are launched early (programmatic dependent
  // launch) but do not wait before they read. So the last kernel of the call
  // lets nothing start before it has ended.
  kAnything,
  // The same call again, as in a measurement. So the last kernel lets the first
  // one start early, if that one waits before it reads.
  kSameCall,
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_AFTER_CALL_H_
