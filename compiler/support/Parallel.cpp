#include "compiler/support/Parallel.h"

#include <atomic>
#include <thread>
#include <vector>

namespace aitune {

int threadsOrAll(int asked) {
  return asked > 0 ? asked
                   : static_cast<int>(std::thread::hardware_concurrency());
}

void inParallel(size_t count, int threads,
                const std::function<void(size_t)> &work) {
  std::atomic<size_t> next{0};
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads && static_cast<size_t>(i) < count; ++i)
    helpers.emplace_back(run);
  run();
  for (std::thread &helper : helpers)
    helper.join();
}

} // namespace aitune
