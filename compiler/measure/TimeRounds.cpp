#include "compiler/measure/TimeRounds.h"

#include <algorithm>

using namespace mlir;

namespace aitune {
namespace {

/// How many of the fastest runs must agree, and how nearly. Undisturbed runs of
/// a kernel differ by a few hundredths; a time slice is milliseconds.
constexpr size_t kAlike = 3;
constexpr double kNearly = 1.1;
/// What further rounds may take, by the time of the first ones.
constexpr double kFurther = 2;

} // namespace

bool isSettled(ArrayRef<double> microseconds) {
  if (microseconds.size() < kAlike)
    return false;
  std::vector<double> fastest(kAlike);
  std::partial_sort_copy(microseconds.begin(), microseconds.end(),
                         fastest.begin(), fastest.end());
  return fastest.back() <= kNearly * fastest.front();
}

void timeRounds(int rounds, bool settles, function_ref<double(size_t)> run,
                std::vector<std::vector<double>> &microseconds) {
  std::vector<bool> failed(microseconds.size());
  // The time that it took.
  const auto runOnce = [&](size_t i) {
    if (failed[i])
      return 0.0;
    const double time = run(i);
    failed[i] = time < 0;
    if (failed[i])
      return 0.0;
    microseconds[i].push_back(time);
    return time;
  };
  double spent = 0;
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < microseconds.size(); ++i)
      spent += runOnce(i);
  double left = settles ? kFurther * spent : 0;
  for (bool isOpen = true; isOpen && left > 0;) {
    isOpen = false;
    for (size_t i = 0; i < microseconds.size() && left > 0; ++i)
      if (!failed[i] && !isSettled(microseconds[i])) {
        isOpen = true;
        left -= runOnce(i);
      }
  }
}

} // namespace aitune
