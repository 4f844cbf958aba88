#include "tests/soak/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace aitune::soak {

int64_t ResidentBytes() {
  // Sizes in pages: of the whole address space, then what is resident.
  std::ifstream file("/proc/self/statm");
  int64_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

bool QuarterPeaks::IsFlat() const { return of[3] <= of[1] + of[1] / 10; }

QuarterPeaks PeaksOf(absl::Span<const int64_t> samples) {
  QuarterPeaks peaks;
  for (size_t i = 0; i < samples.size(); ++i) {
    int64_t& peak = peaks.of[i * 4 / samples.size()];
    peak = std::max(peak, samples[i]);
  }
  return peaks;
}

}  // namespace aitune::soak
