// Delta debugging (Zeller and Hildebrandt, Simplifying and Isolating
// Failure-Inducing Input, 2002): finds a small part of a set that still shows a
// failure.
#ifndef AITUNE_FRONTEND_REDUCE_SUBSET_H_
#define AITUNE_FRONTEND_REDUCE_SUBSET_H_

#include <functional>
#include <vector>

namespace aitune::reduce {

// Removes elements from a set of `size` elements as long as the rest fails:
// first chunks of half the set, then of half that size, until no single element
// can be removed; from the last element to the first. fails(s) returns whether
// the set of the elements i with s[i] fails. It is not called for the whole
// set, which must fail. Returns the remaining set in the same form.
std::vector<bool> MinimizeSubset(
    int size, const std::function<bool(const std::vector<bool>&)>& fails);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_SUBSET_H_
