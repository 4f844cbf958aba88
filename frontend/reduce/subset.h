// Delta debugging: a small part of a set that still shows a failure.
#ifndef AITUNE_FRONTEND_REDUCE_SUBSET_H_
#define AITUNE_FRONTEND_REDUCE_SUBSET_H_

#include <functional>
#include <vector>

namespace aitune::reduce {

// Takes elements away from the whole set of `size` for as long as `fails` says
// that what is left, true for each element in it, still fails: chunks of half
// the set first, then of half of that, until no single element can go; from the
// last element to the first. The whole set fails, and is not asked about.
std::vector<bool> MinimizeSubset(
    int size, const std::function<bool(const std::vector<bool>&)>& fails);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_SUBSET_H_
