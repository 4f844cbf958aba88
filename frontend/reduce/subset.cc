#include "frontend/reduce/subset.h"

#include <algorithm>

namespace aitune::reduce {
namespace {

// Tries to take away each chunk of the elements that are left; whether one
// went.
bool RemoveChunks(int chunk, std::vector<bool>& kept,
                  const std::function<bool(const std::vector<bool>&)>& fails) {
  std::vector<int> left;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) left.push_back(static_cast<int>(i));
  }
  bool removed = false;
  for (int end = static_cast<int>(left.size()); end > 0; end -= chunk) {
    std::vector<bool> without = kept;
    for (int i = std::max(0, end - chunk); i < end; ++i)
      without[left[i]] = false;
    if (!fails(without)) continue;
    kept = std::move(without);
    removed = true;
  }
  return removed;
}

}  // namespace

std::vector<bool> MinimizeSubset(
    int size, const std::function<bool(const std::vector<bool>&)>& fails) {
  std::vector<bool> kept(size, true);
  for (int chunk = (size + 1) / 2; chunk > 1; chunk = (chunk + 1) / 2)
    RemoveChunks(chunk, kept, fails);
  // An element may be able to go only after a later pass took others away.
  while (RemoveChunks(1, kept, fails)) {
  }
  return kept;
}

}  // namespace aitune::reduce
