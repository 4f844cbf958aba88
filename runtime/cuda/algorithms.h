// Which of a library's algorithms may compute a call of a plan, which names one
// by its position in the library's list for the call's sizes.
#ifndef AITUNE_RUNTIME_CUDA_ALGORITHMS_H_
#define AITUNE_RUNTIME_CUDA_ALGORITHMS_H_

namespace aitune::cuda {

enum class Algorithms {
  // The one that the plan names, as when it is measured.
  kAsked,
  // If the list for a call's sizes ends before that one, or it can't be made
  // ready for them, the first of the list that can. A plan names what was the
  // fastest at some sizes of a range, and other sizes have other lists.
  kAny,
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_ALGORITHMS_H_
